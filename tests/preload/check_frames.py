#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Check the stacks of victim_frames.c, from the site to the root.

    check_frames.py PROFILE [preloaded]     preloaded: victim_frames_library.c was preloaded

Native stacks are complete: below main() and thread functions are libc's frames, down to _start or
clone.  No stack has a frame of libheapsample.
"""
import os
import sys

import own_memory
from profile_facts import counters, finish, read_profile

LIBC = ("libc.so", "libc-2", "libpthread")
LOADER = ("ld-linux", "ld-2")
# In the program itself; the latter before glibc 2.34.
START = ("_start", "__libc_csu_init")
TRUNCATED = "[truncated]"

# By site: functions among its callers, in this order; the root.
EXPECTED = {
    "site_main": (["main"], "_start"),
    "site_constructor": (["construct"], "start-up"),
    "site_destructor": (["destroy"], "_start"),
    "site_atexit": (["at_exit"], "_start"),
    "site_thread": (["run_thread"], "clone"),
    "site_key": (["destroy_key"], "clone"),
    "site_tls": (["destroy_tls"], "clone"),
    "site_handler": (["on_signal", "raise", "send_signal", "main"], "_start"),
    "site_alternate": (["on_alternate"], TRUNCATED),
    "site_coroutine": (["run_coroutine"], "coroutine"),
    "site_deep_coroutine": (["deep_coroutine"] * 3, TRUNCATED),
    "site_deep_stack": (["deep_stack"] * 25, TRUNCATED),
    "site_deep_calls": (["deep_calls"] * 127, TRUNCATED),
    "site_library_constructor": (["construct_library", "dlopen", "open_library", "main"],
                                 "_start"),
    # The symbol of an IFUNC has the address of its resolver.
    "site_ifunc": (["chosen", "dlopen", "open_library", "main"], "_start"),
}
# If the library is preloaded the loader runs its constructor before _start, and its IFUNC resolver
# before profiling begins.
PRELOADED = {"site_library_constructor": (["construct_library"], "loader")}
# By site: the program's outermost function, and the files that the frames below it belong to.
BELOW = {"site_main": ("main", LIBC), "site_thread": ("run_thread", LIBC),
         "site_coroutine": ("run_coroutine", LIBC),
         "site_constructor": ("construct", LOADER + LIBC)}


def file_of(frame):
    return os.path.basename(frame["mapping"] or "")


def is_root(kind, frame):
    if kind == "loader":
        return file_of(frame).startswith(LOADER)
    if kind == "start-up":
        return is_root("loader", frame) or is_root("_start", frame)
    if kind in ("clone", "coroutine"):
        return file_of(frame).startswith(LIBC)
    return frame["name"] == kind


def wrong_stack(site, stack):
    callers, root = EXPECTED[site]
    rest = iter(frame["name"] for frame in stack)
    missing = [name for name in callers if name not in rest]
    if missing:
        yield "does not come by %s" % missing[0]
    if not is_root(root, stack[-1]):
        yield "the root is no %s" % root
    if root != TRUNCATED and any(file_of(frame) == "[heapsample]" for frame in stack):
        yield "is not complete"
    if site in BELOW:
        last, files = BELOW[site]
        names = [frame["name"] for frame in stack]
        below = stack[names.index(last) + 1:] if last in names else []
        if not below or any(not file_of(frame).startswith(files) and frame["name"] not in START
                            for frame in below):
            yield "other frames below %s() than of the system" % last


def differences(path):
    profile = read_profile(path)
    counts = counters(profile)
    seen = {}
    for row in profile.rows():
        stack, names = row["stack"], [frame["name"] for frame in row["stack"]]
        if any("libheapsample" in file_of(frame) for frame in stack):
            yield "a frame of the library: " + " ".join(names)
        if names[-1] == "[unwind error]":
            yield "an error: " + " ".join(names)
        if names[0] in EXPECTED:
            seen[names[0]] = seen.get(names[0], 0) + row["values"][0]
            for line in wrong_stack(names[0], stack):
                yield "%s %s: %s" % (names[0], line, " ".join(names))
            if names[0] == "site_deep_calls" and len(names) != 129:
                yield "site_deep_calls: %d frames" % len(names)
    for site in EXPECTED:
        if seen.get(site) != 1:
            yield "%s: %s samples, not 1" % (site, seen.get(site, 0))
    # stack_unknown: site_alternate, site_coroutine and site_deep_coroutine.
    # stack_truncated: site_deep_stack and site_deep_coroutine, whose stacks are larger than the
    # copy, and site_alternate.  depth_truncated: site_deep_calls.
    for name, want in (("stack_unknown", 3), ("stack_truncated", 3), ("depth_truncated", 1)):
        if counts.get(name, 0) != want:
            yield "%s is %d, not %d" % (name, counts.get(name, 0), want)


if not own_memory.may_be_read():
    # Then only the rest of the page is copied from a stack of unknown bounds.
    EXPECTED["site_deep_coroutine"] = (["deep_coroutine"], TRUNCATED)
if sys.argv[2:] == ["preloaded"]:
    del EXPECTED["site_ifunc"]
    EXPECTED.update(PRELOADED)
sys.exit(finish(differences(sys.argv[1])))
