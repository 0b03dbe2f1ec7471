#!/usr/bin/env bash
# Surveys the stand-in server of the hosts' folder with each of its faults, and
# compares what is found with what each fault should show before a sign-in.
# usage: e2e/probe/run.sh HOSTS_DIR
#
# Needs bin/osfoundry and node. A fault that only a person at the browser or an
# owner can meet must show nothing here; one that this list does not know fails.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clients=$(cd "${1:?usage: e2e/probe/run.sh HOSTS_DIR}" && pwd)
osfoundry=$here/../../bin/osfoundry
out=$(mktemp -d)
mock=
finish() { [ -z "$mock" ] || kill "$mock" 2>/dev/null || true; rm -rf "$out"; }
trap finish EXIT

declare -A expected=(
  [healthy]=""
  [prm-mismatch]="resource-mismatch"
  [null-members]="metadata-null register-null"
  [iss-missing]="iss-missing"
  # Met in the consent page, or in what a connection may do.
  [no-consent]="" [approve-value]="" [no-continue]="" [csp-self-only]=""
  [grants-all]="" [move-ignored]="" [wrong-denial]="" [revoke-ignored]="" [refresh-after-revoke]=""
)
faults=$(sed -n '/^const FAULTS/,/^};/s/^  .\([a-z-]*\).: .*/\1/p' "$clients/mock/verify.mjs")
[ -n "$faults" ] || { echo "no faults in $clients/mock/verify.mjs" >&2; exit 1; }

free_port() { node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'; }
ready() { node -e '
  const [url] = process.argv.slice(1), end = Date.now() + 10000;
  const ask = () => fetch(url).then(() => process.exit(0), () => Date.now() > end ? process.exit(1) : setTimeout(ask, 50));
  ask();' "$1"; }

failed=0
printf '%-22s %-22s %-6s %s\n' FAULT MOUNT STATUS FOUND
for fault in healthy $faults; do
  port=$(free_port)
  node "$clients/mock/server.mjs" --listen "127.0.0.1:$port" --fault "${fault/healthy/}" >"$out/mock" 2>&1 &
  mock=$!
  ready "http://127.0.0.1:$port/healthz" || { cat "$out/mock" >&2; exit 1; }
  for mount in /mcp /api/v1/external-mcp; do
    status=0
    "$osfoundry" probe "http://127.0.0.1:$port$mount" -n 1 --register --json >"$out/report.json" || status=$?
    found=$(node -e 'console.log(JSON.parse(require("fs").readFileSync(process.argv[1])).findings.map(f => f.id).sort().join(" "))' "$out/report.json")
    printf '%-22s %-22s %-6s %s\n' "$fault" "$mount" "$status" "${found:-nothing}"
    if [ -z "${expected[$fault]+known}" ]; then
      echo "  this fault is new: say in $0 what it should show" >&2; failed=1
    elif [ "$found" != "${expected[$fault]}" ]; then
      echo "  want ${expected[$fault]:-nothing}" >&2; failed=1
    fi
  done
  kill "$mock"; wait "$mock" 2>/dev/null || true
  mock=
done
exit $failed
