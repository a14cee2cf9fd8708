#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks through code that was copied by hand: see victim_map_hint.

    check_map_hint.py PROFILE SIZE COUNT FRAME...

The allocations of SIZE bytes are COUNT, and each was made by the frames given, innermost
first, which are called by run_code(), main() and the start of the program.  A FRAME that ends
in "+" is one without a function's name: of that file, and an offset.
"""
import re
import sys

from profile_facts import finish, read_profile

CALLERS = ["run_code", "main"]


def is_like(name, wanted):
    if wanted.endswith("+"):
        return re.fullmatch(re.escape(wanted) + "0x[0-9a-f]+", name) is not None
    return name == wanted


def differences(path, size, count, wanted):
    found = 0
    for row in read_profile(path).rows():
        names = [frame["name"] or "" for frame in row["stack"]]
        if row["labels"].get("bytes") != size or "run_code" not in names:
            continue
        found += row["values"][0]
        frames = ["allocate_for_code"] + wanted + CALLERS
        if len(names) <= len(frames) or not all(map(is_like, names, frames)):
            yield "%d allocations of %d bytes by %s" % (row["values"][0], size, ";".join(names))
    if found != count:
        yield "%d allocations of %d bytes by run_code(), not %d" % (found, size, count)


sys.exit(finish(differences(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])))
