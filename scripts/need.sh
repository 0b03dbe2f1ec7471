#!/usr/bin/env bash
# need.sh TOOL… makes sure that tools are there: go gcc node postgres chromium.
# Missing Debian packages are installed when this runs as root, with apt-get;
# otherwise, and for Go, it says what to install and fails.
set -euo pipefail
PATH=$PATH:/usr/local/go/bin

install_package() { # PACKAGE…: by apt-get, or a message and failure
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Missing: install $* with your package manager (Debian, Ubuntu: sudo apt-get install $*), then try again." >&2
    exit 1
  fi
  echo "Installing $* with apt-get" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends "$@" >&2 && return
  apt-get update >&2
  apt-get install -y --no-install-recommends "$@" >&2
}

need_go() {
  if ! command -v go >/dev/null; then
    echo "Missing: Go 1.26 or newer, from https://go.dev/dl/ (unpacked to /usr/local/go it is found even outside PATH)." >&2
    exit 1
  fi
}

need_gcc() { # the race detector links with it
  command -v gcc >/dev/null || install_package gcc libc6-dev
}

need_node() {
  command -v node >/dev/null && command -v npm >/dev/null || install_package nodejs npm
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  if [ "$major" -lt 20 ]; then
    echo "Missing: Node.js 20 or newer, from https://nodejs.org/ (found $(node --version))." >&2
    exit 1
  fi
}

need_postgres() { # the programs only: tests start clusters of their own
  local found
  found=$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb /usr/local/pgsql/bin/initdb 2>/dev/null || true)
  [ -n "$found" ] && return
  if [ "$(id -u)" = 0 ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common # no cluster of the machine's own is wanted
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  fi
  install_package postgresql
}

need_chromium() {
  local name
  for name in chromium chromium-browser google-chrome-stable google-chrome; do
    command -v "$name" >/dev/null && return
  done
  install_package chromium
}

for tool in "$@"; do
  "need_$tool"
done
