# SPDX-License-Identifier: BSD-2-Clause
"""The workloads with which scripts/bench measures the subjects.

Each prints a result, which must be the same with every subject.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Callable, Optional

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

SQL = """create table t(id integer primary key, name text, body blob);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < COUNT)
insert into t select i, 'row ' || i, hex(zeroblob(i % 200)) from n;
commit;
create index t_name on t(name);
select count(*), sum(length(body)), max(name) from t;
"""

PYTHON = """import json
rows = [{"id": i, "name": "row %d" % i, "list": list(range(i % 20))} for i in range(COUNT)]
text = json.dumps(rows)
print(len(text), json.loads(text) == rows, flush=True)
"""

NODE = """const kept = new Array(1000);
let sum = 0;
for (let i = 0; i < COUNT; i++) {
    const buffer = Buffer.alloc(200 + i * 7919 % 8000, i & 255);
    sum += buffer[buffer.length - 1] + buffer.length;
    kept[i % kept.length] = buffer;
}
console.log(sum);
"""


def script(text):
    return lambda count: text.replace("COUNT", str(count))


def c_source(count):
    """A C program with count functions, as input of a compiler."""
    function = """
struct record_%(i)d { int key, values[%(size)d]; struct record_%(i)d *next; };
int function_%(i)d(struct record_%(i)d *record, int limit)
{
	int sum = %(i)d;

	for (; record; record = record->next) {
		for (int j = 0; j < %(size)d && j < limit; j++) {
			switch ((record->values[j] ^ sum) & 7) {
			case 0: sum += record->key; break;
			case 1: sum -= record->values[j] * %(i)d; break;
			case 3: sum ^= limit << 3; break;
			case 6: if (sum > limit) return sum; break;
			default: sum = (sum << 5) - sum + j; break;
			}
		}
	}
	return sum;
}
"""
    return "".join(function % {"i": i, "size": 3 + i % 17} for i in range(count))


@dataclass(frozen=True)
class Workload:
    """Replaced in command: {count} by the amount of work, {bench} by the directory of the programs,
    {input} by the path of make_input()'s file, {directory} by the run's directory.
    """
    name: str
    about: str
    command: tuple
    full: int   # amount of work: 0.6 to 4 seconds
    small: int  # amount of work for slow subjects, and for --quick
    program: Optional[str] = ""  # its path; None: it is not installed
    environment: dict = field(default_factory=dict)
    operations: int = 0   # if the command prints the time of a loop: pairs in it, per count
    result_file: str = "" # a file that is part of the result
    make_input: Optional[Callable] = None  # takes count, returns the text of {input}
    drive: Optional[Callable] = None       # drives a server; see drive_redis()
    tells_end: bool = True # it prints its result when that is ready, not at exit


def pairs(name, about, kind, threads, full, small):
    return Workload(name, about, ("{bench}/work_pairs", kind, str(threads), "{count}"), full, small,
                    operations=1 if kind == "handover" else threads)


def redis_cli(path, *words):
    return subprocess.run(["redis-cli", "-s", path, *words], check=True, timeout=60,
                          stdout=subprocess.PIPE, text=True).stdout


def redis_figures(text):
    """SET and GET together: the rate over both runs, and the latency of the slower one."""
    rates = [float(rate) for rate in re.findall(r"throughput summary: ([\d.]+)", text)]
    figures = {"rate": len(rates) / sum(1 / rate for rate in rates)}
    for name, share in (("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)):
        slower = 0.0
        for part in text.split("Latency by percentile distribution:")[1:]:
            part = part.split("Cumulative distribution")[0]
            points = re.findall(r"([\d.]+)% <= ([\d.]+) milliseconds", part)
            # The first point that covers this share of the requests.
            slower = max(slower, next(float(ms) for percent, ms in points
                                      if float(percent) >= share))
        figures[name] = slower
    return figures


def fill_redis(path, keys):
    """Waits for the server to start, and sets as many keys."""
    for _ in range(200):
        if os.path.exists(path):
            break
        time.sleep(0.05)
    subprocess.run([sys.executable, os.path.join(TESTS, "preload", "redis_load.py"), path, "fill",
                    str(keys)], check=True, timeout=300)


def load_redis(path, requests, keys):
    """Returns the figures of the clients."""
    text = subprocess.run(["redis-benchmark", "-s", path, "-t", "set,get", "-n", str(requests),
                           "-r", str(keys), "-d", "1000"], check=True, timeout=600,
                          stdout=subprocess.PIPE, text=True).stdout
    return redis_figures(text.replace("\r", "\n"))


def stop_redis(path):
    redis_cli(path, "shutdown", "nosave")


def drive_redis(directory, count):
    """Loads a server.  Returns the result, when it was told to stop, and its clients' figures."""
    path = os.path.join(directory, "socket")
    fill_redis(path, count)
    figures = load_redis(path, count, count)
    calls = re.findall(r"cmdstat_([sg]et:calls=\d+)", redis_cli(path, "info", "commandstats"))
    work = " ".join(sorted(calls)) + " keys=" + redis_cli(path, "dbsize").strip()
    quit_ns = time.monotonic_ns()
    stop_redis(path)
    return work, quit_ns, figures


def compiler():
    try:
        path = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return shutil.which(path)


def real_node():
    """The path of the real program: node may be a script that starts it."""
    if shutil.which("node") is None:
        return None
    return json.loads(subprocess.run(["node", "-p", "JSON.stringify(process.execPath)"],
                                     check=True, stdout=subprocess.PIPE).stdout)


def redis_server():
    tools = ("redis-server", "redis-benchmark", "redis-cli")
    return shutil.which("redis-server") if all(shutil.which(tool) for tool in tools) else None


def all_workloads():
    node, cc1 = real_node(), compiler()
    return [
        pairs("fixed", "malloc and free, 64 bytes, one block in use", "fixed", 1,
              50_000_000, 300_000),
        pairs("mixed", "the same, 16 to 1,024 bytes", "mixed", 1, 50_000_000, 300_000),
        pairs("deep", "the same, 50 frames down", "deep", 1, 50_000_000, 300_000),
        pairs("ring", "the same, 1,024 blocks in use", "ring", 1, 25_000_000, 300_000),
        pairs("mixed-2", "mixed, 2 threads", "mixed", 2, 30_000_000, 150_000),
        pairs("mixed-8", "mixed, 8 threads", "mixed", 8, 6_000_000, 40_000),
        pairs("ring-2", "ring, 2 threads", "ring", 2, 15_000_000, 150_000),
        pairs("handover", "one thread allocates, another frees", "handover", 2,
              5_000_000, 200_000),
        Workload("redis", "redis-server (with its own allocator): keys of 1,000 bytes, "
                 "redis-benchmark -t set,get; processor time is the server's",
                 ("redis-server", "--port", "0", "--unixsocket", "{directory}/socket", "--save", "",
                  "--appendonly", "no"), 200_000, 20_000, redis_server(), drive=drive_redis),
        Workload("sqlite", "sqlite3: rows inserted, an index made, in memory",
                 ("sqlite3", ":memory:", ".read {input}"), 1_200_000, 60_000,
                 shutil.which("sqlite3"), make_input=script(SQL), tells_end=False),
        Workload("python", "python3: json to text and back; PYTHONMALLOC=malloc",
                 (sys.executable, "{input}"), 120_000, 10_000, sys.executable,
                 {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, make_input=script(PYTHON)),
        Workload("node", "node: buffers of 200 to 8,200 bytes, 1,000 in use",
                 (node, "{input}"), 600_000, 50_000, node, make_input=script(NODE)),
        Workload("cc1", "gcc's C compiler, -O2",
                 (cc1, "-quiet", "-O2", "{input}", "-o", "result.s"), 300, 40,
                 cc1, result_file="result.s", make_input=c_source, tells_end=False),
        Workload("stl", "a C++ program of maps, strings, vectors and shared pointers",
                 ("{bench}/work_stl", "{count}"), 500, 40),
    ]


def capture_workloads():
    """For timing the sample path: real programs, loops with threads, and cold caches."""
    names = ("redis", "python", "sqlite", "cc1", "mixed", "mixed-8")
    known = {workload.name: workload for workload in all_workloads()}
    return [known[name] for name in names] + [
        pairs("cold", "under 16 KiB of stack, after a walk through 64 MiB", "cold", 1, 300, 40)]


PACKAGES = ("redis-tools", "sqlite3", "nodejs")
