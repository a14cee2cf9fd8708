#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which functions allocated the blocks of a size.

    check_jit.py PROFILE SIZE OBJECTS LEAF [CALLER...]     all by this stack
    check_jit.py PROFILE SIZE OBJECTS                      by any stack

LEAF, CALLER: NAME or NAME@FILE:LINE (the function's first line), with the wildcards of a shell.
"""
import fnmatch
import sys

from profile_facts import finish, read_profile


def text_of(frame, wanted):
    if "@" not in wanted:
        return frame["name"]
    return "%s@%s:%d" % (frame["name"], frame["file"], frame["start_line"])


def differences(path, size, objects, *wanted):
    found = 0
    for row in read_profile(path).rows():
        if row["labels"].get("bytes") != int(size):
            continue
        stack = [text_of(*each) for each in zip(row["stack"], wanted)]
        if len(stack) != len(wanted) or not all(map(fnmatch.fnmatchcase, stack, wanted)):
            yield "%s: %s bytes: %s, not %s" % (path, size, stack, list(wanted))
        found += row["values"][0]
    if found != int(objects):
        yield "%s: %s bytes: %d objects, not %s" % (path, size, found, objects)


sys.exit(finish(differences(*sys.argv[1:])))
