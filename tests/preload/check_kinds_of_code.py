#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""All that victim_kinds_of_code allocated is under the right functions, for us and for pprof.

    check_kinds_of_code.py PROFILE TOP LEAF...

TOP: the output of `go tool pprof -top` for alloc_space.  "-" instead of either: only the other.
"""
import re
import sys

from profile_facts import finish, read_profile

BYTES = 64 * 100000
UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20}


def our_view(path):
    """{name of the innermost frame: bytes allocated}"""
    sums = {}
    for row in read_profile(path).rows():
        name = row["stack"][0]["name"]
        sums[name] = sums.get(name, 0) + row["values"][1]
    return sums


def pprof_view(path):
    """The same from the lines of TOP: flat flat% sum% cum cum% name."""
    sums = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r" *([0-9.]+)([kM]?B) +\S+% +\S+% +\S+ +\S+% +(.*?)(?: \(inline\))?$",
                             line)
            if match:
                sums[match.group(3)] = float(match.group(1)) * UNITS[match.group(2)]
    return sums


def differences(view, sums, leaves):
    for leaf in leaves:
        # pprof rounds to two digits.
        if not 0.98 * BYTES <= sums.get(leaf, 0) <= 1.02 * BYTES:
            yield "%s: %s allocated %d bytes, not %d: %s" % (view, leaf, sums.get(leaf, 0), BYTES,
                                                            sums)


def main(path, top, *leaves):
    if path != "-":
        yield from differences("ours", our_view(path), leaves)
    if top != "-":
        yield from differences("pprof", pprof_view(top), leaves)


sys.exit(finish(main(*sys.argv[1:])))
