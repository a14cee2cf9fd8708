# SPDX-License-Identifier: BSD-2-Clause
"""scripts/bench capture: the time that a sample takes on the program's thread, in real programs.

capture_front.c and capture_back.c time each call of malloc and calloc, without the allocator's
part, until all stores are done; see capture_clock.h.  The median of the calls that are not sampled
is subtracted; most of it is the clock itself.  The time contains the registers, the live set, the
walk or copy of the stack, and the wake-up of the worker if it sleeps.  Samples by realloc and
operator new are not timed.  At each interval this library and capture_floor.c take turns.
"""
import collections
import dataclasses
import os

from measure import Bench, Refused
from subjects import capture_floor, ours

HEADER = ("", "", "median", "to floor", "p90", "p99", "p99.9", "timed", "samples", "B/sample",
          "lost", "stackless", "not sampled")
TITLES = "%-8s %-18s %7s %8s %7s %7s %9s %9s %9s %8s %8s %9s %12s"
FORM = "%-8s %-18s %7.0f %8.2f %7.0f %7.0f %9.0f %9d %9d %8d %8d %9d %12.1f"
INTERVALS = ("4k", "64k", "512k")


def clocked(bench, subject):
    """The subject, its library between the two that time it."""
    return dataclasses.replace(
        subject, preload=f"{bench}/capture_front.so {subject.preload} {bench}/capture_back.so",
        environment={**subject.environment, "BENCH_CLOCK": "{directory}/clock"})


def clocked_subjects(build, workload):
    """For each interval the floor, then ours.  For the workload cold one interval is enough."""
    library = os.path.join(build, ".libs", "libheapsample.so")
    bench = os.path.join(build, "tests", "bench", ".libs")
    return [clocked(bench, subject)
            for interval in (INTERVALS[:1] if workload.name == "cold" else INTERVALS)
            for subject in (capture_floor(bench, interval), ours(library, interval))]


def quantile(histogram, share):
    """histogram: {ns: calls}"""
    left = share * sum(histogram.values())
    for ns in sorted(histogram):
        left -= histogram[ns]
        if left <= 0:
            return ns
    return 0.0


def histograms(runs):
    """Two histograms of all runs together: calls that are not sampled, and samples."""
    both = collections.Counter(), collections.Counter()
    for run in runs:
        for histogram, name in zip(both, ("passed_on", "samples")):
            for time, calls in run.clock[name]:
                histogram[time * run.clock["ns_per_tick"]] += calls
    return both


def row_of(workload, subject, runs):
    plain, samples = histograms(runs)
    base = quantile(plain, 0.5)
    recorded = collections.Counter()
    for run in runs:
        recorded.update(run.recorded)
    return {"workload": workload.name, "subject": subject.name,
            **{name: quantile(samples, share) - base for name, share in
               (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999))},
            "timed": sum(samples.values()), "samples": recorded["samples"],
            "B/sample": recorded["bytes_per_sample"] / len(runs), "lost": recorded["lost"],
            "stackless": recorded["stackless"], "not sampled": base}


def measure_workload(bench, workload, subjects, count, rounds):
    """Returns a row for each subject.  Raises Refused."""
    runs = {subject.name: [] for subject in subjects}
    for _ in range(rounds):
        for subject in subjects:
            runs[subject.name].append(bench.run(workload, subject, count))
    rows = [row_of(workload, subject, runs[subject.name]) for subject in subjects]
    for floor, row in zip(rows[::2], rows[1::2]):
        for each in floor, row:
            each["to floor"] = each["median"] / max(floor["median"], 1)
    return rows


def measure(build, scratch, workloads, rounds, quick):
    """Prints the table and returns its rows."""
    bench, rows = Bench(build, scratch), []
    print("Added to a call of malloc or calloc that is sampled, ns, of all runs together.\n"
          "to floor: ratio of the medians, at one interval.  timed: these samples; samples, lost,\n"
          "stackless: as recorded; one that is lost or stackless is cheap.  \"not sampled\": the\n"
          "median of the other calls, with the clock's own time; it is subtracted.  mixed has one\n"
          "thread, mixed-8 eight, whose p99 has their waits for a processor.  In cold nothing is\n"
          "in the caches, and some samples wake the worker.\n")
    print(TITLES % HEADER)
    for workload in workloads:
        if workload.program is None:
            print(f"{workload.name:8} its program is not here", flush=True)
            continue
        try:
            found = measure_workload(bench, workload, clocked_subjects(build, workload),
                                     workload.small if quick else workload.full, rounds)
        except Refused as refused:
            print(f"{workload.name:8} {refused}", flush=True)
            continue
        rows += found
        for row in found:
            print(FORM % (row["workload"], row["subject"], *(row[name] for name in HEADER[2:])),
                  flush=True)
    return rows
