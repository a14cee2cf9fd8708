# SPDX-License-Identifier: BSD-2-Clause
"""scripts/bench instructions: instructions added to a malloc and free that are not sampled.

callgrind counts the instructions executed inside measured_pairs() of work_live.c, in all and in the
preloaded library.  Valgrind runs one thread at a time, so the counts repeat, except for effects of
the addresses of blocks.
"""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass

BLOCKS = 4096  # as in work_live.c


@dataclass(frozen=True)
class State:
    about: str
    deaths: int = 0
    live: int = 0
    sizes: int = 1  # different sizes of the live blocks

    def environment(self):
        """Samples are in the heap "live".  Without samples the profiler starts no threads."""
        if not self.deaths and not self.live:
            return {}
        return {"HEAPSAMPLE_HEAPS": "live=1", "HEAPSAMPLE_BLOCK": "10000",
                "HEAPSAMPLE_MEMORY": "4g"}


@dataclass
class Count:
    total: float    # instructions per pair
    library: float  # those in the preloaded library
    said: str       # output of the program


def states(quick):
    fixed = [State("nothing sampled")]
    for power in (3, 4) if quick else (3, 4, 5, 6):
        fixed.append(State(f"10^{power} live, equal sizes", live=10 ** power))
        fixed.append(State(f"10^{power} live, 200 sizes", live=10 ** power, sizes=200))
    deaths = 5 if quick else 6
    fixed.append(State(f"10^3 live, 10^{deaths} died", deaths=10 ** deaths, live=1000, sizes=200))
    return fixed


def parse(path, library):
    """Returns instructions in all and in the library, and calls from measured_pairs() into it.

    The format is callgrind's: "ob=(number) name" has the name only the first time.  "cob=" is the
    object of the callee of the next "calls=".  The line after "calls=" has the cost of the callee,
    which is not the caller's.
    """
    objects, total, own, calls = {}, 0, 0, 0
    here = callee = function = ""
    functions = {}
    skip = False

    def named(text, table):
        number, _, name = text.partition(" ")
        if name:
            table[number] = name
        return table[number]

    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("ob="):
                here = named(line[3:], objects)
            elif line.startswith("cob="):
                callee = named(line[4:], objects)
            elif line.startswith("fn="):
                function = named(line[3:], functions)
            elif line.startswith("cfn="):
                named(line[4:], functions)
            elif line.startswith("calls="):
                if function == "measured_pairs" and (callee or here) == library:
                    calls += int(line[6:].split()[0])
                callee, skip = "", True
            elif re.match(r"[\d+*-]", line):
                if not skip:
                    cost = int(line.split()[1])
                    total += cost
                    own += cost if here == library else 0
                skip = False
    return total, own, calls


def count(build, scratch, library, state, rounds=20):
    """Runs work_live under callgrind.  library: "" for none.  Raises RuntimeError."""
    out = os.path.join(scratch, "callgrind.out")
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HEAPSAMPLE_PROGRAMS": "work_live",
                   "HEAPSAMPLE_INTERVAL": "256g", "HEAPSAMPLE_FINAL": "0", **state.environment()}
    if library:
        # Unlike memcheck, callgrind does not replace malloc: the preloaded one is used.
        environment["LD_PRELOAD"] = library
    done = subprocess.run(
        ["valgrind", "-q", "--tool=callgrind", "--fair-sched=yes", "--toggle-collect="
         "measured_pairs", "--callgrind-out-file=" + out, os.path.join(
             build, "tests", "bench", "work_live"), str(state.deaths), str(state.live),
         str(state.sizes), str(rounds)], env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, cwd=scratch, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{state.about}: status {done.returncode}: {done.stdout[-300:]}")
    pairs = (rounds + 1) * BLOCKS
    total, own, calls = parse(out, os.path.realpath(library) if library else "-")
    if library and calls != 2 * pairs:
        raise RuntimeError(f"{state.about}: {calls} calls of the library's functions were "
                           f"counted, not {2 * pairs}")
    # valgrind warns about the invalid rt_sigprocmask() by which the library probes stack pages.
    said = [line for line in done.stdout.splitlines() if not line.startswith("--")]
    return Count(total / pairs, own / pairs, "".join(said))


def measure(subjects, build, scratch, quick):
    """Prints the table and returns its rows.  subjects: null, floor and one of this library."""
    if shutil.which("valgrind") is None:
        raise RuntimeError("no valgrind")
    results = []
    print("Instructions per pair of malloc and free, none of them sampled (callgrind).\n"
          "elsewhere: those added outside the library.  The profiler's threads add none; a few\n"
          "come and go with the addresses of the blocks.\n")
    print("%-12s %-26s %8s %8s %14s %10s" % ("", "", "in all", "added", "in the library",
                                            "elsewhere"))
    plain = count(build, scratch, "", State(""))
    print("%-12s %-26s %8.2f" % ("none", "", plain.total))
    for subject in subjects:
        for state in states(quick) if subject.is_ours else [State("")]:
            got = count(build, scratch, subject.preload, state)
            # Live blocks change the addresses of the pairs, and so the work of the allocator.
            base = plain if not state.live else count(build, scratch, "", state)
            name = "heapsample" if subject.is_ours else subject.name
            added = got.total - base.total
            print("%-12s %-26s %8.2f %+8.2f %14.2f %+10.2f   %s" % (
                name, state.about, got.total, added, got.library, added - got.library,
                got.said if subject.is_ours else ""), flush=True)
            results.append({"subject": name, "state": state.about, "total": got.total,
                            "base": base.total, "library": got.library})
    return results
