# Sourced by the scripts that judge the built binary from outside: starts it on a
# throw-away data folder and makes its first owner. Sets url, origin and work, and
# exports OWNER_EMAIL and OWNER_PASSWORD. Ends the server when the script ends.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/osfoundry-e2e.XXXXXX")
: >"$work/out" # the server opens it later than it is read
server=
finish() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
  rm -rf "$work"
}
trap finish EXIT

"$root/bin/osfoundry" serve --listen 127.0.0.1:0 --data "$work/data" >"$work/out" 2>"$work/log" & server=$!
for _ in $(seq 100); do
  secret=$(sed -n 's/^Setup URL: .*secret=//p' "$work/out")
  [ -z "$secret" ] || break
  kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done
[ -n "$secret" ] || { echo "the server did not print a setup URL" >&2; cat "$work/log" >&2; exit 1; }
url=$(sed -n 's/^MCP URL: //p' "$work/out")
origin=${url%/mcp}
export OWNER_EMAIL=owner@example.com OWNER_PASSWORD="a password of a throw-away server"
body=$(printf '{"secret":"%s","name":"Owner","email":"%s","password":"%s","workspace":"Harness"}' "$secret" "$OWNER_EMAIL" "$OWNER_PASSWORD")
curl -fsS -o /dev/null -H 'Content-Type: application/json' -d "$body" "$origin/api/v1/setup"
