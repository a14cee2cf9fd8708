#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The profile of a program that frees all it allocates, with a ring that has room for few samples.

    check_hammer.py PROFILE STATS TRUTH

STATS: the HEAPSAMPLE_STATS file.  TRUTH: {"objects": N, "bytes": N}, allocated by functions called
site_...; only their samples may be lost.  The interval is 1, so each allocation is a sample, which
is recorded or counted as lost.  Each recorded one has a free: nothing is in use.
"""
import json
import sys

from profile_facts import finish, read_profile, site_of

LOST = ("lost_ring", "lost_live_set", "lost_memory")


def allocated(profile, is_meant):
    """[objects, bytes] allocated by the stacks for which is_meant() holds."""
    rows = [row["values"] for row in profile.rows() if is_meant(row["stack"])]
    return [sum(values[i] for values in rows) for i in range(2)]


def has_frame(name):
    return lambda stack: any(frame["name"] == name for frame in stack)


def is_own(stack):
    return site_of(stack) is not None or has_frame("[lost]")(stack)


def in_use(profile):
    for row in profile.rows():
        if row["values"][2:] != [0, 0]:
            names = [frame["name"] for frame in row["stack"]]
            yield "%s in use by %s" % (row["values"][2:], names)


def sums(profile, counts, truth):
    lost = sum(counts[name] for name in LOST)
    for what, have, want in (
            ("allocated", allocated(profile, is_own), [truth["objects"], truth["bytes"]]),
            ("samples", counts["samples"], profile.totals()["alloc_objects"]),
            ("[lost]", allocated(profile, has_frame("[lost]"))[0], lost),
            ("[no stack]", allocated(profile, has_frame("[no stack]"))[0], counts["stackless"]),
            ("frees", counts["frees"],
             counts["samples"] - counts["lost_ring"] - counts["lost_live_set"])):
        if have != want:
            yield "%s: %s, not %s" % (what, have, want)


def few_have_room(counts):
    samples, lost, stackless = counts["samples"], counts["lost_ring"], counts["stackless"]
    print("%d samples: %.1f %% lost, %.1f %% without stack; %s" % (
        samples, 100 * lost / samples, 100 * stackless / samples,
        " ".join("%s=%d" % item for item in counts.items() if item[1] != 0)))
    if lost == 0 or stackless == 0 or 2 * (lost + stackless) < samples:
        yield "most samples have room"
    if counts["interval_raises"] != 0:
        yield "the interval rose"


def differences(path, stats_path, truth_path):
    profile = read_profile(path)
    with open(stats_path, encoding="utf-8") as file:
        counts = json.load(file)["counters"]
    with open(truth_path, encoding="ascii") as file:
        truth = json.load(file)
    yield from in_use(profile)
    yield from sums(profile, counts, truth)
    yield from few_have_room(counts)


sys.exit(finish(differences(*sys.argv[1:])))
