#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Simple checks of profiles.

    check_profile.py sampled FILE...            each has counted samples
    check_profile.py has FILE NAME...           some stack has a function with NAME in its name
    check_profile.py site FILE SITE O B O B     the four sums of site_SITE
    check_profile.py various N SITE FILE...     site_SITE has at least N different sums
    check_profile.py least FILE NAME BYTES      such stacks have at least BYTES in alloc_space
    check_profile.py top FILE NAME BYTES        NAME has the most inuse_space of its own, at least
                                                BYTES
    check_profile.py counted FILE NAME...       these counters are not 0
    check_profile.py uncounted FILE NAME...     these counters are 0
    check_profile.py comment FILE TEXT          a comment has this text in it
    check_profile.py main FILE NAME             the first mapping's file has this name
    check_profile.py lossless FILE...           the counters of losses are 0 (profile_facts.py)
    check_profile.py steady BYTES FILE...       profiler_memory differs by at most BYTES
"""
import os
import sys

from profile_facts import counters, finish, losses, read_profile, sums_by_site


def command_sampled(*paths):
    for path in paths:
        counts = counters(read_profile(path))
        if counts.get("samples", 0) == 0:
            yield "%s: no sample is counted: %s" % (path, counts)


def command_has(path, *wanted):
    names = {frame["name"] for row in read_profile(path).rows() for frame in row["stack"]}
    for name in wanted:
        if not any(name in (each or "") for each in names):
            yield "%s: %s is in no stack" % (path, name)


def command_site(path, site, *values):
    found = sums_by_site([read_profile(path)]).get("site_" + site)
    if found != [int(value) for value in values]:
        yield "%s: site_%s has %s, not %s" % (path, site, found, " ".join(values))


def command_various(least, site, *paths):
    sums = {tuple(sums_by_site([read_profile(path)]).get("site_" + site, [0])) for path in paths}
    if len(sums) < int(least):
        yield "site_%s has the same in many of %d profiles: %s" % (site, len(paths), sorted(sums))


def command_least(path, name, least):
    total = sum(row["values"][1] for row in read_profile(path).rows()
                if any(name in (frame["name"] or "") for frame in row["stack"]))
    if total < int(least):
        yield "%s: %s allocated %d bytes, not %s" % (path, name, total, least)


def command_top(path, name, least):
    sums = {names[0]: values[3] for names, values in read_profile(path).sites(1).items()}
    top = max(sums, key=sums.get, default=None)
    if top != name or sums[top] < int(least):
        yield "%s: most is in use by %s, not %s bytes by %s; all: %s" % (
            path, top, least, name, sums)


def command_counted(path, *names):
    counts = counters(read_profile(path))
    for name in names:
        if counts.get(name, 0) == 0:
            yield "%s: %s is 0" % (path, name)


def command_uncounted(path, *names):
    counts = counters(read_profile(path))
    for name in names:
        if counts.get(name, 0) != 0:
            yield "%s: %s is %d" % (path, name, counts[name])


def command_comment(path, text):
    comments = list(read_profile(path).comments)
    if not any(text in comment for comment in comments):
        yield "%s: '%s' is not in %s" % (path, text, comments)


def command_main(path, name):
    profile = read_profile(path)
    found = profile.text(profile.mappings[0].filename)
    if os.path.basename(found) != name:
        yield "%s: the program is %s, not %s" % (path, found, name)


def command_lossless(*paths):
    for path in paths:
        for line in losses(read_profile(path)):
            yield "%s: %s" % (path, line)


def command_steady(most, *paths):
    memory = {path: counters(read_profile(path))["profiler_memory"] for path in paths}
    if max(memory.values()) - min(memory.values()) > int(most):
        yield "the profiler's memory: %s" % memory


sys.exit(finish(globals()["command_" + sys.argv[1]](*sys.argv[2:])))
