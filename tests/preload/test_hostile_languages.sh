#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs of other languages and well-known programs, with their threads, processes and
# run-times: what they print, how they end and what they write is the same.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

work=$directory/work
mkdir "$work"

# Children are profiled too, and write their own.
all='HEAPSAMPLE_CHILDREN=all'

# here PROGRAM... or else NAME is skipped: the first that is not here says why.
have() {
	name=$1
	shift
	for program in "$@"; do
		command -v "$program" >/dev/null || {
			skip_case "$name" "no $program"
			return 1
		}
	done
}

# The program is compiled for the test, or the case skipped: made NAME COMMAND...
made() {
	name=$1
	shift
	"$@" >"$work/$name.log" 2>&1 || {
		skip_case "$name" "cannot be built here: $(head -c 200 "$work/$name.log" | head -1)"
		return 1
	}
}

kind Python

cat >"$work/threads.py" <<'END2'
import ctypes, gc, hashlib, threading, zlib
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.qsort.restype = None
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
results = {}

def work(number):
    rows = [{'id': i, 'text': str(i) * 20} for i in range(300)]
    for _ in range(100):
        libc.free(libc.malloc(5000))
    values = (ctypes.c_int * 100)(*[(i * 7919) % 101 for i in range(100)])
    libc.qsort(values, 100, 4, Compare(lambda a, b: a[0] - b[0]))
    packed = zlib.compress(repr(rows).encode())
    results[number] = hashlib.sha256(packed + bytes(values)).hexdigest()
    gc.collect()

for batch in range(3):
    threads = [threading.Thread(target=work, args=(batch * 8 + i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(results), sorted(set(results.values())))
END2
cat >"$work/processes.py" <<'END2'
import multiprocessing, os, subprocess, sys, threading

def square(number):
    return number * number + len([bytearray(1000) for _ in range(200)])

def main():
    stop = threading.Event()
    def allocate():
        while not stop.is_set():
            [bytearray(700) for _ in range(10)]
    thread = threading.Thread(target=allocate)
    thread.start()
    for method in 'fork', 'spawn', 'forkserver':
        with multiprocessing.get_context(method).Pool(3) as pool:
            print(method, pool.map(square, range(20)))
            pool.close()
            pool.join()
    for close in True, False:
        print(subprocess.run(['cat'], input='through a pipe\n', text=True, close_fds=close,
                             stdout=subprocess.PIPE).stdout, end='')
    print(subprocess.check_output([sys.executable, '-c', 'print(sum(range(1000)))'], text=True))
    print(os.waitstatus_to_exitcode(os.system('exit 3')), os.popen('echo popen').read())
    stop.set()
    thread.join()

if __name__ == '__main__':
    main()
END2
hostile threads 1 PYTHONMALLOC=malloc -- "$python" "$work/threads.py"
hostile threads_own_allocator 1 -- "$python" "$work/threads.py"
hostile processes some "$all" -- "$python" "$work/processes.py"

kind Node

cat >"$work/workers.js" <<'END2'
const {Worker, isMainThread, parentPort, workerData} = require('worker_threads');
const child = require('child_process'), crypto = require('crypto'), zlib = require('zlib');
function hash(seed) {
	const rows = [];
	for (let i = 0; i < 2000; i++)
		rows.push({seed, i, text: 'x'.repeat(i % 50)});
	const packed = zlib.deflateSync(JSON.stringify(rows));
	return crypto.createHash('sha256').update(zlib.inflateSync(packed)).digest('hex');
}
if (!isMainThread) {
	parentPort.postMessage(hash(workerData));
} else {
	const all = [0, 1, 2, 3, 4, 5].map(n => new Promise((good, bad) => {
		const worker = new Worker(__filename, {workerData: n});
		worker.on('message', good);
		worker.on('error', bad);
	}));
	Promise.all(all).then(results => {
		console.log(results.join('\n'));
		console.log(child.execSync('echo shell').toString());
		console.log(child.spawnSync(process.execPath, ['-p', '6*7']).stdout.toString());
		console.log(child.execFileSync('cat', {input: 'pipe'}).toString());
		new Worker('for (;;) new ArrayBuffer(100)', {eval: true}).on('online', function () {
			this.terminate().then(code => { console.log('ended', code); process.exit(7); });
		});
	});
}
END2
have workers node && hostile workers some "$all" -- node "$work/workers.js"

kind Java

mkdir "$work/java"
cat >"$work/java/Many.java" <<'END2'
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;
import java.nio.ByteBuffer;

public class Many {
	static long work(int seed) {
		byte[] text = new byte[20000];
		new Random(seed).nextBytes(text);
		ByteBuffer outside = ByteBuffer.allocateDirect(30000);
		outside.put(text);
		Deflater deflater = new Deflater();
		deflater.setInput(text);
		deflater.finish();
		byte[] packed = new byte[40000];
		CRC32 sum = new CRC32();
		sum.update(packed, 0, deflater.deflate(packed));
		deflater.end();
		return sum.getValue();
	}

	public static void main(String[] arguments) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(8);
		List<Future<Long>> sums = new ArrayList<>();
		for (int i = 0; i < 64; i++) {
			final int seed = i;
			sums.add(pool.submit(() -> work(seed)));
		}
		long sum = 0;
		for (Future<Long> one : sums)
			sum = sum * 31 + one.get();
		pool.shutdown();
		for (int i = 0; i < 3; i++) {
			System.gc();
			Process child = new ProcessBuilder("echo", "child " + i).start();
			System.out.print(new String(child.getInputStream().readAllBytes()));
			System.out.println(child.waitFor());
		}
		try {
			throw new NullPointerException("as expected");
		} catch (NullPointerException error) {
			System.out.println(sum + " " + error.getMessage());
		}
		String none = sum == 1 ? "" : null;
		for (int i = 0; i < 20000; i++) {
			try {
				sum += none.length();
			} catch (NullPointerException error) {
				sum++;
			}
		}
		System.out.println(sum);
		System.exit(9);
	}
}
END2
if have threads java javac && made threads javac -d "$work/java" "$work/java/Many.java"; then
	hostile threads some "$all" -- java -Xmx128m -cp "$work/java" Many
fi

kind Go

mkdir "$work/go"
cat >"$work/go/main.go" <<'END2'
package main

// #include <stdlib.h>
// #include <string.h>
// static int fill(int bytes) { char *p = malloc(bytes); memset(p, 1, bytes); int s = p[bytes - 1];
//	free(p); return s; }
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"unsafe"
)

func deep(n int) int {
	var space [200]byte
	if n == 0 {
		return int(C.fill(3000))
	}
	return deep(n-1) + int(space[n%200])
}

func main() {
	var all sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for i := 0; i < 200; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			if i%10 == 0 {
				runtime.LockOSThread()
			}
			text := C.CString(fmt.Sprint("goroutine ", i))
			mine := deep(i*3) + int(C.strlen(text)) + len(make([]byte, i*100))
			C.free(unsafe.Pointer(text))
			lock.Lock()
			sum += mine
			lock.Unlock()
		}(i)
	}
	all.Wait()
	runtime.GC()
	out, err := exec.Command("echo", "child").Output()
	fmt.Println(sum, string(out), err)
	defer func() {
		fmt.Println("recovered", recover() != nil)
		os.Exit(4)
	}()
	var none *int
	*none = 1
}
END2
go=$(command -v go || { [ -x /usr/local/go/bin/go ] && echo /usr/local/go/bin/go; })
if [ -z "$go" ]; then
	skip_case cgo "no go"
else
	# What is compiled of Go's own libraries is kept from run to run, where the user has a cache.
	cache=$("$go" env GOCACHE 2>/dev/null)
	{ [ -n "$cache" ] && mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ]; } ||
		cache=$work/go/cache
	made cgo env GOTOOLCHAIN=local GOFLAGS= GO111MODULE=off CGO_ENABLED=1 GOCACHE="$cache" \
		"$go" build -o "$work/go/main" "$work/go/main.go" &&
		hostile cgo some "$all" -- "$work/go/main"
fi

kind Rust

cat >"$work/many.rs" <<'END2'
use std::collections::HashMap;
use std::process::Command;
use std::thread;
fn work(seed: u64) -> u64 {
    let mut map: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..2000u64 {
        map.entry(format!("key {}", i * seed % 97)).or_default().push(i);
    }
    map.values().map(|list| list.iter().sum::<u64>()).sum::<u64>() + seed
}
fn main() {
    let threads: Vec<_> = (0..16).map(|n| thread::spawn(move || work(n))).collect();
    let sum: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let caught = thread::spawn(|| { let list: Vec<u8> = Vec::new(); list[sum_of(1)] }).join();
    let out = Command::new("echo").arg("child").output().unwrap();
    println!("{} {} {}", sum, caught.is_err(), String::from_utf8_lossy(&out.stdout));
    std::process::exit(5);
}
fn sum_of(n: usize) -> usize { (0..n + 1).sum() }
END2
have threads rustc && made threads rustc -O -o "$work/many" "$work/many.rs" &&
	hostile threads some -e "$all" -- "$work/many"

kind Perl

cat >"$work/many.pl" <<'END2'
use strict;
use warnings;
$| = 1;
my %map;
$map{$_ % 997} .= "text $_;" for 1 .. 20000;
print join(' ', map { length $map{$_} } sort { $a <=> $b } keys %map), "\n";
for my $child (1 .. 4) {
	my $pid = fork // die;
	if ($pid == 0) {
		my @list = map { "x" x $_ } 1 .. 300;
		exit $child;
	}
	waitpid $pid, 0;
	print "child ", $? >> 8, "\n";
}
print `echo backquotes`, "sum ", eval { my $x = 1 / 0; 1 } // "died", "\n";
local $SIG{ALRM} = sub { my @list = map { "y" x $_ } 1 .. 100; die "alarm\n" };
eval { alarm 1; 1 while push @{[]}, "z" x 100; };
print "after $@";
exit 6;
END2
have processes perl && hostile processes some "$all" -- perl "$work/many.pl"

for language in ruby php; do
	kind $language
	have script $language || continue
	case $language in
	ruby) script='h = Hash.new(""); 20000.times { |i| h[i % 97] += i.to_s }
		t = (1..8).map { |n| Thread.new { (1..500).map { |i| "x" * i * n }.sum(&:size) } }
		puts h.values.map(&:size).sum, t.sum(&:value), `echo child`
		pid = fork { exit 3 }; Process.wait pid; puts $?.exitstatus; exit 8' ;;
	php) script='$h = []; for ($i = 0; $i < 20000; $i++) @$h[$i % 97] .= $i;
		echo array_sum(array_map("strlen", $h)), shell_exec("echo child"), "\n"; exit(8);' ;;
	esac
	case $language in
	ruby) hostile script some "$all" -- ruby -e "$script" ;;
	php) hostile script some "$all" -- php -r "$script" ;;
	esac
done

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
have script bash && hostile script some "$all" -- bash "$work/many.sh"

kind compiler

cat >"$work/compile.sh" <<'END2'
cd "$1" && printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void){puts("compiled");}\n' >t.c &&
	${CC:-cc} -g -O2 -c -o t.o t.c && cksum <t.o && ${CC:-cc} -o t t.o && ./t &&
	${CC:-cc} -c -o bad.o -x c - <<-END3
	int main(void) { return missing; }
	END3
END2
have compile "${CC:-cc}" bash && hostile compile some "$all" -- bash "$work/compile.sh" "$work"

kind debugger

# The debugger itself is profiled, with its own Python, and what it debugs.
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
# Without what tells of threads and processes, for the profiler has some.
cat >"$work/debug.sh" <<'END2'
gdb -q -batch -nx -x "$1" "$2" 2>&1 | sed -e '/^\[/{/Inferior/!d;s/process [0-9]*/process/;}' \
	-e 's/^Thread 1 ".*" received/Program received/'
END2
if have breakpoint gdb && made breakpoint ${CC:-cc} -g -o "$work/debugged" "$work/debugged.c"; then
	if sh "$work/debug.sh" "$work/commands" "$work/debugged" | grep -q 'at a breakpoint'; then
		hostile breakpoint some "$all" -- \
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
have repository git && hostile repository some "$all" -- sh "$work/git.sh" "$work/repository"

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
have sqlite sqlite3 && hostile sqlite 1 -- sqlite3 :memory: ".read $work/work.sql"

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
	hostile redis some -e HEAPSAMPLE_CHILDREN=all -- bash "$work/redis.sh" "$work"

finish_cases
