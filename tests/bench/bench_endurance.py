#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A short endurance run: 10^8 allocations from 10^5 stacks, with a profile each second.

    bench_endurance.py PROGRAM LIBRARY [ALLOCATIONS]

Prints how the profiler's memory and the time of a profile develop; then, from shorter runs with
fewer stacks, how that time depends on the number of rows.
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from pprof_read import read_profile  # noqa: E402

INTERVAL = "8k"
IDLE_DUMPS = 10
LINES = 12
MIB = 1 << 20


class Dump:
    """The statistics of a profile, and its counts since the previous one."""

    def __init__(self, path, before):
        with open(path, encoding="utf-8") as file:
            self.stats = json.load(file)
        self.counters = self.stats["counters"]
        self.rows = self.stats["heaps"][0]["rows"]
        self.memory = self.stats["profiler_memory"]
        self.seconds = self.stats["duration_ns"] / 1e9
        self.dump_ms = self.since(before, "dump_ns") / 1e6
        self.processor_ms = self.since(before, "producer_cpu_ns") / 1e6
        self.samples = self.since(before, "samples")
        self.period = self.seconds - (before.seconds if before else 0)

    def since(self, before, name):
        return self.counters[name] - (before.counters[name] if before else 0)

    def live_rows(self):
        samples = read_profile(self.stats["profile"]).samples
        return sum(sample.value[2] != 0 for sample in samples)


def run(program, library, levels, allocations, directory):
    """Returns two lists of periodic dumps: while the program allocates, and while it is idle."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("HEAPSAMPLE")}
    environment.update(
        LD_PRELOAD=library, HEAPSAMPLE_INTERVAL=INTERVAL, HEAPSAMPLE_TIME_INTERVAL="1",
        HEAPSAMPLE_OUTPUT=directory + "/%n.heap.pb.gz", HEAPSAMPLE_STATS=directory + "/%n.json")
    with subprocess.Popen([program, str(levels), str(allocations)], env=environment,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        end = len(glob.glob(directory + "/*.json")) + IDLE_DUMPS
        while len(glob.glob(directory + "/*.json")) < end:
            time.sleep(0.1)
    dumps = []
    for path in sorted(glob.glob(directory + "/*.json")):
        dumps.append(Dump(path, dumps[-1] if dumps else None))
    dumps = [dump for dump in dumps if dump.stats["reason"] == "interval"]
    return [dump for dump in dumps if dump.samples > 0], \
        [dump for dump in dumps if dump.samples == 0]


def print_table(dumps):
    head = ("seconds", "samples/ms", "interval", "no stack, %", "rows", "live rows", "memory, MiB",
            "resident, MiB", "dump, ms", "file, KiB")
    print(" ".join("%13s" % text for text in head))
    for i in sorted({round(k * (len(dumps) - 1) / (LINES - 1)) for k in range(LINES)}):
        dump = dumps[i]
        counters, stats = dump.counters, dump.stats
        lost = counters["stackless"] + counters["lost_ring"]
        line = (dump.seconds, dump.samples / (1000 * dump.period),
                stats["heaps"][0]["current_interval"], 100 * lost / counters["samples"],
                dump.rows, dump.live_rows(), dump.memory / MIB, stats["resident"] / MIB,
                dump.dump_ms, os.path.getsize(stats["profile"]) / 1024)
        print(" ".join("%13.1f" % value if isinstance(value, float) else "%13d" % value
                       for value in line))


def print_memory(dumps):
    warm, end = dumps[len(dumps) // 2], dumps[-1]
    for what, first, last in (("profiler_memory", warm.memory, end.memory),
                              ("resident", warm.stats["resident"], end.stats["resident"]),
                              ("rows", warm.rows, end.rows)):
        print("%s: %d after half of the time, %d at the end: %+.2f %%" %
              (what, first, last, 100 * (last / first - 1)))


def print_times(points):
    """points: three pairs (rows, processor time of a profile of the idle program in ms)."""
    print("%13s %15s %13s" % ("rows", "processor, ms", "us a row"))
    for rows, milliseconds in points:
        print("%13d %15.2f %13.2f" % (rows, milliseconds, 1000 * milliseconds / rows))
    (few, short), (middle, measured), (many, long) = points
    slope = (long - short) / (many - few)
    print("a profile: %.2f ms + %.2f us a row by the first and the last; between them %.2f ms, "
          "by that %.2f" % (short - slope * few, 1000 * slope, measured,
                            short + slope * (middle - few)))


def main(program, library, allocations=10 ** 8):
    points = []
    for levels in (3, 4, 5):
        count = int(allocations) if levels == 5 else 300 * 10 ** levels
        with tempfile.TemporaryDirectory() as directory:
            busy, idle = run(program, library, levels, count, directory)
            times = [dump.processor_ms for dump in idle]
            points.append((idle[-1].rows, statistics.median(times)))
            if levels == 5:
                print("%d allocations, 10^%d stacks, interval %s" % (count, levels, INTERVAL))
                print_table(busy)
                print_memory(busy)
    print_times(points)


main(*sys.argv[1:])
