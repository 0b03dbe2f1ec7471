#!/usr/bin/env bash
# lint.sh checks what needs no test to run: formatting, go vet, shell syntax.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/local/go/bin
failed=0

unformatted=$(find . -name '*.go' -not -path '*/node_modules/*' -exec gofmt -l {} +)
if [ -n "$unformatted" ]; then
  printf 'gofmt would change:\n%s\n' "$unformatted" >&2
  failed=1
fi

go vet ./... || failed=1

while IFS= read -r script; do
  bash -n "$script" || failed=1
done < <(find .ci scripts e2e bench -name '*.sh' -not -path '*/node_modules/*' 2>/dev/null; echo .ci/run)

exit $failed
