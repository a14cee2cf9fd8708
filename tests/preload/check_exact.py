#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compare a profile with the truth that the program printed, site by site.

    check_exact.py PROFILE TRUTH [SITE...]

TRUTH: {"site_malloc": [alloc_objects, alloc_space, inuse_objects, inuse_space], ...}.
SITE: must have allocated.  No sample may be lost, and all sums must be equal.
"""
import json
import sys

from profile_facts import VALUES, finish, losses, read_profile, sums_by_site


def differences(path, truth_path, required):
    profile = read_profile(path)
    with open(truth_path, encoding="ascii") as file:
        truth = json.load(file)
    yield from losses(profile)
    found = sums_by_site([profile])
    for site in required:
        if truth.get(site, [0])[0] == 0:
            yield "%s allocated nothing" % site
    for site in sorted(found.keys() - truth.keys()):
        yield "%s is in the profile only: %s" % (site, found[site])
    for site, values in sorted(truth.items()):
        for name, want, have in zip(VALUES, values, found.get(site, [0] * len(VALUES))):
            if want != have:
                yield "%s: %s is %d, not %d" % (site, name, have, want)


sys.exit(finish(differences(sys.argv[1], sys.argv[2], sys.argv[3:])))
