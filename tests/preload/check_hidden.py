#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where the frames that stand for hidden ones are in stacks.

    check_hidden.py PROFILE SIZE COUNT FRAME...

The samples of SIZE bytes are COUNT, in one row, whose innermost frames are FRAME....  There is one
function FILTERED with one location, in the mapping [heapsample], which has no build id.
"""
import sys

from profile_facts import finish, read_profile


def differences(path, size, count, frames):
    profile = read_profile(path)
    rows = [row for row in profile.rows() if row["labels"].get("bytes") == int(size)]
    if len(rows) != 1:
        yield "%d rows of %s bytes" % (len(rows), size)
    for row in rows:
        names = [frame["name"] for frame in row["stack"]]
        if names[:len(frames)] != frames or row["values"][0] != int(count):
            yield "%s times %s" % (row["values"][0], names)
    functions = [function.id for function in profile.functions
                 if profile.text(function.name) == "FILTERED"]
    locations = [location for location in profile.locations
                 if any(line.function_id in functions for line in location.line)]
    if len(functions) != 1 or len(locations) != 1:
        yield "%d functions FILTERED with %d locations" % (len(functions), len(locations))
    for location in locations:
        mapping = profile.mappings[location.mapping_id - 1]
        if (profile.text(mapping.filename), mapping.build_id) != ("[heapsample]", 0):
            yield "FILTERED is of %s" % profile.text(mapping.filename)


sys.exit(finish(differences(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])))
