#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks through code that was copied by hand: see victim_map_hint.c.

    check_map_hint.py PROFILE SIZE COUNT FRAME...

COUNT allocations of SIZE bytes were made through run_code().  Each has the stack
allocate_for_code(), FRAME..., run_code(), main(), and one frame or more below.  FRAME "FILE+":
it has no function, and is called FILE+0xOFFSET.
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
