#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nothing secret is in a profile.

    check_filter.py PROFILE RANGES KINDS TEXT...

RANGES: what victim_filter printed.  KINDS: the kinds of ranges that are secret, separated by
commas, or "none".  The decompressed bytes must have no varint that is an address in such a range,
and no TEXT.
"""
import gzip
import sys

from profile_facts import finish


def varints(data):
    """The varint at each byte, even if no number of the profile begins there."""
    for at in range(len(data)):
        value = 0
        for i, byte in enumerate(data[at:at + 10]):
            value |= (byte & 0x7f) << 7 * i
            if byte < 0x80:
                yield value
                break


def differences(path, ranges_path, kinds, texts):
    with gzip.open(path) as file:
        data = file.read()
    with open(ranges_path, encoding="ascii") as file:
        ranges = [line.split() for line in file]
    ranges = [(int(start, 0), int(end, 0), kind) for kind, start, end in ranges
              if kind in kinds.split(",")]
    if not ranges and kinds != "none":
        yield "no range of %s" % kinds
    for value in varints(data):
        for start, end, kind in ranges:
            if start <= value < end:
                yield "%#x of a secret %s is in the profile" % (value, kind)
    for text in texts:
        if text.encode() in data:
            yield "'%s' is in the profile" % text


sys.exit(finish(differences(*sys.argv[1:4], sys.argv[4:])))
