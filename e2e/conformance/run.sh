#!/usr/bin/env bash
# The official MCP conformance suite against bin/osfoundry: the scenarios of two
# protocol versions, and the two of the authorization server.
# usage: e2e/conformance/run.sh HOSTS_DIR   (HOSTS_DIR: the harness's folder)
#
# inapplicable-VERSION.yaml lists the scenarios that cannot pass, with a reason
# each. A scenario that fails and is not listed fails this run, and so does a
# listed one that passes.
set -euo pipefail
harness=$(cd "${1:?usage: e2e/conformance/run.sh HOSTS_DIR}" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bash "$harness/install.sh" conformance sdk
. "$here/../hosts/server.sh"

passed=0 failed=0
judge() { # NAME COMMAND…
  local name=$1
  shift
  if "$@" >"$work/result" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  echo "== $name"
  sed -n '/=== SUMMARY ===/,$p' "$work/result"
}
for version in 2026-07-28 2025-11-25; do
  judge "$version" bash "$harness/conformance.sh" "$url" --requirements "$version" --expected-failures "$here/inapplicable-$version.yaml"
done
judge "authorization" bash "$harness/conformance.sh" "$url" --authorization
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
