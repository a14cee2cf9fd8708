#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the estimates of several runs with the truth, and their spread with theory.

    check_estimates.py INTERVAL TRUTH PROFILE...

TRUTH: lines "SIZE KEPT", one per allocation of site_estimate.  KEPT: 1 if it stays in use, else 0.

Each allocation is sampled independently with p = 1 - (1 - 1/interval)^max(size, 1); a sample
counts as 1/p allocations.  So a sum of values has the variance sum(value^2 * (1 - p) / p).  The
mean of the runs must be within 3 standard errors of the truth.  The sum of the squared deviations
from their mean, in units of that variance, must not exceed the 99.9 % point of chi-square.
"""
import math
import sys

from profile_facts import VALUES, finish, read_profile, sums_by_site

# 99.9 % points by degrees of freedom, which are runs - 1.
CHI_SQUARE = {9: 27.88, 19: 43.82, 29: 58.30}

# The values of a profile's rows are rounded to whole numbers.
ROUNDING = 1.0


def truth_of(path, interval):
    """For each of VALUES: (sum, variance of its estimate)."""
    sums, variances = [0] * 4, [0.0] * 4
    with open(path, encoding="ascii") as file:
        for line in file:
            size, kept = map(int, line.split())
            # By expm1 and log1p: a power of 1 - 1/interval is not exact enough.
            p = 1.0 if interval == 1 else -math.expm1(max(size, 1) * math.log1p(-1 / interval))
            for i, value in enumerate((1, size, kept, kept * size)):
                sums[i] += value
                variances[i] += value * value * (1 - p) / p
    return list(zip(sums, variances))


def compare(name, truth, variance, found):
    mean = sum(found) / len(found)
    error = math.sqrt(variance / len(found))
    spread = sum((value - mean) ** 2 for value in found) / max(variance, 1e-9)
    print("%-14s truth %d, mean %.0f (%+.2f standard errors), chi-square %.1f"
          % (name, truth, mean, (mean - truth) / max(error, 1e-9), spread))
    if abs(mean - truth) > 3 * error + ROUNDING:
        yield "%s: the mean is off by more than 3 standard errors of %.1f" % (name, error)
    if spread > CHI_SQUARE[len(found) - 1] and variance > ROUNDING ** 2:
        yield "%s: the runs are more spread than sampling explains" % name


def differences(interval, truth_path, paths):
    sums = [sums_by_site([read_profile(path)]).get("site_estimate", [0] * 4) for path in paths]
    if len({tuple(each) for each in sums}) < 2:
        yield "all runs give the same: %s" % sums[:1]
    for i, (truth, variance) in enumerate(truth_of(truth_path, interval)):
        yield from compare(VALUES[i], truth, variance, [each[i] for each in sums])


sys.exit(finish(differences(int(sys.argv[1]), sys.argv[2], sys.argv[3:])))
