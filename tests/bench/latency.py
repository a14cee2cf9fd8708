# SPDX-License-Identifier: BSD-2-Clause
"""scripts/bench latency: what the clients of a redis-server wait, with this library and without.

A 99.9th percentile of one run differs from that of the next by a half, and what else the machine
does changes from second to second.  So the servers stay up and take turns of a second or less, in
an order that changes.  A figure is the ratio of two turns of one round.
"""
import math
import os
import random
import signal
import subprocess
import sys

from measure import Bench, Refused, environment_of, recorded_by
from workloads import fill_redis, load_redis, stop_redis

KEYS = 200_000
FIGURES = ("p50", "p99", "p99.9", "rate")


def interval_of_median(ratios):
    """The median of sorted ratios, and a 95 % confidence interval of it, by order statistics."""
    count = len(ratios)
    reach = 0.98 * math.sqrt(count)
    low, high = math.floor(count / 2 - reach), math.ceil(count / 2 + reach)
    middle = (ratios[(count - 1) // 2] + ratios[count // 2]) / 2
    return middle, ratios[max(low, 0)], ratios[min(high, count - 1)]


class Servers:
    """A server for each subject."""

    def __init__(self, build, scratch, workload, subjects):
        self.bench = Bench(build, scratch)
        self.scratch, self.workload = scratch, workload
        self.subjects = subjects
        self.processes = [self.start(subject) for subject in subjects]

    def directory(self, subject):
        return os.path.join(self.scratch, subject.name)

    def socket(self, subject):
        return os.path.join(self.directory(subject), "socket")

    def start(self, subject):
        directory = self.directory(subject)
        os.mkdir(directory)
        return self.bench.launch(os.path.join(directory, "program"), directory,
                                 environment_of(subject, directory),
                                 self.bench.command(self.workload, KEYS, directory),
                                 subprocess.DEVNULL)

    def round(self, requests):
        """Returns the figures of each server's turn."""
        order = random.sample(self.subjects, len(self.subjects))
        return {subject.name: load_redis(self.socket(subject), requests, KEYS)
                for subject in order}

    def run(self, rounds, requests):
        """Returns the figures of each round.  Raises Refused."""
        done = []
        try:
            for subject in self.subjects:
                fill_redis(self.socket(subject), KEYS)
            for number in range(rounds):
                if number % 20 == 0:
                    print(f"bench: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
                done.append(self.round(requests))
            for subject, process in zip(self.subjects, self.processes):
                stop_redis(self.socket(subject))
                process.wait(60)
        except (subprocess.SubprocessError, OSError) as error:
            raise Refused(f"redis: {type(error).__name__}") from error
        finally:
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return done

    def recorded(self, subject):
        """What the library says it recorded.  Raises Refused if that is nothing."""
        return recorded_by(self.directory(subject)) if subject.counts else {}


def compared(done, name, base):
    """For each figure, the median of the ratios, and its confidence interval."""
    return {figure: interval_of_median(sorted(turns[name][figure] / turns[base][figure]
                                              for turns in done)) for figure in FIGURES}


def measure(build, scratch, workload, subjects, rounds, requests):
    """Prints the table and returns its rows.  The first subject is what others are compared to."""
    base = subjects[0].name
    servers = Servers(build, scratch, workload, subjects)
    done = servers.run(rounds, requests)
    print(f"Latency and rate of redis-benchmark, {requests:,} times SET and GET in a turn, to a\n"
          f"turn of {base} in the same round; the median of {rounds} rounds, and a 95 %\n"
          f"confidence interval of it.\n")
    print("%-18s" % "" + "%20s" * len(FIGURES) % FIGURES + "%10s%8s" % ("samples", "lost"))
    rows = []
    for subject in subjects[1:]:
        row = {"subject": subject.name, "base": base, **compared(done, subject.name, base),
               **servers.recorded(subject)}
        rows.append(row)
        print("%-18s" % subject.name +
              "".join("%20s" % "%.3f (%.2f-%.2f)" % row[figure] for figure in FIGURES) +
              "%10s%8s" % (row.get("samples", ""), row.get("lost", "")), flush=True)
    return rows
