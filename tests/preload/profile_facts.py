# SPDX-License-Identifier: BSD-2-Clause
"""Facts about a profile that several checkers of this directory need."""
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
    """The counts in the comments, {name: count}.  Counts of 0 may be missing."""
    return {name: int(value) for line in profile.comments
            for name, value in re.findall(r"\b([a-z_]+)[=:] ?(\d+)\b", line)}


def losses(profile):
    """A line for each count of samples that were lost or are less exact than they should be."""
    counts = counters(profile)
    for name in LOSSES:
        if counts.get(name, 0) != 0:
            yield "%s=%d" % (name, counts[name])


def site_of(stack, prefix="site_"):
    """The name of the innermost function called site_..., or None."""
    for frame in stack:
        # A local function may carry the compiler's suffix.
        match = re.match(r"(%s\w+)" % prefix, frame["name"] or "")
        if match:
            return match.group(1)
    return None


def sums_by_site(profiles):
    """{site: [four sums]} of all stacks with a site."""
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
