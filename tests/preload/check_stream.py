#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks streams of allocations (Perfetto traces); shares no code with the library.

    check_stream.py complete STREAM              whole packets, in order; each free has its
                                                 allocation
    check_stream.py exact STREAM TRUTH PROFILE   the same; the totals are those that the program
                                                 printed plus those of the rows without a site in
                                                 a profile of the same program
    check_stream.py has STREAM SIZE COUNT FREED  COUNT allocations of SIZE bytes, FREED of them
                                                 freed
    check_stream.py cut STREAM                   the first and the last packets, cut at each byte:
                                                 all packets before the cut can be read
    check_stream.py prefix STREAM...             whole packets, then perhaps a part of one
    check_stream.py sampled STREAM INTERVAL      the same; each allocation stands for its size
                                                 divided by the probability of its being sampled
    check_stream.py heaps STREAM SIZE:HEAP=COUNT,FREED...
                                                 complete, with several heaps: the allocations of
                                                 SIZE bytes are COUNT, all of HEAP, FREED of
                                                 them freed
    check_stream.py lossy STREAM SIZE COUNT LOST  a packet says that something is missing; with the
                                                 LOST ones there are COUNT allocations of SIZE
                                                 bytes, and at most five others are lost
    check_stream.py inherited STREAM PARENT      no event of PARENT is in STREAM, and each free
                                                 is of an allocation in one of them
"""
import json
import math
import os
import re
import sys

from profile_facts import VALUES, finish, losses, read_profile, site_of

MONOTONIC_COARSE, BOOTTIME, REALTIME = 4, 6, 1
TICK_NS = 20_000_000  # more than a tick of the coarse clock: 10 ms at CONFIG_HZ=100


class Cut(Exception):
    """The bytes end within a value."""


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data):
            raise Cut
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of a message: varints as numbers, the rest as bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if at > len(data):
                raise Cut
        else:
            raise ValueError("wire type %d" % kind)
        yield tag >> 3, value


def message(data, names):
    """{name: value}; no field may be there twice."""
    found = {}
    for number, value in fields(data):
        if names[number] in found:
            raise ValueError("%s twice" % names[number])
        found[names[number]] = value
    return found


def packets(data):
    """The complete packets, as messages, and the offsets of their ends."""
    at, found, ends = 0, [], []
    while at < len(data):
        try:
            tag, start = varint(data, at)
            length, start = varint(data, start)
        except Cut:
            break
        if tag != 1 << 3 | 2:
            raise ValueError("tag %d at %d" % (tag, at))
        if start + length > len(data):
            break
        at = start + length
        found.append(message(data[start:at], {
            6: "clocks", 8: "time", 42: "lost", 58: "clock", 74: "allocation", 75: "free"}))
        ends.append(at)
    return found, ends


def event(packet):
    """An event as (is_free, {...})."""
    if "allocation" in packet:
        values = message(packet["allocation"], {1: "address", 2: "size", 3: "sample_size",
                                                4: "time", 5: "heap", 6: "number"})
        if len(values) != 6 or "time" in packet:
            raise ValueError("fields of an allocation: %s" % values)
        return False, values
    values = message(packet["free"], {1: "address", 2: "heap", 3: "number"})
    if len(values) != 3 or packet.get("clock") != MONOTONIC_COARSE:
        raise ValueError("fields of a free: %s, %s" % (packet, values))
    return True, dict(values, time=packet["time"])


def clocks_of(packet):
    found = {}
    for number, value in fields(packet["clocks"]):
        clock = message(value, {1: "id", 2: "time"})
        found[clock["id"]] = clock["time"]
        if number != 1:
            raise ValueError("field %d of the clocks" % number)
    return found


def read(path):
    with open(path, "rb") as file:
        return file.read()


def events_of(path):
    return [event(packet) for packet in packets(read(path))[0][1:]]


def check_prefix(path, heaps=(1,)):
    data = read(path)
    found, ends = packets(data)
    if not found:
        yield "%s: no packet" % path
        return
    clocks = clocks_of(found[0])
    if set(clocks) != {MONOTONIC_COARSE, BOOTTIME, REALTIME}:
        yield "clocks: %s" % clocks
    before = 0
    for is_free, values in map(event, found[1:]):
        if values["number"] <= before:
            yield "number %d after %d" % (values["number"], before)
        before = values["number"]
        if values["heap"] not in heaps:
            yield "heap %d" % values["heap"]
        if abs(values["time"] - clocks[MONOTONIC_COARSE]) > 600e9:
            yield "time %d, at %d" % (values["time"], clocks[MONOTONIC_COARSE])


def check_complete(path, heaps=(1,)):
    """At interval 1 an address in use is not allocated again, and only one in use is freed."""
    yield from check_prefix(path, heaps)
    data = read(path)
    if packets(data)[1][-1] != len(data):
        yield "%s: a part of a packet at the end" % path
    live = {}
    for is_free, values in events_of(path):
        address = values["heap"], values["address"]
        if not is_free:
            if address in live:
                yield "%x is allocated twice, the second time as %d" % (address[1],
                                                                        values["number"])
            if values["sample_size"] != values["size"]:
                yield "weight: %s" % values
            live[address] = values
        elif address not in live:
            yield "%x is freed by %d and not allocated" % (address[1], values["number"])
        else:
            born = live.pop(address)
            if values["time"] + TICK_NS < born["time"]:
                yield "freed before it was allocated: %s, %s" % (born, values)


def totals(path):
    """All events as the four values of a profile."""
    live, sums = {}, [0] * len(VALUES)
    for is_free, values in events_of(path):
        if is_free:
            live.pop(values["address"], None)
        else:
            live[values["address"]] = values["size"]
            sums[0] += 1
            sums[1] += values["size"]
    return sums[:2] + [len(live), sum(live.values())]


def check_exact(path, truth_path, profile_path):
    yield from check_complete(path)
    profile = read_profile(profile_path)
    yield from losses(profile)
    with open(truth_path, encoding="ascii") as file:
        want = [sum(values) for values in zip(*json.load(file).values())]
    for row in profile.rows():
        if site_of(row["stack"]) is None:
            want = [a + b for a, b in zip(want, row["values"])]
    for name, a, b in zip(VALUES, want, totals(path)):
        if a != b:
            yield "%s is %d, not %d" % (name, b, a)


def check_has(path, size, count, freed):
    yield from check_prefix(path)
    live, found, gone = set(), 0, 0
    for is_free, values in events_of(path):
        if not is_free and values["size"] == int(size):
            live.add(values["address"])
            found += 1
        elif is_free and values["address"] in live:
            live.remove(values["address"])
            gone += 1
    if (found, gone) != (int(count), int(freed)):
        yield "%s: %d of %s bytes, %d freed" % (os.path.basename(path), found, size, gone)


def check_heaps(path, *wanted):
    wanted = [[int(number) for number in re.split("[:=,]", each)] for each in wanted]
    yield from check_complete(path, {heap for _, heap, _, _ in wanted})
    live, found = {}, {}
    for is_free, values in events_of(path):
        key = values["heap"], values["address"]
        if not is_free:
            live[key] = counts = found.setdefault((values["size"], values["heap"]), [0, 0])
            counts[0] += 1
        else:
            live.pop(key, [0, 0])[1] += 1
    for size, heap, count, freed in wanted:
        have = [(other, *counts) for (its_size, other), counts in found.items() if its_size == size]
        if have != ([(heap, count, freed)] if count else []):
            yield "of %d bytes: %s, not %s" % (size, have, (heap, count, freed))


def check_prefixes(*paths):
    for path in paths:
        yield from check_prefix(path)


def check_sampled(path, interval):
    yield from check_prefix(path)
    allocations = [values for is_free, values in events_of(path) if not is_free]
    if not allocations:
        yield "no sample"
    for values in allocations:
        chance = -math.expm1(max(values["size"], 1) * math.log1p(-1 / int(interval)))
        if abs(values["sample_size"] - values["size"] / chance) > 1:
            yield "it stands for more or less than %f: %s" % (values["size"] / chance, values)


def check_cut(path):
    data = read(path)
    ends = packets(data)[1]
    data = data[:ends[1]] + data[ends[-10]:]
    whole, ends = packets(data)
    for end in range(len(data)):
        found = packets(data[:end])[0]
        want = sum(1 for other in ends if other <= end)
        if found != whole[:want]:
            yield "cut at %d: %d packets, not %d" % (end, len(found), want)


def check_lossy(path, size, count, lost):
    yield from check_prefix(path)
    sizes = [values.get("size") for _, values in events_of(path)]
    found = sizes.count(int(size))
    if not 0 <= found + int(lost) - int(count) <= 5:
        yield "of %s allocations %d are there, and %s are lost" % (count, found, lost)
    tells = ["lost" in packet for packet in packets(read(path))[0]]
    if True not in tells:
        yield "nothing is said to be missing"
    elif all(tells[tells.index(True):]):
        yield "something is said to be missing before each packet since the first loss"


def check_inherited(path, parent):
    yield from check_prefix(path)
    theirs, ours = events_of(parent), events_of(path)
    numbers = {values["number"] for _, values in theirs}
    addresses = {values["address"] for is_free, values in theirs + ours if not is_free}
    for is_free, values in ours:
        # Events after the fork may have the same numbers in both.
        if values["number"] in numbers and (is_free, values) in theirs:
            yield "%s is in both" % values
        if is_free and values["address"] not in addresses:
            yield "%s is not allocated" % values


CHECKS = {"complete": check_complete, "exact": check_exact, "has": check_has, "cut": check_cut,
          "heaps": check_heaps, "sampled": check_sampled,
          "prefix": check_prefixes, "lossy": check_lossy, "inherited": check_inherited}
sys.exit(finish(CHECKS[sys.argv[1]](*sys.argv[2:])))
