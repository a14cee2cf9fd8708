# SPDX-License-Identifier: BSD-2-Clause
"""Functions that several checkers of this directory share."""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from pprof_read import read_profile  # noqa: E402,F401

VALUES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
LOSSES = ("stackless", "lost_ring", "lost_live_set", "lost_memory", "abandoned", "sequence_gaps",
          "block_expired", "records_damaged")


def counters(profile):
    """The counters in the comments, {name: count}.  Those that are 0 may be missing."""
    return {name: int(value) for line in profile.comments
            for name, value in re.findall(r"\b([a-z_]+)[=:] ?(\d+)\b", line)}


def losses(profile):
    """A line for each counter of lost or damaged samples that is not 0."""
    counts = counters(profile)
    for name in LOSSES:
        if counts.get(name, 0) != 0:
            yield "%s=%d" % (name, counts[name])


def site_of(stack, prefix="site_"):
    """The name of the innermost function called site_..., or None."""
    for frame in stack:
        # The compiler may have added a suffix, as .constprop.0.
        match = re.match(r"(%s\w+)" % prefix, frame["name"] or "")
        if match:
            return match.group(1)
    return None


def sums_by_site(profiles):
    """{site: [sums of VALUES]} of all stacks with a site."""
    sums = {}
    for profile in profiles:
        for row in profile.rows():
            site = site_of(row["stack"])
            if site is not None:
                total = sums.setdefault(site, [0] * len(VALUES))
                for i, value in enumerate(row["values"]):
                    total[i] += value
    return sums


def finish(lines):
    """Prints what is wrong, at most 20 lines.  Returns the status for sys.exit."""
    lines = list(lines)
    for line in lines[:20]:
        print(line)
    return 1 if lines else 0
