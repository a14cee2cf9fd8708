#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare in-use bytes of several runs with the counts of count_live.c just before.

    check_live.py PERCENT {PROFILE COUNT}...

COUNT: a file "OBJECTS BYTES".  The mean of the ratios must be within PERCENT of 1.
"""
import sys

from profile_facts import finish, read_profile


def differences(percent, pairs):
    ratios = []
    for path, count_path in pairs:
        found = read_profile(path).totals()["inuse_space"]
        with open(count_path, encoding="ascii") as file:
            truth = int(file.read().split()[1])
        print("in use %d, counted %d: %+.2f %%" % (found, truth, 100 * (found / truth - 1)))
        ratios.append(found / truth)
    mean = sum(ratios) / len(ratios)
    print("mean of %d runs: %+.2f %%" % (len(ratios), 100 * (mean - 1)))
    if abs(mean - 1) * 100 > percent:
        yield "the mean is off by more than %s %%" % percent


FILES = sys.argv[2:]
sys.exit(finish(differences(float(sys.argv[1]), list(zip(FILES[::2], FILES[1::2])))))
