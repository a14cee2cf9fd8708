#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Real programs, and programs with another allocator: their output stays as it is without
# the library, and their profiles show who allocated.
. "$(dirname "$0")/lib.sh"

# same_output NAME: what $out.stdout says is what the program says by itself.
same_output() {
	cmp "$out.stdout" "$directory/$1.plain" >&2 || fail "$1: the output differs"
}

if command -v sqlite3 >/dev/null; then
	cat >"$directory/insert.sql" <<-'END'
	create table t(id integer primary key, name text, body blob);
	begin;
	with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
	insert into t select i, 'row ' || i, hex(zeroblob(i % 200)) from n;
	commit;
	create index t_name on t(name);
	select count(*), sum(length(body)) from t;
	END
	sqlite3 :memory: ".read $directory/insert.sql" >"$directory/sqlite.plain" ||
		fail "sqlite3 fails by itself"
	run_profiled sqlite HEAPSAMPLE_INTERVAL=16k HEAPSAMPLE_BLOCK=10000 -- \
		sqlite3 :memory: ".read $directory/insert.sql"
	expect_status 0
	expect_silence
	same_output sqlite
	expect_profiles 1
	# Where it contains the library it is stripped.
	! ldd "$(command -v sqlite3)" | grep -q libsqlite3 ||
		check check_profile.py has "$out"/*.heap.pb.gz sqlite3_step
	check check_stacks.py 95 "$out"/*.heap.pb.gz
else
	echo "without sqlite3" >&2
fi

cat >"$directory/json_work.py" <<'END'
import json
rows = [{"id": i, "name": "row %d" % i, "list": list(range(i % 20))} for i in range(20000)]
text = json.dumps(rows)
print(len(text), json.loads(text) == rows)
END
"$python" "$directory/json_work.py" >"$directory/python.plain" || fail "python3 fails by itself"
run_profiled python HEAPSAMPLE_INTERVAL=16k HEAPSAMPLE_BLOCK=10000 PYTHONMALLOC=malloc -- \
	"$python" "$directory/json_work.py"
expect_status 0
expect_silence
same_output python
expect_profiles 1
check check_profile.py has "$out"/*.heap.pb.gz _PyEval_EvalFrameDefault
check check_stacks.py 95 "$out"/*.heap.pb.gz

"$victims/victim_stl" >"$directory/stl.plain" || fail "the C++ program fails by itself"
run_profiled stl HEAPSAMPLE_INTERVAL=4k HEAPSAMPLE_BLOCK=10000 -- "$victims/victim_stl"
expect_status 0
expect_silence
same_output stl
expect_profiles 1
check check_profile.py has "$out"/*.heap.pb.gz site_map site_unordered site_shared
check check_profile.py least "$out"/*.heap.pb.gz site_map 2000000
check check_stacks.py 99 "$out"/*.heap.pb.gz

# Other allocators, linked dynamically, go on serving the program.
for allocator in jemalloc tcmalloc mimalloc; do
	# Without the flag the linker may drop a library whose symbols are looked up only.
	build "victim_$allocator" victim_allocator.c -Wl,--no-as-needed -l$allocator -ldl || {
		echo "without $allocator" >&2
		continue
	}
	"$directory/victim_$allocator" $allocator || {
		fail "$allocator: the program fails by itself"
		continue
	}
	run_profiled $allocator HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_$allocator" $allocator
	expect_status 0
	expect_silence
	expect_profiles 1
	check check_profile.py site "$out"/*.heap.pb.gz allocator 20000 20000000 10000 10000000
done

# A program at a fixed address, as node is.
if build victim_no_pie victim_no_pie.c -fno-pic -no-pie; then
	run_profiled no_pie HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_no_pie"
	expect_status 0
	expect_silence
	expect_profiles 1
	check check_profile.py site "$out"/*.heap.pb.gz no_pie 100 100000 100 100000
else
	fail "victim_no_pie cannot be built"
fi

# jemalloc's own functions: of 1000 kept blocks each is last resized by xallocx.
if build victim_mallocx victim_mallocx.c -ljemalloc; then
	run_profiled mallocx HEAPSAMPLE_INTERVAL=1 -- "$directory/victim_mallocx"
	expect_status 0
	expect_silence
	expect_profiles 1
	check check_profile.py site "$out"/*.heap.pb.gz mallocx 2000 1300000 0 0
	check check_profile.py site "$out"/*.heap.pb.gz rallocx 1000 5000000 0 0
	check check_profile.py site "$out"/*.heap.pb.gz xallocx 1000 5100000 1000 5100000
else
	echo "without jemalloc's own functions" >&2
fi
finish
