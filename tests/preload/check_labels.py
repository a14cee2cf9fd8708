#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The four sums of samples by the labels that the program has set.

    check_labels.py sums FILE TRUTH          TRUTH: lines "LABELS O B O B" for all samples of sites
    check_labels.py has FILE LABELS O B O B  the sums of these labels

LABELS: KEY=VALUE,..., sorted by key; "-": none.
"""
import sys

from profile_facts import finish, read_profile, site_of

OWN = ("bytes", "heap", "tid", "thread")


def sums(path):
    found = {}
    for row in read_profile(path).rows():
        if site_of(row["stack"]) is None:
            continue
        labels = ",".join("%s=%s" % label for label in sorted(row["labels"].items())
                          if label[0] not in OWN)
        total = found.setdefault(labels or "-", [0, 0, 0, 0])
        for i, value in enumerate(row["values"]):
            total[i] += value
    return found


def command_sums(path, truth):
    expected = {}
    with open(truth, encoding="utf-8") as file:
        for line in file:
            name, *values = line.split()
            expected[name] = [int(value) for value in values]
    found = sums(path)
    for name in sorted(set(found) | set(expected)):
        if found.get(name) != expected.get(name):
            yield "%s: %s has %s, not %s" % (path, name, found.get(name), expected.get(name))


def command_has(path, labels, *values):
    found = sums(path)
    if found.get(labels) != [int(value) for value in values]:
        yield "%s: %s has %s, not %s; all: %s" % (path, labels, found.get(labels), values, found)


if __name__ == "__main__":
    sys.exit(finish(globals()["command_" + sys.argv[1]](*sys.argv[2:])))
