# SPDX-License-Identifier: BSD-2-Clause
"""Finds out whether something grows that should not, over a long time.

The program's own memory does not count: figures are taken where the program has none in use, as
happens again and again.
"""
import collections
import os
import statistics
import time

WARM_UP = 0.25   # share that is left out: buffers, tables and the allocator's arenas still grow
FEWEST = 12      # with fewer figures there is no verdict
GROWTH = 0.03    # allowed from the first third of the rest to its last third
TRIES = 40
SLACK = {"resident": 2 << 20, "profiler_memory": 256 << 10}


def count_descriptors(pid):
    """Does not count pipes of which the process has both ends: some releases of libunwind make one
    at their first frame, whenever that comes."""
    count, pipes = 0, collections.Counter()
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            target = os.readlink("/proc/%d/fd/%s" % (pid, name))
        except FileNotFoundError:
            continue
        if target.startswith("pipe:"):
            pipes[target] += 1
        else:
            count += 1
    return count + sum(1 for ends in pipes.values() if ends == 1)


def of_process(pid):
    """Numbers of descriptors, threads and resident bytes of a process at rest."""
    with open("/proc/%d/statm" % pid, encoding="ascii") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"descriptors": count_descriptors(pid),
            "threads": len(os.listdir("/proc/%d/task" % pid)), "resident": resident}


class Watch:
    def __init__(self):
        self.figures = {}

    def add(self, name, value):
        self.figures.setdefault(name, []).append(value)

    def look_at(self, pid):
        """Figures of the process; waits for the end of a profile that is being written."""
        found, tries = of_process(pid), TRIES
        usual = max(self.figures.get("descriptors", [found["descriptors"]])[:2])
        while found["descriptors"] > usual and tries > 0:
            time.sleep(0.05)
            found, tries = of_process(pid), tries - 1
        return found

    def ends(self, name):
        """The medians of the first and last third after the warm-up; None: too few figures."""
        values = self.figures.get(name, [])
        values = values[int(len(values) * WARM_UP):]
        third = len(values) // 3
        if len(values) < FEWEST:
            return None
        return statistics.median(values[:third]), statistics.median(values[-third:])

    def growth(self):
        for name in ("descriptors", "threads"):
            values = self.figures.get(name, [0])
            # At the second look at the latest the profiler's own threads are there.
            if max(values) > max(values[:2]):
                yield name, "%s: %d at first, then %d" % (name, max(values[:2]), max(values))
        for name, slack in SLACK.items():
            ends = self.ends(name)
            if ends and ends[1] > ends[0] * (1 + GROWTH) + slack:
                yield name, "%s grows: %d bytes, then %d" % (name, ends[0], ends[1])
