#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks are cut at HEAPSAMPLE_DEPTH frames, end in [truncated] and are counted.  Some were walked
in place.

    check_depth.py PROFILE DEPTH
"""
import sys

from profile_facts import counters, finish, read_profile


def differences(path, depth):
    profile = read_profile(path)
    counts, cut = counters(profile), 0
    for row in profile.rows():
        names = [frame["name"] for frame in row["stack"]]
        cut += row["values"][0] if names[-1] == "[truncated]" else 0
        if len(names) > depth + (names[-1] == "[truncated]") or "[truncated]" in names[:-1] or \
                names[-1] == "[truncated]" and len(names) != depth + 1:
            yield "not cut at %d frames: %s" % (depth, " ".join(names))
    if cut != counts.get("depth_truncated", 0) or cut == 0:
        yield "%d are cut, depth_truncated is %s" % (cut, counts.get("depth_truncated", 0))
    if counts.get("walked", 0) <= counts["samples"] - cut:
        yield "of %d cut stacks none is walked in place" % cut


sys.exit(finish(differences(sys.argv[1], int(sys.argv[2]))))
