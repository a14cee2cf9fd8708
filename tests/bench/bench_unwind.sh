#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Measures unwinding of the stacks of real programs: python3 and, if they are installed,
# redis-server, sqlite3 and gcc's compiler.  See bench_unwind.c.
#
# usage: bench_unwind.sh LIBRARY
set -eu

library=$1
tests=$(cd "$(dirname "$0")/.." && pwd) || exit 1
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT

# The real program: python3 in the path may be a script.
python=$(python3 -c 'import sys; print(sys.executable)')
cat >"$directory/work.py" <<'EOF'
import json
rows = [{"id": i, "name": "row %d" % i, "list": list(range(i % 10))} for i in range(3000)]
for _ in range(3):
    assert json.loads(json.dumps(rows, indent=1)) == rows
EOF
LD_PRELOAD=$library PYTHONMALLOC=malloc "$python" -S "$directory/work.py"

if command -v redis-server >/dev/null; then
	load() {
		"$python" "$tests/preload/redis_load.py" "$directory/socket" "$@" 2>/dev/null
	}
	LD_PRELOAD=$library redis-server --port 0 --unixsocket "$directory/socket" --save '' \
		--appendonly no --dir "$directory" >/dev/null &
	until load ping; do
		sleep 0.1
	done
	load fill 30000
	load shutdown
	wait $!
fi

if command -v sqlite3 >/dev/null; then
	LD_PRELOAD=$library sqlite3 :memory: 'create table t(id integer primary key, name text);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
		insert into t select i, hex(zeroblob(i % 70)) from n;
		select count(distinct name) from t;' >/dev/null
fi

compiler=$(gcc -print-prog-name=cc1 2>/dev/null)
if [ -x "$compiler" ]; then
	gcc -E "$tests/bench/bench_endurance.c" -o "$directory/work.i"
	LD_PRELOAD=$library "$compiler" -quiet -fpreprocessed -O2 "$directory/work.i" \
		-o "$directory/work.s"
fi
