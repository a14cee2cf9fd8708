#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs of other languages, with their threads, processes and run-times: what they print and
# how they end is the same.
. "$(dirname "$0")/lib.sh"
. "$tests/hostile.sh"

work=$directory/work
mkdir "$work"

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
ended_with 0
hostile threads_own_allocator 1 -- "$python" "$work/threads.py"
ended_with 0
hostile processes some -m "$busy" "$all" -- "$python" "$work/processes.py"
ended_with 0

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
have workers node && hostile workers some -m "$busy" "$all" -- node "$work/workers.js" &&
	ended_with 7

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
	hostile threads some -m "$busy" "$all" -- java -Xmx128m -cp "$work/java" Many
	ended_with 9
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
		hostile cgo some -m "$busy" "$all" -- "$work/go/main" && ended_with 4
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
	hostile threads some -e -m "$busy" "$all" -- "$work/many" && ended_with 5

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
have processes perl && hostile processes some -m "$busy" "$all" -- perl "$work/many.pl" &&
	ended_with 6

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
	ruby) hostile script some -m "$busy" "$all" -- ruby -e "$script" ;;
	php) hostile script some -m "$busy" "$all" -- php -r "$script" ;;
	esac
done

finish_cases
