#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Of victim_large_stacks the first stack is cut, because nothing is known yet; others are whole.

    check_large_stacks.py PROFILE
"""
import collections
import sys

from profile_facts import counters, finish, read_profile

LEVELS, FUNCTIONS = 100, 10


def differences(path):
    profile = read_profile(path)
    found = collections.Counter()
    for row in profile.rows():
        names = [frame["name"] for frame in row["stack"]]
        if "descend" not in names:
            continue
        if names.count("descend") == LEVELS and "main" in names and "[truncated]" not in names:
            outer = [name for name in names if name.startswith("outermost_")]
        else:
            outer = names[-1:]
        found[" ".join(outer)] += row["values"][0]
    wanted = {"outermost_%d" % number: 1 for number in range(FUNCTIONS)}
    wanted["[truncated]"] = 1
    if found != wanted:
        yield "stacks are not as expected: %s" % dict(found)
    if counters(profile)["stack_truncated"] != 1:
        yield "stack_truncated is %d" % counters(profile)["stack_truncated"]


sys.exit(finish(differences(sys.argv[1])))
