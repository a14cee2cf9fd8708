# SPDX-License-Identifier: BSD-2-Clause
"""Runs a workload with a subject, and measures the run."""
import collections
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field

TIMEOUT_SECONDS = 900
UNWIND_ERRORS = ("unwind_no_engine", "unwind_no_mapping", "unwind_no_info", "unwind_bad_frame")


class Refused(Exception):
    """The run does not count: it failed, or left no profile."""


@dataclass
class Run:
    work: str            # result of the work; must be the same in each run
    cpu_ns: int          # processor time of all threads and of the collector
    program_cpu_ns: int  # of the program's own threads
    wall_ns: int
    rss_kib: int         # peak resident size, plus that of the collector
    end_ns: int          # from the result, or the request to stop, to the end; 0: unknown
    file_bytes: int
    loop_ns: int = 0     # processor time of the loop, if the workload prints it
    clients: dict = field(default_factory=dict)   # what clients of a server measured
    recorded: dict = field(default_factory=dict)  # counts of this library or capture_floor.c
    clock: dict = field(default_factory=dict)     # histograms of capture_front.c


def fill(text, **values):
    """Replaces {name}, for these names only: commands contain other braces too."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def environment_of(subject, directory):
    environment = {name: fill(value, directory=directory)
                   for name, value in subject.environment.items()}
    if subject.preload:
        environment["LD_PRELOAD"] = subject.preload
    return environment


class Bench:
    def __init__(self, build, scratch):
        self.programs = os.path.join(build, "tests", "bench")
        self.scratch = scratch

    def launch(self, report, directory, environment, command, stdout):
        variables = [f"{name}={value}" for name, value in environment.items()]
        plain = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR")
                 if name in os.environ}
        with open(report + ".stderr", "wb") as stderr:
            return subprocess.Popen(
                [os.path.join(self.programs, "launch"), report, *variables, *command],
                cwd=directory, env={**plain, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
                stdout=stdout, stderr=stderr, start_new_session=True)

    def command(self, workload, count, directory):
        path = os.path.join(self.scratch, f"input-{workload.name}-{count}")
        if workload.make_input and not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(workload.make_input(count))
        return [fill(word, count=count, bench=self.programs, input=path, directory=directory)
                for word in workload.command]

    def run(self, workload, subject, count):
        with tempfile.TemporaryDirectory(dir=self.scratch) as directory:
            os.mkdir(os.path.join(directory, "profile"))
            return self.run_in(directory, workload, subject, count)

    def run_in(self, directory, workload, subject, count):
        profiles = os.path.join(directory, "profile")
        collector = None
        if subject.collector:
            os.mkfifo(os.path.join(profiles, "fifo"))
            collector = self.launch(os.path.join(directory, "collector"), directory, {},
                                    ["sh", "-c", fill(subject.collector, directory=profiles)],
                                    subprocess.DEVNULL)
        work, quit_ns, clients = "", None, {}
        processes = [process for process in (collector,) if process]
        try:
            with open(os.path.join(directory, "output"), "wb") as output:
                processes.insert(0, self.launch(
                    os.path.join(directory, "program"), directory,
                    {**workload.environment, **environment_of(subject, profiles)},
                    self.command(workload, count, directory), output))
            if workload.drive:
                work, quit_ns, clients = workload.drive(directory, count)
            for process in processes:
                if process.wait(TIMEOUT_SECONDS) != 0:
                    raise Refused("it could not be started")
        except (subprocess.SubprocessError, OSError, ArithmeticError, StopIteration) as error:
            raise Refused(f"it failed: {type(error).__name__}") from error
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        return collect(directory, workload, subject, work, quit_ns, clients)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_output(directory, workload, work):
    """Returns the result and the time of the loop."""
    if not workload.drive:
        with open(os.path.join(directory, "output"), encoding="utf-8") as file:
            work = file.read()
    loop = re.search(r"^time: (\d+) ns\n", work, re.MULTILINE)
    if loop:
        work = work.replace(loop.group(), "")
    if workload.result_file:
        with open(os.path.join(directory, workload.result_file), "rb") as file:
            work += hashlib.sha256(file.read()).hexdigest()
    if not work:
        raise Refused("no result")
    return work.strip(), int(loop.group(1)) if loop else 0


def recorded_by(profiles):
    """Counts from the statistics that were written last; 0 for those that are missing."""
    paths = glob.glob(os.path.join(profiles, "*.json"))
    if not paths:
        raise Refused("no statistics")
    counters = collections.Counter(read_json(max(paths, key=os.path.getmtime))["counters"])
    return {
        "samples": counters["samples"],
        "lost": sum(counters[name] for name in ("lost_ring", "lost_live_set", "lost_memory")),
        "stackless": counters["stackless"],
        "unwind_errors": sum(counters[name] for name in UNWIND_ERRORS),
        "interval_raises": counters["interval_raises"],
        "bytes_per_sample": counters["allocated_bytes"] / max(counters["samples"], 1),
        "profiler_cpu_ns": counters["worker_cpu_ns"] + counters["producer_cpu_ns"],
    }


def collect(directory, workload, subject, work, quit_ns, clients):
    profiles = os.path.join(directory, "profile")
    program = read_json(os.path.join(directory, "program"))
    if program["status"] != 0:
        code = os.waitstatus_to_exitcode(program["status"])
        raise Refused(f"it ended by signal {-code}" if code < 0 else
                      f"it ended with status {code}")
    work, loop_ns = read_output(directory, workload, work)
    recorded = recorded_by(profiles) if subject.counts else {}
    beside = {"cpu_ns": 0, "max_rss_kib": 0, "end_ns": 0}
    if subject.collector:
        beside = read_json(os.path.join(directory, "collector"))
    clock = os.path.join(profiles, "clock")
    files = glob.glob(os.path.join(profiles, subject.files)) if subject.files else []
    size = sum(os.path.getsize(path) for path in files)
    if subject.files and size == 0:
        raise Refused("no profile")
    end_ns = max(program["end_ns"], beside["end_ns"]) - (quit_ns or program["last_output_ns"])
    return Run(work, program["cpu_ns"] + beside["cpu_ns"],
               program["cpu_ns"] - recorded.get("profiler_cpu_ns", 0),
               program["end_ns"] - program["start_ns"],
               program["max_rss_kib"] + beside["max_rss_kib"],
               end_ns if workload.tells_end else 0, size, loop_ns, clients, recorded,
               read_json(clock) if os.path.exists(clock) else {})
