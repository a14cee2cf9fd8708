#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fault injection: the profiler's calls fail one by one, and the program must not notice.

    faults.py [--quick] LIBRARY VICTIM [CALL...]

A sweep is a way of profiling, a call and a failure.  In its first run the first such call fails,
in the second run the second one, and so on, until several runs in a row have fewer such calls; in a
last run all of them fail.  The calls are those of inject.c, which is linked into LIBRARY.  After
each run

  - the victim must have ended in time, with the output and status that it has without the library;
  - each file with a final name must be whole, and no temporary file may be left;
  - what differs from a run without a fault must have been reported, by a line on stderr or a
    counter (in the profiles, in the HEAPSAMPLE_STATS file).

--quick: a selection of sweeps, for make check.  CALL...: the sweeps of these calls only.
HS_RESULTS: a directory; the figures go to its file faults.

To add a call: its number in inject.c's calls[], and a line in FAILURES.
"""
import argparse
import concurrent.futures
import errno
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "preload"))
from profile_facts import VALUES, counters, read_profile, sums_by_site  # noqa: E402
from pprof_read import FormatError, violations  # noqa: E402

RUN_SECONDS = 300  # usually 30 ms; 62 s with a wait in vain, see session_state.h
BLOCKS = "60"      # of each of the victim's threads
CLEAN_RUNS = 3     # in a row end a sweep: threads do not always make the same calls
WORKERS = 4 * (os.cpu_count() or 2)  # a run mostly waits
MESSAGE = re.compile(r"heapsample\[\d+\]: (error|warning): ")

# How the victim is profiled.
WAYS = {
    "every": {"HEAPSAMPLE_INTERVAL": "1", "HEAPSAMPLE_SIGNAL": "USR2"},
    "some": {"HEAPSAMPLE_INTERVAL": "2000", "HEAPSAMPLE_PEAK": "1", "HEAPSAMPLE_DELTA": "1",
             "HEAPSAMPLE_LABELS": "size,thread", "HEAPSAMPLE_LOG": "info",
             "HEAPSAMPLE_ALLOC_INTERVAL": "64k", "HEAPSAMPLE_KEEP": "1"},
    "stream": {"HEAPSAMPLE_INTERVAL": "1", "HEAPSAMPLE_STREAM": "out/%p.%n.%r.stream"},
}

# How each call fails.
FAILURES = {
    "arena": ["ENOMEM"],
    "clock": ["EINVAL"],
    "close": ["EIO"],
    "fcntl": ["EMFILE"],
    "futex_wait": ["EINTR"],
    "futex_wake": ["EPERM"],
    "getcwd": ["ENOENT"],
    "getrandom": ["ENOSYS"],
    "madvise": ["EINVAL"],
    "mmap": ["ENOMEM"],
    "mprotect": ["ENOMEM"],
    "munmap": ["ENOMEM"],
    "open": ["EMFILE", "EACCES"],
    "prctl": ["EPERM"],
    "pread": ["EIO", "EINTR", "short"],
    "prlimit": ["EPERM"],
    "process_vm_readv": ["EPERM", "EFAULT"],
    "read": ["EIO", "EINTR", "short"],
    "readlink": ["ENOENT"],
    "rename": ["EACCES", "EINVAL"],  # EINVAL: of file systems that cannot rename without replacing
    "sched_getaffinity": ["EPERM"],
    "sched_getscheduler": ["EPERM"],
    "sched_setaffinity": ["EPERM"],
    "sigaltstack": ["EPERM"],
    "sigpending": ["EPERM"],
    "sigprocmask": ["EPERM"],
    "stat": ["EIO"],
    "tgkill": ["EPERM"],
    "thread": ["EAGAIN"],
    "uname": ["EPERM"],
    "unlink": ["EROFS"],
    "write": ["ENOSPC", "EINTR", "short"],
}

# The sweeps of --quick.  It also has, for each failure of a call that is not SLOW, a run in which
# all such calls fail.
QUICK = [("every", call, failure) for call, failure in [
    ("mmap", "ENOMEM"), ("mprotect", "ENOMEM"), ("open", "EMFILE"), ("rename", "EACCES"),
    ("thread", "EAGAIN"), ("write", "ENOSPC"), ("write", "EINTR"), ("write", "short")]] + [
        ("some", "unlink", "EROFS"), ("stream", "arena", "ENOMEM")]

# Without wakes the program waits for a profile until its time is up.  So these calls have sweeps in
# one way of profiling only, and none with --quick.
SLOW = {"futex_wake"}

# Calls that messages need too: if all of them fail, nothing can be reported.
NEEDED_TO_SAY = {"write", "stat", "sigprocmask"}

# Counters of what was lost or could not be done.
LOSSES = {
    "stackless", "lost_ring", "lost_live_set", "lost_memory", "abandoned", "block_expired",
    "labels_refused", "sequence_gaps", "stack_truncated", "unwind_no_mapping", "unwind_no_info",
    "unwind_bad_frame", "unwind_late", "empty_stacks", "map_read_failures", "mappings_skipped",
    "maps_made_up", "names_missing", "dump_failures",
}


class Run:
    """One run of the victim, in a directory of its own, and its results."""

    def __init__(self, settings, way=None, fault=None):
        self.way = way
        self.fault = fault or "none"
        self.directory = tempfile.mkdtemp(prefix="heapsample-fault.")
        self.out = os.path.join(self.directory, "out")
        os.mkdir(self.out)
        self.counts_file = os.path.join(self.directory, "counts")
        with open(self.counts_file, "wb") as file:
            file.write(bytes(16))
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("HEAPSAMPLE", "LD_", "HS_"))}
        if way is not None:
            self.environment.update(
                WAYS[way], LD_PRELOAD=settings.library, HS_FAULT_COUNTS="counts",
                HEAPSAMPLE_OUTPUT="out/%p.%n.%r.%h.heap.pb.gz",
                HEAPSAMPLE_STATS="out/%p.%n.%r.json")
        if fault is not None:
            self.environment["HS_FAULT"] = fault
        self.execute(settings)

    def execute(self, settings):
        start = time.monotonic()
        with subprocess.Popen([settings.victim, BLOCKS], cwd=self.directory, text=True,
                              env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, start_new_session=True) as process:
            self.pid = process.pid
            try:
                self.stdout, self.stderr = process.communicate(timeout=RUN_SECONDS)
                self.status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self.stdout, self.stderr = process.communicate()
                self.status = "none after %d s" % RUN_SECONDS
        self.seconds = time.monotonic() - start
        with open(self.counts_file, "rb") as file:
            self.reached, self.injected = struct.unpack("QQ", file.read(16))
        self.messages = [line for line in self.stderr.splitlines() if MESSAGE.match(line)]

    def remove(self):
        shutil.rmtree(self.directory)

    def read_files(self):
        """Reads profiles and statistics, and yields what is wrong with a file."""
        self.profiles, self.statistics, self.streams = {}, {}, 0
        for name in sorted(os.listdir(self.out)):
            path = os.path.join(self.out, name)
            try:
                if name.startswith("."):
                    if not self.fault.startswith("unlink:"):
                        yield "%s is left" % name
                elif name.endswith(".heap.pb.gz"):
                    profile = self.profiles[self.kind_of(name)] = read_profile(path)
                    for line in violations(profile):
                        if not (self.fault.startswith("clock:") and line == "time is 0"):
                            yield "%s: %s" % (name, line)
                elif name.endswith(".json"):
                    with open(path, encoding="utf-8") as file:
                        self.statistics[self.kind_of(name)] = json.load(file)
                elif name.endswith(".stream"):
                    self.streams += 1
                else:
                    yield "%s is unknown" % name
            except (OSError, ValueError, FormatError) as error:
                yield "%s: %s" % (name, error)

    def kind_of(self, name):
        """Whose profile it is, and why it was written."""
        parts = name.lstrip(".").split(".")
        return "%s %s" % ("parent" if parts[0] == str(self.pid) else "child", parts[2])

    def facts(self):
        """
        What is the same in all runs without a fault: which profiles and statistics there are, and
        their sums if every allocation is sampled.  Profiles of signals and of the peak are left
        out: their times vary.
        """
        facts = {"streams": self.streams, "statistics": {
            kind for kind in self.statistics if kind.endswith((" call", " exit"))}}
        for kind, profile in self.profiles.items():
            if kind in facts["statistics"] or kind.endswith((" call", " exit")):
                facts[kind] = self.way != "every" or {
                    site: sums[:2] for site, sums in sums_by_site([profile]).items()}
        return facts

    def given_up(self):
        """{name of a counter: its highest value in all profiles and statistics}."""
        found = {}
        for profile in self.profiles.values():
            for name, value in counters(profile).items():
                found[name] = max(found.get(name, 0), value)
        for statistics in self.statistics.values():
            for name, value in statistics["counters"].items():
                found[name] = max(found.get(name, 0), value)
        return found


def describe(run, what):
    print("failed: %s: %s" % (run.fault, what), *run.stderr.splitlines()[:3], sep="\n    ",
          flush=True)


class Sweeps:
    def __init__(self, settings):
        self.settings = settings
        self.start = time.monotonic()
        self.plain = Run(settings)
        self.plain.remove()
        self.failed = self.runs = self.faults = 0
        self.faults_of = {}  # by call
        self.slowest = (0, "")
        self.references = {}

    def reference(self, way):
        if way not in self.references:
            run = Run(self.settings, way)
            wrong = list(run.read_files())
            if wrong or (run.stdout, run.status) != (self.plain.stdout, self.plain.status):
                sys.exit("without a fault: %s %s %s" % (way, run.stderr, wrong))
            self.references[way] = run.facts(), run.given_up()
            run.remove()
        return self.references[way]

    def problems(self, way, run):
        if run.status != self.plain.status:
            yield "status %s" % run.status
        elif run.stdout != self.plain.stdout:
            yield "another output: %s" % run.stdout
        yield from run.read_files()
        facts, counted = self.reference(way)
        if run.facts() == facts or run.messages:
            return
        more = {name for name, value in run.given_up().items()
                if value > counted.get(name, 0) and name in LOSSES}
        call, turn, _ = run.fault.split(":")
        if not more and not (turn.endswith("+") and call in NEEDED_TO_SAY):
            yield "silent: %s" % {kind: value for kind, value in run.facts().items()
                                  if value != facts.get(kind)}

    def one(self, way, fault):
        run = Run(self.settings, way, fault)
        wrong = list(self.problems(way, run)) if run.injected > 0 else []
        return run, wrong

    def take(self, way, run, wrong):
        """Counts a run.  Returns whether its fault was reached."""
        run.remove()
        self.runs += 1
        self.slowest = max(self.slowest, (run.seconds, "%s %s" % (way, run.fault)))
        for line in wrong:
            describe(run, "%s: %s" % (way, line))
        self.failed += bool(wrong)
        self.faults += run.injected > 0
        call = run.fault.split(":")[0]
        self.faults_of[call] = self.faults_of.get(call, 0) + (run.injected > 0)
        return run.injected > 0

    def sweep(self, pool, way, call, failure):
        """One sweep.  Returns how many such calls there were."""
        number = failure if failure == "short" else str(getattr(errno, failure))
        turn = clean = 0
        while clean < CLEAN_RUNS:
            faults = ["%s:%d:%s" % (call, turn + i, number) for i in range(1, WORKERS + 1)]
            for run, wrong in pool.map(lambda fault: self.one(way, fault), faults):
                clean = 0 if self.take(way, run, wrong) else clean + 1
            turn += WORKERS
        return turn - clean

    def all_of_them(self, pool, pairs):
        def one(pair):
            way, call, failure = pair
            number = failure if failure == "short" else str(getattr(errno, failure))
            return way, *self.one(way, "%s:1+:%s" % (call, number))
        for way, run, wrong in pool.map(one, pairs):
            self.take(way, run, wrong)


    def report(self):
        self.seconds = time.monotonic() - self.start
        print("%d faults injected, %d survived; the slowest run: %.1f s, %s" % (
            self.faults, self.faults - self.failed, *self.slowest))
        # Only a complete run leaves results.
        if not os.environ.get("HS_RESULTS") or self.settings.quick or self.settings.calls:
            return
        os.makedirs(os.environ["HS_RESULTS"], exist_ok=True)
        source = os.path.dirname(os.path.abspath(__file__))
        commit = subprocess.run(
            ["git", "-C", source, "describe", "--always", "--dirty=+", "--exclude=*"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        with open(os.path.join(os.environ["HS_RESULTS"], "faults"), "w",
                  encoding="utf-8") as file:
            print("date: %s" % time.strftime("%Y-%m-%d"), "commit: %s" % commit.strip(),
                  "command: make check-faults", sep="\n", file=file)
            for call, faults in sorted(self.faults_of.items()):
                print("%s: %d faults" % (call, faults), file=file)
            print("runs: %d" % self.runs, "faults_injected: %d" % self.faults,
                  "faults_survived: %d" % (self.faults - self.failed),
                  "slowest_run_seconds: %.1f" % self.slowest[0],
                  "seconds: %d" % self.seconds, sep="\n", file=file)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("library")
    parser.add_argument("victim")
    parser.add_argument("calls", nargs="*")
    settings = parser.parse_args()
    settings.library = os.path.abspath(settings.library)
    settings.victim = os.path.abspath(settings.victim)
    return settings


def main():
    settings = parse()
    everything = [(way, call, failure) for way in WAYS for call in FAILURES
                  for failure in FAILURES[call] if way == "every" or call not in SLOW]
    sweeps = Sweeps(settings)
    wanted = QUICK if settings.quick else everything
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for way in WAYS:
            sweeps.reference(way)
        for way, call, failure in wanted:
            if not settings.calls or call in settings.calls:
                start = time.monotonic()
                count = sweeps.sweep(pool, way, call, failure)
                print("%s: %s: %s: %d calls, %.1f s" % (
                    way, call, failure, count, time.monotonic() - start), flush=True)
        sweeps.all_of_them(pool, [pair for pair in everything
                                  if (not settings.calls or pair[1] in settings.calls) and
                                  (not settings.quick or (pair[0] == "every" and
                                                          pair[1] not in SLOW))])
    sweeps.report()
    return 1 if sweeps.failed else 0


sys.exit(main())
