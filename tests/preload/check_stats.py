#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A HEAPSAMPLE_STATS file has the form that the manual describes, and agrees with its profile.

    check_stats.py PROFILE STATS [HEAP:MEMBER=NUMBER...]
"""
import json
import re
import sys

from profile_facts import VALUES, counters, finish, read_profile

MEMBERS = {
    "version": str, "program": str, "pid": int, "reason": str, "number": int,
    "profile": (str, type(None)), "ended_early": (str, type(None)), "time_ns": int,
    "duration_ns": int, "counters": dict,
    "unwinding_times_us": list, "ring_bytes": int, "ring_high_water_bytes": int,
    "profiler_memory": int, "profiler_memory_budget": int, "resident": int, "heaps": list,
}
COUNTS = ("samples", "sampled_bytes", "frees", "stackless", "lost_ring", "lost_live_set",
          "lost_memory", "stale")
HEAP_MEMBERS = ("name", "interval", "current_interval") + COUNTS + \
    ("lost_objects", "lost_bytes", "rows") + VALUES


def form(stats):
    if stats.keys() != MEMBERS.keys():
        yield "members are %s" % sorted(stats)
    for name, value in stats.items():
        if not isinstance(value, MEMBERS.get(name, object)):
            yield "%s is %r" % (name, value)
    for heap in stats["heaps"]:
        if tuple(heap) != HEAP_MEMBERS:
            yield "a heap has %s" % list(heap)
        if heap["current_interval"] < heap["interval"]:
            yield "%(name)s: an interval of %(current_interval)d, not %(interval)d" % heap
    if stats["heaps"][0]["name"] != "malloc":
        yield "the first heap is %(name)s" % stats["heaps"][0]
    limits = [limit for limit, count in stats["unwinding_times_us"]]
    if limits != [2 ** i for i in range(19)] + [None]:
        yield "limits are %s" % limits


def heaps(profile, stats):
    """Each heap has the sums of its rows, and the heaps add up to the counters of the process."""
    found = {}
    for row in profile.rows():
        sums = found.setdefault(row["labels"].get("heap", "malloc"), [0] * (2 + len(VALUES)))
        sums[0] += 1
        sums[1] += row["values"][0] if row["stack"][0]["name"] == "[lost]" else 0
        for i, value in enumerate(row["values"]):
            sums[2 + i] += value
    for heap in stats["heaps"]:
        want = found.pop(heap["name"], [0] * (2 + len(VALUES)))
        have = [heap[name] for name in ("rows", "lost_objects") + VALUES]
        if have != want:
            yield "%s has %s, in the profile %s" % (heap["name"], have, want)
    if found:
        yield "heaps %s are missing" % list(found)
    for name in COUNTS:
        together = sum(heap[name] for heap in stats["heaps"])
        if together != stats["counters"][name] and stats["reason"] == "exit":
            yield "%s: %d together, not %d" % (name, together, stats["counters"][name])


def sums(profile, stats):
    counts = stats["counters"]
    totals = profile.totals()
    stacks = sum(count for limit, count in stats["unwinding_times_us"])
    recorded = counts["samples"] - counts["lost_ring"] - counts["lost_live_set"] - \
        counts["abandoned"]
    # A sample without a stack is not timed if its pc is known.
    if not recorded - counts["stackless"] <= stacks + counts["walked"] <= recorded and \
            stats["reason"] == "exit":
        yield "%d times, %d walked, of %d samples" % (stacks, counts["walked"], counts["samples"])
    # In a long run the unwind rows of nearly all pcs are known.
    if counts["samples"] > 1000000 and counts["walked"] < counts["samples"] / 2:
        yield "%d of %d samples are walked in place" % (counts["walked"], counts["samples"])
    # A time in bucket i is at least 2^(i-1) us and below 2^i us.
    least = sum(count * (limit // 2 if limit else 2 ** 18)
                for limit, count in stats["unwinding_times_us"])
    most = sum(count * (limit or 2 ** 30) for limit, count in stats["unwinding_times_us"])
    if not 1000 * least <= counts["unwinding_ns"] < 1000 * most:
        yield "unwinding_ns=%d, by the buckets %d..%d us" % (counts["unwinding_ns"], least, most)
    if stats["heaps"][0]["current_interval"] == 1 and stats["reason"] == "exit" and \
            counts["sampled_bytes"] != totals["alloc_space"]:
        yield "%d bytes sampled, not %d" % (counts["sampled_bytes"], totals["alloc_space"])


def agreement(profile, stats):
    in_profile = counters(profile)
    # These change while a profile is written.
    moving = ("dumps", "dump_ns", "dump_failures", "bookkeeping_ns", "worker_cpu_ns",
              "producer_cpu_ns")
    for name, value in stats["counters"].items():
        before = in_profile.get(name, 0)
        if value < before or (value != before and stats["reason"] == "exit" and
                              name not in moving):
            yield "%s=%d, in the profile %d" % (name, value, before)
    for name in ("dumps", "dump_ns", "bookkeeping_ns", "unwinding_ns", "worker_cpu_ns",
                 "producer_cpu_ns"):
        # A profile before the end may have no samples.
        of_samples = name in ("unwinding_ns", "worker_cpu_ns") and stats["reason"] != "exit"
        is_early = of_samples and profile.totals()["alloc_space"] == 0
        if stats["counters"][name] == 0 and not is_early:
            yield "%s is 0" % name
    if not 0 < stats["ring_high_water_bytes"] <= stats["ring_bytes"]:
        yield "%d of %d bytes of the ring" % (stats["ring_high_water_bytes"], stats["ring_bytes"])
    if not 0 < stats["profiler_memory"] <= stats["profiler_memory_budget"] or \
            stats["resident"] == 0:
        yield "memory %s" % stats
    for name in ("interval", "current_interval"):
        if stats["heaps"][0][name] != in_profile.get(name) and stats["reason"] == "exit":
            yield "%s=%d of malloc, not so in the profile" % (name, stats["heaps"][0][name])
    if stats["reason"] == "exit" and \
            not stats["resident"] / 4 < in_profile.get("resident", 0) < 4 * stats["resident"]:
        yield "resident=%d, in the profile %s" % (stats["resident"], in_profile.get("resident"))
    said = dict(re.findall(r"(\w+)=(\S+)", profile.comments[1]))
    wanted = {"exe": stats["program"], "pid": str(stats["pid"]), "reason": stats["reason"],
              "number": str(stats["number"])}
    if said != wanted:
        yield "%s, in the profile %s" % (wanted, said)
    if stats["time_ns"] != profile.time_nanos:
        yield "another time than the profile's"
    # A duration would make it one of differences to readers of many profiles.
    if profile.duration_nanos != 0:
        yield "the profile has a duration, %d" % profile.duration_nanos
    if not 0 < stats["duration_ns"] < 600e9:
        yield "a duration of %d ns" % stats["duration_ns"]


def differences(path, stats_path, *wanted):
    profile = read_profile(path)
    with open(stats_path, encoding="utf-8") as file:
        stats = json.load(file)
    yield from form(stats)
    yield from heaps(profile, stats)
    yield from sums(profile, stats)
    yield from agreement(profile, stats)
    for want in wanted:
        heap, member, number = re.fullmatch("(.+):(\\w+)=(.*)", want).groups()
        have = [str(other[member]) for other in stats["heaps"] if other["name"] == heap]
        if have != [number]:
            yield "%s: %s" % (want, have)
    if stats["program"] != "FILTERED" and stats["profile"] != path:
        yield "profile %s" % stats["profile"]


sys.exit(finish(differences(*sys.argv[1:])))
