#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A file of HEAPSAMPLE_STATS is as the manual says, and agrees with its profile.

    check_stats.py PROFILE STATS
"""
import json
import re
import sys

from profile_facts import VALUES, counters, finish, read_profile

MEMBERS = {
    "version": str, "program": str, "pid": int, "reason": str, "number": int,
    "profile": (str, type(None)), "ended_early": (str, type(None)), "time_ns": int, "duration_ns": int, "counters": dict,
    "unwinding_times_us": list, "ring_bytes": int, "ring_high_water_bytes": int,
    "profiler_memory": int, "profiler_memory_budget": int, "resident": int, "heaps": dict,
}
HEAP_MEMBERS = ("interval", "current_interval", "rows") + VALUES


def form(stats):
    if stats.keys() != MEMBERS.keys():
        yield "members are %s" % sorted(stats)
    for name, value in stats.items():
        if not isinstance(value, MEMBERS.get(name, object)):
            yield "%s is %r" % (name, value)
    for name, heap in stats["heaps"].items():
        if tuple(heap) != HEAP_MEMBERS:
            yield "heap %s has %s" % (name, list(heap))
    limits = [limit for limit, count in stats["unwinding_times_us"]]
    if limits != [2 ** i for i in range(19)] + [None]:
        yield "limits are %s" % limits


def sums(profile, stats):
    counts = stats["counters"]
    totals = profile.totals()
    for name in VALUES:
        total = sum(heap[name] for heap in stats["heaps"].values())
        if total != totals[name]:
            yield "%s is %d, the profile's %d" % (name, total, totals[name])
    if stats["heaps"]["malloc"]["rows"] != len(list(profile.rows())):
        yield "%d rows" % stats["heaps"]["malloc"]["rows"]
    stacks = sum(count for limit, count in stats["unwinding_times_us"])
    if stacks != counts["samples"] - counts["lost_ring"] - counts["lost_live_set"] - \
            counts["abandoned"] and stats["reason"] == "exit":
        yield "%d times of %d samples" % (stacks, counts["samples"])
    # A time in bucket i is at least 2^(i-1) us and below 2^i us.
    least = sum(count * (limit // 2 if limit else 2 ** 18)
                for limit, count in stats["unwinding_times_us"])
    most = sum(count * (limit or 2 ** 30) for limit, count in stats["unwinding_times_us"])
    if not 1000 * least <= counts["unwinding_ns"] < 1000 * most:
        yield "unwinding_ns=%d, by the buckets %d..%d us" % (counts["unwinding_ns"], least, most)
    if stats["heaps"]["malloc"]["interval"] == 1 and stats["reason"] == "exit" and \
            counts["sampled_bytes"] != totals["alloc_space"]:
        yield "%d bytes sampled, not %d" % (counts["sampled_bytes"], totals["alloc_space"])


def agreement(profile, stats):
    in_profile = counters(profile)
    # What goes on while a profile is written, and those that are of it.
    moving = ("dumps", "dump_ns", "dump_failures", "bookkeeping_ns", "worker_cpu_ns",
              "producer_cpu_ns")
    for name, value in stats["counters"].items():
        before = in_profile.get(name, 0)
        if value < before or (value != before and stats["reason"] == "exit" and
                              name not in moving):
            yield "%s=%d, in the profile %d" % (name, value, before)
    for name in ("dumps", "dump_ns", "bookkeeping_ns", "unwinding_ns", "worker_cpu_ns",
                 "producer_cpu_ns"):
        if stats["counters"][name] == 0:
            yield "%s is 0" % name
    if not 0 < stats["ring_high_water_bytes"] <= stats["ring_bytes"]:
        yield "%d of %d bytes of the ring" % (stats["ring_high_water_bytes"], stats["ring_bytes"])
    if not 0 < stats["profiler_memory"] <= stats["profiler_memory_budget"] or \
            stats["resident"] == 0:
        yield "memory %s" % stats
    said = dict(re.findall(r"(\w+)=(\S+)", profile.comments[1]))
    wanted = {"exe": stats["program"], "pid": str(stats["pid"]), "reason": stats["reason"],
              "number": str(stats["number"])}
    if said != wanted:
        yield "%s, in the profile %s" % (wanted, said)
    if stats["time_ns"] != profile.time_nanos or stats["duration_ns"] != profile.duration_nanos:
        yield "another time than the profile's"


def differences(path, stats_path):
    profile = read_profile(path)
    with open(stats_path, encoding="utf-8") as file:
        stats = json.load(file)
    yield from form(stats)
    yield from sums(profile, stats)
    yield from agreement(profile, stats)
    if stats["program"] != "FILTERED" and stats["profile"] != path:
        yield "profile %s" % stats["profile"]


sys.exit(finish(differences(*sys.argv[1:])))
