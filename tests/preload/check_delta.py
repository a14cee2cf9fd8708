#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The profiles of a run with HEAPSAMPLE_DELTA add up, row by row, to the last profile of the same
program without it.

    check_delta.py WHOLE STATS DIFFERENCE...     in the order in which they were written

STATS: the HEAPSAMPLE_STATS file of the last DIFFERENCE.
"""
import json
import os
import sys

from profile_facts import VALUES, finish, losses, read_profile


def is_delta(profile):
    return any(comment.endswith(" delta") for comment in profile.comments)


def sums_by_row(profiles):
    sums = {}
    for profile in profiles:
        for row in profile.rows():
            stack = tuple((os.path.basename(frame["mapping"]), frame["offset"], frame["name"])
                          for frame in row["stack"])
            key = (stack, tuple(sorted(row["labels"].items())))
            total = sums.setdefault(key, [0] * len(VALUES))
            for i, value in enumerate(row["values"]):
                total[i] += value
    return {key: total for key, total in sums.items() if any(total)}


def differences(whole_path, stats_path, paths):
    whole = read_profile(whole_path)
    parts = [read_profile(path) for path in paths]
    with open(stats_path, encoding="utf-8") as file:
        stats = json.load(file)
    if is_delta(whole):
        yield "%s is of differences" % whole_path
    for path, part in zip(paths, parts):
        yield from losses(part)
        if not is_delta(part):
            yield "%s is not of differences" % path
    if not any(value < 0 for part in parts for row in part.rows() for value in row["values"]):
        yield "nothing is below 0"
    want, have = sums_by_row([whole]), sums_by_row(parts)
    if len(want) < 500:
        yield "%d rows only" % len(want)
    for key in sorted(want.keys() | have.keys(), key=repr):
        if want.get(key) != have.get(key):
            yield "%s, not %s: %s" % (have.get(key), want.get(key), key)
    # Each difference begins where the one before ends; the statistics cover the whole run.
    duration = sum(part.duration_nanos for part in parts)
    if stats["duration_ns"] != duration:
        yield "durations: %d together, %d in all" % (duration, stats["duration_ns"])
    for i, name in enumerate(VALUES):
        total = sum(values[i] for values in want.values())
        said = sum(heap[name] for heap in stats["heaps"])
        if said != total:
            yield "statistics: %s=%d, not %d" % (name, said, total)


sys.exit(finish(differences(sys.argv[1], sys.argv[2], sys.argv[3:])))
