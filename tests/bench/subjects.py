# SPDX-License-Identifier: BSD-2-Clause
"""The subjects that scripts/bench compares: this library, other profilers, and no profiler."""
import ctypes.util
import dataclasses
import os
import shutil
import subprocess
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Subject:
    """In environment and collector, {directory} is replaced by the run's directory."""
    name: str
    about: str
    preload: str = ""
    base: str = "none"  # compared with this: the same allocator without a profiler
    also: tuple = ()    # and with these, each in a row of its own
    environment: dict = field(default_factory=dict)
    files: str = ""     # pattern of its profiles in the directory; a run without them is refused
    slow: bool = False  # it and its base do less work: a workload's `small` count
    collector: str = "" # shell command that runs beside the program and reads from a FIFO
    counts: bool = False  # writes *.json in the format of HEAPSAMPLE_STATS to the directory
    exact: bool = False   # records all allocations; a run with fewer or lost samples is refused
    is_ours: bool = False


def ours(library, interval, slow=False, fixed=False, also=()):
    """fixed: the interval does not rise under load; samples are lost instead."""
    about = f"this library, interval {interval}" + (", which does not rise" if fixed else "")
    return Subject(
        f"heapsample-{interval}" + ("-fixed" if fixed else ""), about, library, also=also,
        environment={"HEAPSAMPLE_INTERVAL": interval,
                     "HEAPSAMPLE_MAX_INTERVAL": interval if fixed else "0",
                     "HEAPSAMPLE_OUTPUT": "{directory}/%p.%n.heap.pb.gz",
                     "HEAPSAMPLE_STATS": "{directory}/%p.%n.json"},
        files="*.heap.pb.gz", slow=slow, counts=True, is_ours=True)


def ours_complete(library):
    """For the comparison with profilers that record every allocation and lose none."""
    fixed = ours(library, "1", slow=True, fixed=True)
    return dataclasses.replace(
        fixed, name="heapsample-1-block", exact=True,
        about="this library, every allocation: threads wait where there is no room",
        environment={**fixed.environment, "HEAPSAMPLE_BLOCK": "10000"})


def jemalloc(library, name, power, slow=False):
    conf = f"prof:true,prof_final:true,lg_prof_sample:{power},prof_prefix:{{directory}}/jeprof"
    return Subject("jemalloc-" + name, f"jemalloc's profiler, interval {name}", library, "jemalloc",
                   environment={"MALLOC_CONF": conf}, files="jeprof.*.heap", slow=slow)


def tcmalloc(library, name, interval, slow=False):
    return Subject("tcmalloc-" + name, f"gperftools' sampling, interval {name}; writes no file",
                   library, "tcmalloc", slow=slow,
                   environment={"TCMALLOC_SAMPLE_PARAMETER": str(interval)})


def capture_floor(bench, interval="4k"):
    kib = int(interval.rstrip("k"))
    return Subject(f"capture-floor-{interval}", f"floor, and for each {kib} KiB (drawn) a copy of "
                   "the stack in a ring that a thread reads", bench + "/capture_floor.so",
                   environment={"BENCH_COUNTS": "{directory}/counts.json",
                                "BENCH_INTERVAL": str(kib << 10)}, counts=True)


def own_subjects(build):
    library = os.path.join(build, ".libs", "libheapsample.so")
    bench = os.path.join(build, "tests", "bench", ".libs")
    return [
        Subject("none", "the program alone"),
        Subject("again", "the program alone once more: what differs here is noise"),
        Subject("null", "a library that only forwards to malloc", bench + "/null.so"),
        Subject("floor", "null, a countdown, and a look at a small table", bench + "/floor.so"),
        Subject("floor-threads", "floor, and two threads that sleep: glibc takes other paths",
                bench + "/floor_threads.so"),
        capture_floor(bench),
        ours(library, "512k", also=("floor-threads",)),
        ours(library, "64k"),
        ours(library, "64k", fixed=True),
        ours(library, "4k"),
        ours(library, "4k", fixed=True, also=("capture-floor-4k",)),
        ours(library, "1", slow=True),
        ours_complete(library),
    ]


def heaptrack_subjects():
    script = shutil.which("heaptrack")
    if script is None:
        return [], "no heaptrack"
    folder = os.path.join(os.path.dirname(os.path.realpath(script)), "..", "lib", "heaptrack")
    preload = os.path.join(folder, "libheaptrack_preload.so")
    interpret = os.path.join(folder, "libexec", "heaptrack_interpret")
    if not (os.path.exists(preload) and os.path.exists(interpret)):
        return [], "heaptrack is not as Debian installs it"
    pack = "zstd -q -c" if shutil.which("zstd") else "gzip -c"
    # The same as the script does; the time of the script itself is not measured.
    return [Subject("heaptrack", "heaptrack, every allocation", preload,
                    environment={"DUMP_HEAPTRACK_OUTPUT": "{directory}/fifo"},
                    files="heaptrack.out", slow=True,
                    collector=f"{interpret} <{{directory}}/fifo | {pack} "
                              ">{directory}/heaptrack.out")], ""


def tcmalloc_subjects():
    library = ctypes.util.find_library("tcmalloc")
    if library is None:
        return [], "no libtcmalloc (libgoogle-perftools4)"
    return [
        Subject("tcmalloc", "gperftools' allocator", library),
        tcmalloc(library, "512k", 512 << 10),
        tcmalloc(library, "4k", 4 << 10, slow=True),
        Subject("heapprofile", "gperftools' HEAPPROFILE, every allocation", library, "tcmalloc",
                environment={"HEAPPROFILE": "{directory}/gperftools"},
                files="gperftools.*.heap", slow=True),
    ], ""


def jemalloc_subjects():
    library = ctypes.util.find_library("jemalloc")
    if library is None:
        return [], "no libjemalloc (libjemalloc2)"
    alone = [Subject("jemalloc", "jemalloc", library)]
    probe = subprocess.run(["true"], env={"PATH": os.environ["PATH"], "LD_PRELOAD": library,
                                          "MALLOC_CONF": "prof:true"},
                           stderr=subprocess.PIPE, check=False)
    if probe.stderr:
        return alone, "this jemalloc is built without its profiler"
    return alone + [jemalloc(library, "512k", 19), jemalloc(library, "64k", 16),
                    jemalloc(library, "4k", 12, slow=True)], ""


def all_subjects(build):
    """Returns the subjects that can run here, and a line for each group that cannot."""
    subjects, gaps = own_subjects(build), []
    for find in (heaptrack_subjects, tcmalloc_subjects, jemalloc_subjects):
        found, gap = find()
        subjects += found
        gaps += [gap] if gap else []
    return subjects, gaps


PACKAGES = ("libc6", "heaptrack", "libgoogle-perftools4", "libjemalloc2")
