#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Well-known programs, with the processes that they start: their output and status are the same.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

work=$directory/work
mkdir "$work"

kind shell

cat >"$work/many.sh" <<'END2'
trap 'echo trapped' USR1
sum=0
for i in $(seq 300); do sum=$((sum + i)); done
(exit 4) || echo "subshell $?"
echo "$sum" | tr 0-9 a-j | sed s/a/A/
kill -USR1 $$
diff <(seq 5) <(seq 6)
for i in 1 2 3 4 5; do (sleep 0.0$i; echo "$i") & done | sort
wait
coproc cat
echo coprocess >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"
echo "$line"
exec bash -c 'echo "executed $0"; exit 12' again
END2
have script bash && hostile script some -m "$busy" "$all" -- bash "$work/many.sh" &&
	ended_with 12

kind compiler

cat >"$work/compile.sh" <<'END2'
cd "$1" && printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void){puts("compiled");}\n' >t.c &&
	${CC:-cc} -g -O2 -c -o t.o t.c && cksum <t.o && ${CC:-cc} -o t t.o && ./t &&
	${CC:-cc} -c -o bad.o -x c - <<-END3
	int main(void) { return missing; }
	END3
END2
have compile "${CC:-cc}" bash &&
	hostile compile some -m "$busy" "$all" -- bash "$work/compile.sh" "$work" && ended_with 1

kind debugger

# gdb, the Python in it and the program that it debugs are all profiled.
cat >"$work/debugged.c" <<'END2'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void *stops_here(int n) { return calloc(1, (size_t)n); }
int main(void)
{
	for (int i = 0; i < 20; i++)
		free(stops_here(i * 100));
	puts("debugged");
	abort();
}
END2
cat >"$work/commands" <<'END2'
set startup-with-shell off
break stops_here
commands
silent
printf "at a breakpoint, %d\n", n
backtrace 1
continue
end
run
python print(sum(len(str(i)) for i in range(10000)))
END2
# Removes what differs: lines about threads (the profiler has some), and the ids of processes and of
# threads, which are addresses (libc with debug information).
cat >"$work/debug.sh" <<'END2'
gdb -q -batch -nx -x "$1" "$2" 2>&1 | sed -e '/^\[/{/Inferior/!d;s/process [0-9]*/process/;}' \
	-e 's/^Thread 1 ".*" received/Program received/' -e 's/threadid=[0-9]*/threadid/'
END2
if have breakpoint gdb && made breakpoint ${CC:-cc} -g -o "$work/debugged" "$work/debugged.c"; then
	if sh "$work/debug.sh" "$work/commands" "$work/debugged" | grep -q 'at a breakpoint'; then
		hostile breakpoint some -m "$busy" "$all" -- \
			sh "$work/debug.sh" "$work/commands" "$work/debugged"
	else
		skip_case breakpoint "gdb cannot run a program here"
	fi
fi

kind git

cat >"$work/git.sh" <<'END2'
rm -rf "$1" && mkdir "$1" && cd "$1" || exit
export HOME=$1 GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='1700000000 +0000' \
	GIT_COMMITTER_DATE='1700000000 +0000'
git -c init.defaultBranch=main init -q && git config user.name n && git config user.email e@e
for i in 1 2 3; do
	seq "$((i * 2000))" >"file.$i"
	git add . && git commit -q -m "commit $i"
done
git log --format='%H %s' && git gc -q && git fsck && git clone -q . copy && git -C copy diff HEAD~2 |
	cksum && git grep -c 199 HEAD && git checkout -q nothing
END2
have repository git &&
	hostile repository some -m "$busy" "$all" -- sh "$work/git.sh" "$work/repository" &&
	ended_with 1

kind database

cat >"$work/work.sql" <<'END2'
create table t(id integer primary key, name text, body blob);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into t select i, 'row ' || i, hex(zeroblob(i % 200)) from n;
commit;
create index t_name on t(name);
select count(*), sum(length(body)) from t;
select name from t order by name desc limit 5;
select nothing from t;
END2
have sqlite sqlite3 && hostile sqlite 1 -- sqlite3 :memory: ".read $work/work.sql" && ended_with 1

cat >"$work/redis.sh" <<'END2'
cd "$1" || exit
redis-server --port 0 --unixsocket "$1/socket" --save '' --appendonly no --daemonize no \
	--logfile "$1/redis.log" &
tries=600
until redis-cli -s "$1/socket" ping >/dev/null 2>&1 || [ $((tries -= 1)) -le 0 ]; do sleep 0.05; done
for i in 1 2 3 4 5 6 7 8 9; do
	seq 200 | sed "s/.*/set key:$i:& value-&/" | redis-cli -s "$1/socket" | sort | uniq -c
done
redis-cli -s "$1/socket" dbsize
redis-cli -s "$1/socket" save
redis-cli -s "$1/socket" bgsave
redis-cli -s "$1/socket" eval 'local t = {} for i = 1, 1000 do t[i] = i .. "" end return #t' 0
redis-cli -s "$1/socket" shutdown nosave
wait $!
END2
have redis redis-server redis-cli &&
	hostile redis some -e -m "$busy" "$all" -- bash "$work/redis.sh" "$work" && ended_with 0

finish_cases
