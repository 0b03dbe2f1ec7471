#!/usr/bin/env bash
# Calls per second of the product beside the limit and other servers, and then how
# soon queued tasks start and how many get done, in one run.
# usage: bench/run.sh BENCH_DIR [ROUNDS] [SECONDS]
#
# BENCH_DIR is the benchmark's folder (load generator, reference servers). All
# servers answer the same tools/call for the same tokens and notes; the table's
# "vs limit" is the ratio to a bare net/http server in the same round. With
# POSTGRES=0 the PostgreSQL rows are left out, with CALLS=0 all but the tasks.
# TASKS is the number of tasks in the burst.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bench=$(cd "${1:?usage: bench/run.sh BENCH_DIR [ROUNDS] [SECONDS]}" && pwd)
rounds=${2:-3} seconds=${3:-10}
notes=${NOTES:-100000} tasks=${TASKS:-2000} calls=${CALLS:-1}

work=$(mktemp -d "${TMPDIR:-/tmp}/osfoundry-bench.XXXXXX")
pgbin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1 || true)
as() { if [ "$(id -u)" = 0 ]; then su -s /bin/bash postgres -c "$*"; else bash -c "$*"; fi; }
finish() {
  if [ -f "$work/pg/data/postmaster.pid" ]; then as "$pgbin/pg_ctl -D $work/pg/data -m fast -w stop" >/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT
chmod 755 "$work"

export ROOT=$work HARNESS=$work/harness BIN=$work/bin DATA=$work/data PGDIR=$work/pg
mkdir -p "$BIN" "$DATA" "$PGDIR"
echo "building" >&2
(cd "$here/.." && go build -o "$BIN/osfoundry" ./cmd/osfoundry && go build -o "$BIN/osfoundry-seed" ./bench/seed && go build -o "$BIN/osfoundry-queue" ./bench/queue)
if [ "$calls" != 0 ]; then
  # The benchmark's folder may be read-only: it is copied before it is built.
  cp -r "$bench" "$HARNESS" && chmod -R u+w "$HARNESS"
  (cd "$HARNESS" && go build -o "$BIN/" ./cmd/bench ./cmd/seed ./cmd/ref ./cmd/gosdk ./cmd/mcpgo ./cmd/checkbench)
  (cd "$HARNESS/ts" && npm ci --no-audit --no-fund --loglevel=error >/dev/null)
fi

only=bare-v1,gosdk-stateless,mcp-go,ts-sdk-v1,python-stdlib,sqlite-modernc,product
product_pg='' queue_pg=''
if [ "${POSTGRES:-1}" != 0 ] && [ -n "$pgbin" ]; then
  [ "$(id -u)" != 0 ] || chown postgres "$PGDIR"
  as "$pgbin/initdb -D $PGDIR/data -A trust -U bench -E UTF8 --locale=C" >/dev/null
  as "printf \"listen_addresses=''\nunix_socket_directories='$PGDIR'\nport=54329\nshared_buffers=512MB\nmax_wal_size=4GB\n\" >>$PGDIR/data/postgresql.conf"
  as "taskset -c 0 $pgbin/pg_ctl -D $PGDIR/data -l $PGDIR/log -w start" >/dev/null
  "$pgbin/createdb" -h "$PGDIR" -p 54329 -U bench product
  "$pgbin/createdb" -h "$PGDIR" -p 54329 -U bench queue
  product_pg="postgres://bench@/product?host=$PGDIR&port=54329"
  queue_pg="postgres://bench@/queue?host=$PGDIR&port=54329"
  only=$only,product-pg
fi

# The one core is the servers', the other the load's.
task_table() {
  taskset -c 1 "$BIN/osfoundry-queue" -binary "$BIN/osfoundry" -core 0 -tasks "$tasks" ${queue_pg:+-database "$queue_pg"}
}
if [ "$calls" = 0 ]; then
  task_table
  exit
fi

echo "seeding $notes notes" >&2
"$BIN/seed" -notes "$notes" -sqlite "$DATA/world.db" -pairs "$DATA/world.pairs"
"$BIN/osfoundry-seed" -world "$DATA/world.db" -pairs "$DATA/world.pairs" -out-pairs "$DATA/pairs" \
  -data "$DATA/product" ${product_pg:+-database "$product_pg"}

cat >"$DATA/targets.json" <<JSON
[
 {"name":"bare-v1","addr":"127.0.0.1:7001","cmd":["$BIN/ref","-addr","127.0.0.1:7001","-pairs","$DATA/pairs"]},
 {"name":"gosdk-stateless","addr":"127.0.0.1:7101","cmd":["$BIN/gosdk","-addr","127.0.0.1:7101","-pairs","$DATA/pairs"]},
 {"name":"mcp-go","addr":"127.0.0.1:7102","cmd":["$BIN/mcpgo","-addr","127.0.0.1:7102","-pairs","$DATA/pairs"]},
 {"name":"ts-sdk-v1","addr":"127.0.0.1:7201","cmd":["node","$HARNESS/ts/server.mjs","7201","$DATA/pairs"],"env":["NODE_ENV=production"]},
 {"name":"python-stdlib","exact":true,"addr":"127.0.0.1:7203","cmd":["python3","$HARNESS/py/server.py","7203","$DATA/pairs"]},
 {"name":"sqlite-modernc","exact":true,"addr":"127.0.0.1:7302","cmd":["$BIN/ref","-mode","sqlite","-driver","modernc","-db","$DATA/world.db","-addr","127.0.0.1:7302"]},
 {"name":"product","exact":true,"addr":"127.0.0.1:7801","cmd":["$BIN/osfoundry","serve","--listen","127.0.0.1:7801","--data","$DATA/product","--rate-limits","off","--log-level","error"]},
 {"name":"product-pg","exact":true,"addr":"127.0.0.1:7802","pidfile":"$PGDIR/data/postmaster.pid","cmd":["$BIN/osfoundry","serve","--listen","127.0.0.1:7802","--database","$product_pg","--rate-limits","off","--log-level","error"]}
]
JSON
"$BIN/bench" -targets "$DATA/targets.json" -pairs "$DATA/pairs" -rounds "$rounds" -d "${seconds}s" -only "$only"
task_table
