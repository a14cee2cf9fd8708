#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the stacks of a profile with those that truth_backtrace.c recorded of the same run.

    check_unwind.py SAMPLES PROFILE TRUTH     SAMPLES: compared, at least

Stacks are compared as call sites (return address - 1) with their number of allocations,
without the frames of the recording library.  Left out on both sides: what the loader runs
(constructors, before recording began) and what the library under test allocates itself.
"""
import array
import collections
import os
import sys

from profile_facts import finish, read_profile

RECORDER = "truth_backtrace"
NOT_COMPARED = ("libheapsample", "ld-linux")


def file_ranges(path, name):
    """Address ranges of the mappings whose file is called so."""
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if len(words) > 5 and name in os.path.basename(words[5]):
                yield tuple(int(word, 16) for word in words[0].split("-"))


def inside(address, ranges):
    return any(start <= address < end for start, end in ranges)


def recorded_stacks(path):
    """Counter of tuples of return addresses."""
    words = array.array("Q")
    with open(path, "rb") as file:
        words.frombytes(file.read(8))
        words.frombytes(file.read(words[0] - 8))
    stacks = collections.Counter()
    at = 1
    while at < len(words):
        stacks[words[at + 1:at + 1 + words[at]].tobytes()] += 1
        at += 1 + words[at]
    return stacks


def true_stacks(path):
    recorder = list(file_ranges(path + ".maps", RECORDER))
    skipped = [list(file_ranges(path + ".maps", name)) for name in NOT_COMPARED]
    result = collections.Counter()
    for raw, count in recorded_stacks(path).items():
        stack = [address - 1 for address in array.array("Q", raw) if address != 0]
        while stack and inside(stack[0], recorder):
            stack.pop(0)
        # Of the loader's, those that begin there; dlopen() by the program is compared.
        if any(inside(address, skipped[0]) for address in stack) or \
                not stack or inside(stack[-1], skipped[1]):
            continue
        result[tuple(stack)] += count
    return result


def profile_stacks(path):
    result = collections.Counter()
    for row in read_profile(path).rows():
        stack = row["stack"]
        while stack and RECORDER in (stack[0]["mapping"] or ""):
            stack = stack[1:]
        if len(stack) == len(row["stack"]) or \
                NOT_COMPARED[1] in os.path.basename(stack[-1]["mapping"] or ""):
            continue
        key = tuple(frame["name"] if frame["mapping"] is None else frame["address"]
                    for frame in stack)
        result[key] += row["values"][0]
    return result


def show(stack):
    return " ".join(each if isinstance(each, str) else "%x" % each for each in stack)


def differences(samples, path, truth_path):
    truth, found = true_stacks(truth_path), profile_stacks(path)
    total = sum(truth.values())
    equal = sum((truth & found).values())
    print("%d of %d stacks are equal (%.3f %%), %d different ones; deepest %d"
          % (equal, total, 100 * equal / max(total, 1), len(truth), max(map(len, truth))))
    if total < samples:
        yield "that is less than %d" % samples
    for stack, count in (truth - found).items():
        yield "%d times not in the profile: %s" % (count, show(stack))
    for stack, count in (found - truth).items():
        yield "%d times in the profile only: %s" % (count, show(stack))


sys.exit(finish(differences(int(sys.argv[1]), sys.argv[2], sys.argv[3])))
