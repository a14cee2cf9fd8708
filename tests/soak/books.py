# SPDX-License-Identifier: BSD-2-Clause
"""Whether a profile, with its statistics, is what the program says of itself.

With interval 1 each sum of each site and size is to be that of the truth.  Above, an allocation
is sampled with p = 1 - (1 - 1/interval)^max(size, 1), independently of all others, and counts 1/p
then; so an estimate is a sum of independent terms of mean 0, of which all is known.  By
Bernstein's inequality it is off by more than bound() with a probability of CHANCE, whatever the
sizes and however few the samples.  A run makes some million comparisons.
"""
import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "preload"))
from profile_facts import LOSSES, VALUES, read_profile, site_of  # noqa: E402,F401
from pprof_rules import violations  # noqa: E402

CHANCE = 1e-13

# None of these is to be counted where a program's threads wait for room.  sequence_gaps may: a
# thread that was not let run for a tenth of a second between a number and its delivery, which
# comes to the books all the same.
DROPS = tuple(name for name in LOSSES if name != "sequence_gaps") + ("stale", "superseded", "unwind_no_engine", "map_read_failures", "interval_raises",
                  "close_waits_expired", "dump_failures")


def probability(size, interval):
    return 1.0 if interval == 1 else -math.expm1(max(size, 1) * math.log1p(-1 / interval))


class Estimate:
    """The truth of a sum, and how far its estimate may be from it."""

    def __init__(self):
        self.truth, self.variance, self.largest, self.rounding = 0, 0.0, 0.0, 0

    def add(self, count, value, p):
        """count objects of this value."""
        self.truth += count * value
        self.variance += count * value * value * (1 - p) / p
        if count > 0 and p < 1:
            self.largest = max(self.largest, value * max(1, 1 / p - 1))

    def bound(self):
        """What rows were rounded by, and what sampling explains."""
        if self.largest == 0:
            return self.rounding
        logarithm = math.log(2 / CHANCE)
        part = self.largest * logarithm / 3
        return self.rounding + part + math.sqrt(part ** 2 + 2 * self.variance * logarithm)


def size_of(row, sizes):
    """A row's label is the least size that goes there."""
    label = row["labels"].get("bytes", 0)
    return min((size for size in sizes if size >= label), default=label)


def rows_by_site(profile, sizes):
    """{(site, size): [rows, four sums]}."""
    found = {}
    for row in profile.rows():
        site = site_of(row["stack"])
        if site is not None:
            total = found.setdefault((site, size_of(row, sizes)), [0] * 5)
            total[0] += 1
            for i, value in enumerate(row["values"]):
                total[1 + i] += value
    return found


def numbers_of(truth):
    """{(site, size): (allocated, in use)} of a line of the program's."""
    return {(site, int(size)): numbers for site, sizes in truth["sites"].items()
            for size, numbers in sizes.items()}


def sizes_of(truth):
    return {size for _, size in truth}


def estimates(truth, rows, interval):
    """Yields (what, found, Estimate) for each site and size, each site, and everything."""
    sums = {}
    for key, (allocated, in_use) in truth.items():
        p = probability(key[1], interval)
        row_count, *found = rows.get(key, [0] * 5)
        for group in (key, (key[0],), ()):
            for i, (count, value) in enumerate(((allocated, 1), (allocated, key[1]), (in_use, 1),
                                                (in_use, key[1]))):
                total = sums.setdefault((group, i), [0, Estimate()])
                total[0] += found[i]
                total[1].add(count, value, p)
                total[1].rounding += row_count if interval > 1 else 0
    for (group, i), (found, estimate) in sums.items():
        yield "%s %s" % (" ".join(map(str, group)) or "in all", VALUES[i]), found, estimate


def books(profile, truth, interval):
    """Lines about what differs; how many sums were compared is added to counted[0]."""
    truth = numbers_of(truth)
    rows = rows_by_site(profile, sizes_of(truth))
    for site, size in rows.keys() - truth.keys():
        yield "%s of %s bytes is in the profile only: %s" % (site, size, rows[site, size])
    for what, found, estimate in estimates(truth, rows, interval):
        if abs(found - estimate.truth) > estimate.bound():
            yield "%s: %d, not %d (+- %d)" % (what, found, estimate.truth, estimate.bound())


def deviation(profile, truth, interval):
    """By how many standard deviations the bytes allocated in all are off; 0 if they have none."""
    truth = numbers_of(truth)
    rows = rows_by_site(profile, sizes_of(truth))
    for what, found, estimate in estimates(truth, rows, interval):
        if what == "in all " + VALUES[1] and estimate.variance > 0:
            return (found - estimate.truth) / math.sqrt(estimate.variance)
    return 0.0


def between(profile, before, after):
    """Of a profile of interval 1, written between two lines of truth, by a program at work."""
    before, after = numbers_of(before), numbers_of(after)
    rows = rows_by_site(profile, sizes_of(after))
    for key, (allocated, _) in after.items():
        found = rows.get(key, [0] * 5)[1]
        if not before[key][0] <= found <= allocated:
            yield "%s: %d allocated, not %d to %d" % (key, found, before[key][0], allocated)


def samples_in(profile, sizes, interval):
    """How many samples there are in the rows, all and in use, and how far that may be off."""
    counts, doubt = [0.0, 0.0], 1.0
    for row in profile.rows():
        for i in (0, 2):
            objects, size_sum = row["values"][i:i + 2]
            if interval == 1:
                count = objects
            elif site_of(row["stack"]) is None:
                # Of sizes that are not quite the same.
                count = objects * probability(size_sum / max(objects, 1), interval)
                doubt += count / 100
            else:
                # By the bytes, of which rounding takes next to nothing; of size 0 there are none.
                size = size_of(row, sizes)
                count = round((size_sum / size if size > 0 else objects) *
                              probability(size, interval))
            counts[i // 2] += count
    return counts, doubt


def counts(profile, truth, stats, interval):
    """Each sample is in a row; each has been freed or is in use; none is lost."""
    counters = stats["counters"]
    for name in DROPS:
        if counters[name] != 0:
            yield "%s=%d" % (name, counters[name])
    (sampled, in_use), doubt = samples_in(profile, sizes_of(numbers_of(truth)), interval)
    if abs(sampled - counters["samples"]) >= doubt:
        yield "%d samples, but %d in the profile" % (counters["samples"], sampled)
    if abs(in_use - counters["samples"] + counters["frees"]) >= doubt:
        yield "%d samples and %d frees, but %d in use" % (counters["samples"], counters["frees"],
                                                          in_use)
