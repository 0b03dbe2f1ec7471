#!/usr/bin/env bash
# Plays the story with real MCP hosts against bin/osfoundry.
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
bash "$harness/run.sh" "$url" "$@" --out "$work/transcripts"
