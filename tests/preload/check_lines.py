#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The innermost frames of the stacks that allocated blocks of a size, with their lines.

    check_lines.py PROFILE SIZE=NAME:LINE[,NAME:LINE...]...

Innermost first.  The file is that of the program, victim_lines.cc.
"""
import os
import sys

from profile_facts import finish, read_profile


def frames_of(profile, row):
    """[NAME:LINE...] of a sample; LINE is 0 if the file is not the program's."""
    functions = {function.id: function for function in profile.functions}
    locations = {location.id: location for location in profile.locations}
    for number in row.location_id:
        for line in locations[number].line:
            function = functions[line.function_id]
            is_own = os.path.basename(profile.text(function.filename)) == "victim_lines.cc"
            yield "%s:%d" % (profile.text(function.name), line.line if is_own else 0)


def differences(path, wanted):
    profile = read_profile(path)
    for item in wanted:
        size, _, text = item.partition("=")
        frames = text.split(",")
        found = [list(frames_of(profile, sample))[:len(frames)] for sample in profile.samples
                 if any(profile.text(label.key) == "bytes" and label.num == int(size)
                        for label in sample.label)]
        if found != [frames]:
            yield "%s bytes by %s, not %s" % (size, found, frames)


sys.exit(finish(differences(sys.argv[1], sys.argv[2:])))
