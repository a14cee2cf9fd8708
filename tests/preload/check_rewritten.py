#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What victim_rewritten's libraries a and b allocated.

    check_rewritten.py PROFILE FILE

FILE: the name of the file that had a's contents first and has b's now.  So frames of b have
function names, and those of a are FILE+0xOFFSET.  All stacks reach _start.
"""
import sys

from profile_facts import finish, read_profile

NAMES = {40: "", 41: "", 80: "b_allocates", 81: "b_ends"}


def differences(path, file):
    seen = dict.fromkeys(NAMES, 0)
    for row in read_profile(path).rows():
        names = [frame["name"] for frame in row["stack"]]
        size = row["labels"].get("bytes")
        if size not in NAMES or not (names[0].startswith(("a_", "b_", file))):
            continue
        seen[size] += row["values"][0]
        if not (names[0] == NAMES[size] if NAMES[size] else names[0].startswith(file + "+0x")):
            yield "%d bytes in %s" % (size, ";".join(names))
        if names[-1] != "_start":
            yield "%d bytes: the stack ends: %s" % (size, ";".join(names))
    if seen != dict.fromkeys(NAMES, 1):
        yield "allocations by size: %s" % seen


sys.exit(finish(differences(*sys.argv[1:])))
