#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Each stack of the profile is what unw_backtrace() gives for the same call in place, for
# each allocation of two real programs.
. "$(dirname "$0")/lib.sh"

PRELOAD=$victims/.libs/truth_backtrace.so

# equal NAME SETTING... -- PROGRAM ARGUMENT...
equal() {
	name=$1
	shift
	TRUTH_FILE=$directory/$name.truth
	export TRUTH_FILE
	run_profiled "$name" HEAPSAMPLE_INTERVAL=1 HEAPSAMPLE_DEPTH=1024 HEAPSAMPLE_STACK=256k \
		HEAPSAMPLE_LABELS=none "$@"
	expect_status 0
	expect_silence
	expect_profiles 1
	check check_profile.py lossless "$out"/*.heap.pb.gz
	check check_unwind.py 10000 "$out"/*.heap.pb.gz "$TRUTH_FILE"
	rm -f "$TRUTH_FILE"
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

need sqlite3
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
finish
