#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The functions that allocated the blocks of a size, by name and linkage name.

    check_names.py PROFILE SIZE=NAME[=LINKAGE-NAME]...

NAME "FILE+": the frame has no function, and is called FILE+0xOFFSET.
"""
import re
import sys

from profile_facts import finish, read_profile


def differences(path, wanted):
    profile = read_profile(path)
    for item in wanted:
        size, name, *linkage = item.split("=")
        leaves = [row["stack"][0] for row in profile.rows()
                  if row["labels"].get("bytes") == int(size)]
        if not leaves:
            yield "no allocation of %s bytes" % size
        for frame in leaves:
            if name.endswith("+"):
                if not re.fullmatch(re.escape(name) + "0x[0-9a-f]+", frame["name"]):
                    yield "%s bytes by %s, not %s0x..." % (size, frame["name"], name)
            elif (frame["name"], frame["system_name"]) != (name, (linkage or [name])[0]):
                yield "%s bytes by %s (%s), not %s" % (size, frame["name"],
                                                       frame["system_name"], item)


sys.exit(finish(differences(sys.argv[1], sys.argv[2:])))
