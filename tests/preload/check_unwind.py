#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare the stacks of a profile with those that truth_backtrace.c recorded in the same run.

    check_unwind.py NAME SAMPLES GENERATED PROFILE TRUTH

SAMPLES: how many must be compared at least.  GENERATED: how many must have generated code in
their stacks at least.

Compared are stacks of call sites with their numbers of allocations.  A call site is the return
address - 1, or the address itself where V8 makes a frame return to the beginning of code.  Frames
of the recording library and of the library under test are removed.  Left out on both sides are
allocations below the loader (in constructors: some ran before recording began), of the recording
library, and of the library under test.

A stack that differs is paired with the one of the other side that has the most innermost frames in
common, and the pair must be of a kind that kind_of() knows.  Prints a table row.
"""
import array
import bisect
import collections
import os
import sys

from profile_facts import finish, read_profile

RECORDER = "truth_backtrace"
LIBRARY = "libheapsample"
LOADER = "ld-linux"
SYSTEM = ("libc.so", "libc-2", "libpthread", "libdl", LOADER)
LEAST_EQUAL = 0.999
TRUTH_DEPTH = 1024


class Ranges:
    """Address ranges of the mappings whose file names begin with one of `names`."""

    def __init__(self, path, *names):
        self.ranges = []
        with open(path, encoding="ascii") as file:
            for line in file:
                words = line.split()
                if len(words) > 5 and os.path.basename(words[5]).startswith(names):
                    self.ranges.append(tuple(int(word, 16) for word in words[0].split("-")))

    def __contains__(self, address):
        return any(start <= address < end for start, end in self.ranges)


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
    recorder, library, loader, system = (
        Ranges(path + ".maps", *names) for names in
        ((RECORDER,), (LIBRARY,), (LOADER,), SYSTEM + (LIBRARY,)))
    result = collections.Counter()
    for raw, count in recorded_stacks(path).items():
        stack = [address - 1 for address in array.array("Q", raw) if address != 0]
        while stack and stack[0] in recorder:
            stack.pop(0)
        # Stacks that begin in the loader; dlopen() by the program is compared.
        if not stack or stack[-1] in loader or all(address in system for address in stack):
            continue
        result[tuple(address for address in stack if address not in library)] += count
    return result


def profile_stacks(profile, anonymous):
    """As true_stacks().  Adds the addresses of code that is in no file to the set `anonymous`."""
    result = collections.Counter()
    for row in profile.rows():
        mappings = [os.path.basename(frame["mapping"] or "") for frame in row["stack"]]
        skipped = 0
        while skipped < len(mappings) and mappings[skipped].startswith(RECORDER):
            skipped += 1
        inner = mappings[skipped:]
        roots = [mapping for mapping in inner if mapping != "[heapsample]"]
        if skipped == 0 or not roots or roots[-1].startswith(LOADER) or \
                any(mapping.startswith(RECORDER) for mapping in inner):
            continue
        stack = row["stack"][skipped:]
        anonymous.update(frame["address"] for frame in stack
                         if (frame["mapping"] or "//anon").startswith("//anon"))
        result[tuple(frame["name"] if frame["mapping"] == "[heapsample]" else frame["address"]
                     for frame in stack)] += row["values"][0]
    return result


def with_entries(truth, found):
    """The truth, with the address itself where the profile has the beginning of code."""
    entries = {address for stack in found for address in stack
               if isinstance(address, int) and address % 32 == 0}
    result = collections.Counter()
    for stack, count in truth.items():
        result[tuple(address + (address + 1 in entries) for address in stack)] += count
    return result


def common(a, b):
    """How many innermost frames are equal."""
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return i
    return min(len(a), len(b))


def kind_of(truth, found, anonymous, code):
    """Why the two differ; None: not known."""
    same = common(truth, found)
    if found == truth + ("[unwind error]",):
        return "both stop in the same frame"
    if found[-1] == "[unwind error]" and same == len(found) - 1 and \
            truth[same] not in code and truth[same] not in anonymous:
        return "the truth goes through an address that is no code"
    if found[-1] == "[truncated]" and same == len(found) - 1:
        return "the copy of the stack ends"
    if same == len(truth) and len(truth) >= TRUTH_DEPTH - 10:
        return "the truth is cut at its depth"
    if same == len(truth) and same > 0 and truth[-1] in anonymous:
        return "the truth stops at generated code"
    return None


def sort_key(stack):
    return [-1 if isinstance(each, str) else each for each in stack]


def pairs(truth, found):
    """Yield (true stack, found stack, count); None for a stack without a partner."""
    rest = sorted(found, key=sort_key)
    keys = [sort_key(stack) for stack in rest]
    for stack, count in sorted(truth.items(), key=lambda item: -len(item[0])):
        while count > 0:
            at = bisect.bisect_left(keys, list(stack))
            near = [i for i in (at - 1, at) if 0 <= i < len(rest)]
            if not near:
                yield stack, None, count
                break
            best = max(near, key=lambda i: common(stack, rest[i]))
            partner, both = rest[best], min(count, found[rest[best]])
            yield stack, partner, both
            count -= both
            found[partner] -= both
            if found[partner] == 0:
                del rest[best], keys[best]
    for stack in rest:
        yield None, stack, found[stack]


def show(stack):
    if stack is None:
        return "-"
    return " ".join(each if isinstance(each, str) else "%x" % each for each in stack)


def differences(name, samples, generated, path, truth_path):
    anonymous = set()
    profile = read_profile(path)
    truth, found = true_stacks(truth_path), profile_stacks(profile, anonymous)
    code = Ranges(truth_path + ".maps", "")
    # Generated code's mapping is of all addresses.
    code.ranges += [(mapping.memory_start, mapping.memory_limit) for mapping in profile.mappings
                    if mapping.memory_start > 0]
    truth = with_entries(truth, found)
    total = sum(truth.values())
    equal = sum((truth & found).values())
    through = sum(count for stack, count in found.items() if not anonymous.isdisjoint(stack))
    kinds = collections.Counter()
    if total < samples:
        yield "%d samples, less than %d" % (total, samples)
    if through < generated:
        yield "%d samples through generated code, less than %d" % (through, generated)
    if equal < LEAST_EQUAL * total:
        yield "less than %g %% are equal" % (100 * LEAST_EQUAL)
    for true, other, count in pairs(truth - found, found - truth):
        kind = kind_of(true, other, anonymous, code) if true and other else None
        kinds[kind or "not known"] += count
        if kind is None:
            yield "%d times\n  true  %s\n  found %s" % (count, show(true), show(other))
    print("%-8s %8d samples, %8d (%.3f %%) equal; %d different stacks, deepest %d; "
          "%d samples through generated code" % (name, total, equal, 100 * equal / max(total, 1),
                                                 len(truth), max(map(len, truth)), through))
    for kind, count in sorted(kinds.items()):
        print("         %8d differ: %s" % (count, kind))


sys.exit(finish(differences(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])))
