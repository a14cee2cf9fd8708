#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of heaps that the program reports.

    check_heaps.py sums FILE HEAP:SITE=O,B,O,B...   the four sums of all sites; malloc: HEAP is ""
    check_heaps.py near FILE TRUTH PERCENT          TRUTH: lines "HEAP:SITE BYTES IN-USE-BYTES"
    check_heaps.py freed FILE HEAP                  something was allocated, nothing is in use
    check_heaps.py period FILE BYTES                the profile's period
"""
import sys

from profile_facts import finish, read_profile, site_of


def sums(path):
    found = {}
    for row in read_profile(path).rows():
        site = site_of(row["stack"])
        if site is None:
            continue
        total = found.setdefault(row["labels"].get("heap", "") + ":" + site[len("site_"):],
                                 [0, 0, 0, 0])
        for i, value in enumerate(row["values"]):
            total[i] += value
    return found


def command_sums(path, *wanted):
    expected = {}
    for each in wanted:
        name, _, values = each.partition("=")
        expected[name] = [int(value) for value in values.split(",")]
    found = sums(path)
    for name in sorted(set(found) | set(expected)):
        if found.get(name) != expected.get(name):
            yield "%s: %s has %s, not %s" % (path, name, found.get(name), expected.get(name))


def command_near(path, truth, percent):
    found = sums(path)
    with open(truth, encoding="utf-8") as file:
        for line in file:
            name, bytes_, in_use = line.split()
            for got, wanted in zip((found[name][1], found[name][3]), (int(bytes_), int(in_use))):
                if abs(got - wanted) * 100 > wanted * float(percent):
                    yield "%s: %s: %d is not near %d" % (path, name, got, wanted)


def command_freed(path, heap):
    rows = [row for row in read_profile(path).rows() if row["labels"].get("heap") == heap]
    if not any(row["values"][0] for row in rows):
        yield "%s: nothing of %s" % (path, heap)
    for row in rows:
        if row["values"][2] or row["values"][3]:
            yield "%s: in use: %s" % (path, row)


def command_period(path, wanted):
    period = read_profile(path).period
    if period != int(wanted):
        yield "%s: the period is %d, not %s" % (path, period, wanted)


if __name__ == "__main__":
    sys.exit(finish(globals()["command_" + sys.argv[1]](*sys.argv[2:])))
