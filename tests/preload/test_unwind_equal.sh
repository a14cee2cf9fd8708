#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Each stack of the profile is what unw_backtrace() gives for the same call in place, for
# each allocation of six real programs; differences are few and of a known kind.
. "$(dirname "$0")/lib.sh"

PRELOAD=$victims/.libs/truth_backtrace.so
everything="HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_DEPTH=1024 HEAPSAMPLE_STACK=256k"
everything="$everything HEAPSAMPLE_LABELS=none"
generated=0

# compare NAME: what $out and the truth have.
compare() {
	expect_status 0
	expect_silence
	expect_profiles 1
	check check_profile.py lossless "$out"/*.heap.pb.gz
	check check_unwind.py "$1" 10000 "$generated" "$out"/*.heap.pb.gz "$TRUTH_FILE"
	rm -f "$TRUTH_FILE"
}

# equal NAME SETTING... -- PROGRAM ARGUMENT...
equal() {
	name=$1
	shift
	export TRUTH_FILE="$directory/$name.truth"
	# shellcheck disable=SC2086 # a list
	run_profiled "$name" $everything "$@"
	compare "$name"
}

cat >"$directory/work.py" <<'END'
import json
import re
rows = [{"id": i, "name": "row %d" % i, "list": list(range(i % 10))} for i in range(300)]
assert json.loads(json.dumps(rows, indent=1)) == rows
assert sorted(rows, key=lambda row: row["name"])[0]["id"] == 0
assert len(re.findall(r"(\d+),\s", json.dumps(rows))) > 100
END
equal python PYTHONMALLOC=malloc -- "$python" -S "$directory/work.py"

equal c++ -- "$victims/victim_stacks"

if command -v sqlite3 >/dev/null; then
	cat >"$directory/work.sql" <<'END'
create table t(id integer primary key, name text, body blob);
create index t_name on t(name);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
insert into t select i, 'row ' || i, hex(zeroblob(i % 700)) from n;
commit;
select sum(length(b)) from (select group_concat(body) b from t group by id % 100);
select count(*) from t a join t b on a.name = b.name where a.name like '%7' order by b.body;
END
	equal sqlite -- sqlite3 :memory: ".read $directory/work.sql"
else
	echo "without sqlite3" >&2
fi

# The compiler proper, which the command runs.  Its input is preprocessed: by itself it
# knows no directories.
cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
if [ -x "$cc1" ]; then
	cat >"$directory/work.i" <<'END'
typedef struct list { int key; double weight; struct list *next; } list;
static int count(const list *p, int n)
{
	int total = 0;
	for (; p && n-- > 0; p = p->next)
		total += p->key;
	return total;
}
static double sum(list *p) { return p ? p->weight + sum(p->next) : 0; }
static list *insert(list *p, list *n)
{
	if (!p || p->key >= n->key) {
		n->next = p;
		return n;
	}
	p->next = insert(p->next, n);
	return p;
}
static list *sort(list *p)
{
	list *sorted = 0;
	while (p) {
		list *next = p->next;
		sorted = insert(sorted, p);
		p = next;
	}
	return sorted;
}
static unsigned hash(const char *s)
{
	unsigned h = 5381;
	for (; *s; s++) {
		switch (*s & 3) {
		case 0: h = h * 33 + *s; break;
		case 1: h ^= *s << 5; break;
		default: h += h >> 3;
		}
	}
	return h;
}
int total(list *p, const char *s) { return count(sort(p), 10) + (int)sum(p) + (int)hash(s); }
END
	equal cc1 -- "$cc1" -quiet -fpreprocessed -O2 "$directory/work.i" -o "$directory/work.s"
else
	echo "without gcc's cc1" >&2
fi

if command -v redis-server >/dev/null; then
	load() {
		"$python" "$tests/redis_load.py" "$directory/socket" "$@" 2>>"$directory/load.errors"
	}
	export TRUTH_FILE="$directory/redis.truth"
	# shellcheck disable=SC2086 # a list
	start_profiled redis $everything -- redis-server --port 0 \
		--unixsocket "$directory/socket" --save '' --appendonly no --dir "$directory"
	wait_until load ping || fail "redis-server does not answer"
	load fill 5000 || fail "redis-server cannot be filled"
	load shutdown || fail "redis-server does not shut down"
	wait "$process"
	status=$?
	background=
	compare redis
else
	echo "without redis-server" >&2
fi

# Memory that compiled JavaScript allocates.
if command -v node >/dev/null; then
	cat >"$directory/work.js" <<'END'
'use strict';
const kept = [];
function allocate(i) {
	kept[i % 1000] = Buffer.allocUnsafeSlow(100 + i % 50);
	return kept[i % 1000].length;
}
function twice(i) { return allocate(i) + allocate(i + 1); }
let total = 0;
for (let i = 0; i < 10000; i++)
	total += twice(i);
console.log(total);
END
	generated=10000
	equal node -- "$(readlink -f "$(command -v node)")" "$directory/work.js"
else
	echo "without node" >&2
fi
finish
