#!/usr/bin/env bash
# test.sh runs every test of the project: lint, Go tests on SQLite and PostgreSQL
# (with the race detector where goroutines share something), and the browser
# tests. It goes on after a failure, so that one run shows all of them, repeats
# the runners' closing lines at the end, and fails if anything did.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=$PATH:/usr/local/go/bin

# Two at a time: each database test keeps a core busy, on machines with two.
parallel=${TEST_PARALLEL:-2}
race=(access tool oauth storage workspace guard mcp)

browser=
[ ! -f e2e/browser/package.json ] || browser=yes
scripts/need.sh go gcc postgres ${browser:+node chromium}

log=$(mktemp) lane=$(mktemp) houses=
finish() {
  [ -z "$houses" ] || kill "$houses" 2>/dev/null || true
  rm -f "$log" "$lane"
}
trap finish EXIT
failed=()

step() { # NAME COMMAND…: runs it, keeps its output for the end
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee -a "$log" || failed+=("$name")
}

race_packages=()
for room in "${race[@]}"; do
  [ ! -d "internal/$room" ] || race_packages+=("./internal/$room/...")
done
mapfile -t all < <(go list ./...)
mapfile -t raced < <(go list "${race_packages[@]}")
mapfile -t plain < <(comm -23 <(printf '%s\n' "${all[@]}" | sort) <(printf '%s\n' "${raced[@]}" | sort) | grep -v '/e2e$')

step "lint" scripts/lint.sh

# The houses of e2e wait for crashes and clocks as much as they work, one after the
# other: they have a lane of their own beside the rest.
go test -timeout 12m ./e2e/ >"$lane" 2>&1 & houses=$!
step "go test" go test -p "$parallel" -timeout 8m "${plain[@]}"
step "go test -race" env CGO_ENABLED=1 go test -race -p "$parallel" -timeout 10m "${raced[@]}"
standing=0
wait "$houses" || standing=$?
houses=
report() { cat "$lane"; return "$standing"; }
step "go test ./e2e" report
if [ -n "$browser" ]; then
  step "web app" make --no-print-directory ui
  step "web app: types, rules, layout" npm --prefix ui run --silent verify
  step "web app: tests" npm --prefix ui test
  step "npm ci" npm --prefix e2e/browser ci --no-audit --no-fund
  step "browser" npm --prefix e2e/browser test
fi

printf '\n== closing lines\n'
grep -E '^(ok|FAIL|---|panic:|# (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms)|ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms))([[:space:]:]|$)' "$log" || true
if [ ${#failed[@]} -gt 0 ]; then
  printf 'FAILED: %s\n' "$(IFS=,; echo "${failed[*]}")"
  exit 1
fi
echo "All tests passed."
