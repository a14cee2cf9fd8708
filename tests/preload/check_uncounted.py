#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""victim_uncounted's libraries a and b allocated 200 times each, at the same addresses.

    check_uncounted.py PROFILE
"""
import collections
import sys

from profile_facts import counters, finish, read_profile

CALLS = 200


def differences(path):
    profile = read_profile(path)
    found = collections.Counter()
    for row in profile.rows():
        names = [frame["name"] for frame in row["stack"]]
        if "library_call" in names:
            found[names[0]] += row["values"][0]
    if found != {"a_allocates": CALLS, "b_allocates": CALLS}:
        yield "allocations by function: %s" % dict(found)
    if counters(profile).get("walked", 0) < CALLS / 4:
        yield "only %d stacks are walked" % counters(profile).get("walked", 0)


sys.exit(finish(differences(sys.argv[1])))
