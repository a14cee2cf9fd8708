#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each frame has a name and none is of libheapsample; stacks end where threads begin.

    check_stacks.py PERCENT PROFILE...     PERCENT: the least share of samples with such a root
"""
import os
import re
import sys

from profile_facts import finish, read_profile

ROOTS = {"main", "_start", "start_thread", "clone", "clone3", "__clone", "__clone3",
         "__libc_start_main", "__libc_start_call_main", "_dl_start_user"}


def is_root(frame, main_binary):
    """FILE+0xOFFSET counts as a root in the program, which may be stripped, and in libc."""
    if frame["name"] in ROOTS or re.match(r"__libc_start_main(@|$)", frame["name"] or ""):
        return True
    file = os.path.basename(frame["mapping"] or "")
    unnamed = re.match(re.escape(file) + r"\+0x[0-9a-f]+$", frame["name"] or "")
    return bool(unnamed) and (frame["mapping"] == main_binary or file.startswith("libc.so"))


def differences(percent, path):
    profile = read_profile(path)
    main_binary = profile.text(profile.mappings[0].filename)
    good = total = 0
    other = {}
    for row in profile.rows():
        for frame in row["stack"]:
            if not frame["name"]:
                yield "%s: a frame without a name: %s" % (path, frame)
            if os.path.basename(frame["mapping"] or "").startswith("libheapsample"):
                yield "%s: a frame of the library's: %s" % (path, frame)
        root = row["stack"][-1]
        objects = row["values"][0]
        total += objects
        if is_root(root, main_binary):
            good += objects
        else:
            other[root["name"]] = other.get(root["name"], 0) + objects
    share = 100 * good / max(total, 1)
    print("%.2f %% of %d samples end in main, a thread's start or _start; others: %s"
          % (share, total, other))
    if share < percent:
        yield "%s: that is less than %s %%" % (path, percent)


sys.exit(finish(line for path in sys.argv[2:] for line in differences(float(sys.argv[1]), path)))
