#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# While samples are rare, the profiler looks for them only now and then: each look costs the
# program's threads their caches.  Some 700 samples a second: neither one switch of context for
# each, nor one every ten milliseconds for each of two threads.
. "$(dirname "$0")/lib.sh"

cat >"$directory/naps.py" <<'END'
import glob
import sys
import time


def read(path):
    with open(path) as file:
        return file.read()


def switches():
    """Voluntary ones, of both threads of the profiler: those that a full machine does not make."""
    texts = [read(path) for path in glob.glob("/proc/self/task/*/status")]
    ours = [text for text in texts if text.startswith("Name:\theapsample-")]
    assert len(ours) == 2, texts
    return sum(int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0]) for text in ours)


for i in range(100):
    block = bytes(1 << 20)  # the first stack: what is made and read for it takes time of its own
time.sleep(0.2)
blocks, samples = int(sys.argv[1]), 0
before, start = switches(), time.monotonic()
while time.monotonic() < start + 2:
    for i in range(blocks):
        block = bytes(1 << 20)
    samples += blocks
    time.sleep(0.001)
print(round((switches() - before) / (time.monotonic() - start)), samples)
END

run_profiled naps HEAPSAMPLE_INTERVAL=64k -- "$python" "$directory/naps.py" 1
expect_status 0
expect_profiles 1
rate=$(cut -d ' ' -f 1 "$out.stdout")
[ "$rate" -ge 1 ] || fail "$rate switches a second: the profiler has not run"
[ "$rate" -le 100 ] || fail "$rate switches a second, expected some 40"

# With threads' names, which are read soon: not one for each of many samples either.
run_profiled names HEAPSAMPLE_INTERVAL=64k HEAPSAMPLE_LABELS=thread -- \
	"$python" "$directory/naps.py" 20
expect_status 0
expect_profiles 1
read -r rate samples <"$out.stdout"
[ "$rate" -le $((samples / 4)) ] || fail "$rate switches a second, of $((samples / 2)) samples"
finish
