#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the profile of victim_unload with what it counted.

    check_unload.py PROFILE COUNTS TURNS

COUNTS: what it printed.  Each library allocates its own sizes: no sample of another size has a name
of its functions.  At least 99 % of a function's allocations have its name, and a stack up to the
thread's or the program's start.  In at least half of the turns the second library was where the
first had been.
"""
import json
import sys

from profile_facts import finish, read_profile

SIZES = {"a_allocates": 40, "b_allocates": 80, "c_allocates": 120,
         "a_ends": 41, "b_ends": 81, "c_ends": 121}
ROOTS = ("clone", "__clone", "start_thread", "_start")


def differences(path, counts_path, turns):
    profile = read_profile(path)
    roots = ROOTS
    # Where libc's symbols do not name the function in which threads begin.
    if not any(frame["name"].startswith(ROOTS[:-1]) for row in profile.rows()
               for frame in row["stack"]):
        roots += ("libc.so",)
    with open(counts_path, encoding="ascii") as file:
        counts = json.load(file)
    if counts["same_address"] < turns / 2:
        yield "only %d of %d turns were at the same address" % (counts["same_address"], turns)
    named = dict.fromkeys(SIZES, 0)
    whole = dict.fromkeys(SIZES, 0)
    for row in profile.rows():
        names = [frame["name"] for frame in row["stack"]]
        for name in set(names) & SIZES.keys():
            if row["labels"].get("bytes") != SIZES[name]:
                yield "%d samples of %s bytes in %s" % (
                    row["values"][0], row["labels"].get("bytes"), ";".join(names))
        if names[0] in SIZES:
            named[names[0]] += row["values"][0]
            if names[-1].startswith(roots):
                whole[names[0]] += row["values"][0]
    for name in sorted(SIZES):
        print("%s: %d of %d by name, %d to the root" %
              (name, named[name], counts[name], whole[name]))
        if named[name] < 0.99 * counts[name] or named[name] > counts[name]:
            yield "%s: %d samples of %d" % (name, named[name], counts[name])
        if whole[name] < 0.99 * counts[name]:
            yield "%s: %d stacks of %d reach the root" % (name, whole[name], counts[name])


sys.exit(finish(differences(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
