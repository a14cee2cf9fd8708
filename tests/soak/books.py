# SPDX-License-Identifier: BSD-2-Clause
"""Compares a profile and its statistics with the numbers that the program has counted (the truth).

With interval 1 each sum of each site and size must be exact.  With a larger interval an allocation
is sampled with p = 1 - (1 - 1/interval)^max(size, 1), independently of all others, and then counts
1/p.  So an estimate's error is a sum of independent terms of mean 0 whose distribution is known.
By Bernstein's inequality it is larger than bound() with a probability of at most CHANCE, whatever
the sizes are and however few the samples.  A run makes some million comparisons.
"""
import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "preload"))
from profile_facts import LOSSES, VALUES, read_profile, site_of  # noqa: E402,F401
from pprof_rules import violations  # noqa: E402

CHANCE = 1e-13

# These must all be 0 if the program's threads wait for room.  sequence_gaps need not be: it counts
# threads that did not get to run for a tenth of a second after they had taken a number; what they
# deliver then still reaches the books.
DROPS = tuple(name for name in LOSSES if name != "sequence_gaps") + (
    "stale", "superseded", "unwind_no_engine", "map_read_failures", "interval_raises",
    "close_waits_expired", "dump_failures")


def probability(size, interval):
    return 1.0 if interval == 1 else -math.expm1(max(size, 1) * math.log1p(-1 / interval))


class Estimate:
    """The truth of a sum, and how far its estimate may be from it."""

    def __init__(self):
        self.truth, self.variance, self.largest, self.rounding = 0, 0.0, 0.0, 0

    def add(self, count, value, p):
        """Adds count objects of this value."""
        self.truth += count * value
        self.variance += count * value * value * (1 - p) / p
        if count > 0 and p < 1:
            self.largest = max(self.largest, value * max(1, 1 / p - 1))

    def bound(self):
        """How far off the estimate may be: by the rounding of rows and by sampling."""
        if self.largest == 0:
            return self.rounding
        logarithm = math.log(2 / CHANCE)
        part = self.largest * logarithm / 3
        return self.rounding + part + math.sqrt(part ** 2 + 2 * self.variance * logarithm)


def size_of(row, sizes):
    """The size that a row is of.  Its label is a lower bound: it is the next size from there."""
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
    """{(site, size): (allocated, in use)}, from a line of the program's output."""
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
    """Yields a line for each sum of the profile that is too far from the truth."""
    truth = numbers_of(truth)
    rows = rows_by_site(profile, sizes_of(truth))
    for site, size in rows.keys() - truth.keys():
        yield "%s of %s bytes is in the profile only: %s" % (site, size, rows[site, size])
    for what, found, estimate in estimates(truth, rows, interval):
        if abs(found - estimate.truth) > estimate.bound():
            yield "%s: %d, not %d (+- %d)" % (what, found, estimate.truth, estimate.bound())


def deviation(profile, truth, interval):
    """By how many standard deviations the sum of all allocated bytes is off; 0 if it has none."""
    truth = numbers_of(truth)
    rows = rows_by_site(profile, sizes_of(truth))
    for what, found, estimate in estimates(truth, rows, interval):
        if what == "in all " + VALUES[1] and estimate.variance > 0:
            return (found - estimate.truth) / math.sqrt(estimate.variance)
    return 0.0


def between(profile, before, after):
    """What is wrong with a profile of interval 1 that a working program wrote between two lines."""
    before, after = numbers_of(before), numbers_of(after)
    rows = rows_by_site(profile, sizes_of(after))
    for key, (allocated, _) in after.items():
        found = rows.get(key, [0] * 5)[1]
        if not before[key][0] <= found <= allocated:
            yield "%s: %d allocated, not %d to %d" % (key, found, before[key][0], allocated)


def samples_in(profile, sizes, interval):
    """How many samples the rows stand for, [all, in use], and how inexact these numbers are."""
    counts, doubt = [0.0, 0.0], 1.0
    for row in profile.rows():
        for i in (0, 2):
            objects, size_sum = row["values"][i:i + 2]
            if interval == 1:
                count = objects
            elif site_of(row["stack"]) is None:
                # Such a row may be of several, similar sizes.
                count = objects * probability(size_sum / max(objects, 1), interval)
                doubt += count / 100
            else:
                # From the bytes, which rounding hardly changes; size 0 has none.
                size = size_of(row, sizes)
                count = round((size_sum / size if size > 0 else objects) *
                              probability(size, interval))
            counts[i // 2] += count
    return counts, doubt


def counts(profile, truth, stats, interval):
    """What is wrong with the counts: each sample must be in a row, and freed or in use."""
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
