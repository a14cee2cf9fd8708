# SPDX-License-Identifier: BSD-2-Clause
"""How long a sample takes on the program's thread, in place.

capture_front.c and capture_back.c time each call of malloc and calloc, without the allocator's
own part; see capture_clock.h.  The median of the calls that are not sampled, which is mostly
the clock's own, is subtracted.  What is in it: registers, the live set, the copy of the stack,
and where the worker sleeps, its wake-up.  What is not: samples by realloc and operator new.
"""
import collections
import dataclasses
import os

from measure import Bench, Refused
from subjects import ours

HEADER = ("", "interval", "median", "p90", "p99", "p99.9", "timed", "samples", "B/sample", "lost",
          "stackless", "not sampled")
FORM = "%-9s %9s %8.0f %8.0f %8.0f %9.0f %9d %9d %9d %8d %10d %12.1f"
INTERVALS = {"cold": ("4k",), "mixed": ("512k", "64k", "4k"), "mixed-8": ("512k", "64k", "4k")}


def clocked(build, interval):
    """This library between the two that hold the clock."""
    library = os.path.join(build, ".libs", "libheapsample.so")
    bench = os.path.join(build, "tests", "bench", ".libs")
    subject = ours(library, interval)
    return dataclasses.replace(
        subject, preload=f"{bench}/capture_front.so {library} {bench}/capture_back.so",
        environment={**subject.environment, "BENCH_CLOCK": "{directory}/clock"})


def quantile(histogram, share):
    """histogram: ns -> calls."""
    left = share * sum(histogram.values())
    for ns in sorted(histogram):
        left -= histogram[ns]
        if left <= 0:
            return ns
    return 0.0


def histograms(runs):
    """Of all runs together: the calls not sampled, and the samples."""
    both = collections.Counter(), collections.Counter()
    for run in runs:
        for histogram, name in zip(both, ("passed_on", "samples")):
            for time, calls in run.clock[name]:
                histogram[time * run.clock["ns_per_tick"]] += calls
    return both


def row_of(workload, interval, runs):
    plain, samples = histograms(runs)
    base = quantile(plain, 0.5)
    recorded = collections.Counter()
    for run in runs:
        recorded.update(run.recorded)
    return {"workload": workload.name, "interval": interval,
            **{name: quantile(samples, share) - base for name, share in
               (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999))},
            "timed": sum(samples.values()), "samples": recorded["samples"],
            "B/sample": recorded["bytes_per_sample"] / len(runs), "lost": recorded["lost"],
            "stackless": recorded["stackless"], "not sampled": base}


def measure(build, scratch, workloads, rounds, quick):
    """Print the table; returns its rows."""
    bench, rows = Bench(build, scratch), []
    print("Added to a call of malloc or calloc that is sampled, ns, of all runs together.\n"
          "\"not sampled\": the median of the others, with the clock's own time; it is subtracted.\n"
          "timed: these samples; samples, lost, stackless: as recorded.  One that is lost or\n"
          "stackless is cheap.  mixed has one thread, mixed-8 eight; p99 has their waits for a\n"
          "processor.  In cold nothing is in the caches, and each third or so wakes the worker.\n")
    print("%-9s %9s %8s %8s %8s %9s %9s %9s %9s %8s %10s %12s" % HEADER)
    for workload in workloads:
        if workload.program is None:
            print(f"{workload.name:9} its program is not here", flush=True)
            continue
        count = workload.small if quick else workload.full
        for interval in INTERVALS.get(workload.name, ("64k", "4k")):
            try:
                runs = [bench.run(workload, clocked(build, interval), count)
                        for _ in range(rounds)]
            except Refused as refused:
                print(f"{workload.name:9} {interval:>9} {refused}", flush=True)
                continue
            row = row_of(workload, interval, runs)
            rows.append(row)
            print(FORM % ((row["workload"],) + tuple(row[name] for name in HEADER[1:])),
                  flush=True)
    return rows
