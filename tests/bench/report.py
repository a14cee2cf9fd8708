# SPDX-License-Identifier: BSD-2-Clause
"""Medians of pairs of runs, as text, markdown and JSON."""
import dataclasses
import statistics
from dataclasses import dataclass
from typing import Callable

RATIO, DIFFERENCE, PER_SAMPLE, VALUE = "ratio", "difference", "per sample", "value"


@dataclass(frozen=True)
class Metric:
    """A figure of a run.  get(run, operations) returns None if the run does not have it."""
    name: str
    about: str
    kind: str  # RATIO to the base's run, DIFFERENCE from it, that PER_SAMPLE, or a plain VALUE
    get: Callable
    digits: int = 2
    is_spread: bool = True  # whether minimum and maximum are shown
    base_unit: str = ""     # unit of the base's own figure; "": that is not shown


def of_clients(name):
    return lambda run, operations: run.clients.get(name)


def of_ours(name):
    return lambda run, operations: run.recorded.get(name)


def loop_ns(run, operations):
    return run.loop_ns / operations if run.loop_ns else None


METRICS = [
    Metric("cpu", "processor time of all threads, and of a process beside the program; ratio",
           RATIO, lambda run, operations: run.cpu_ns / 1e6, base_unit="ms"),
    Metric("program cpu", "of the program's own threads (this library says what its own took); "
           "ratio", RATIO, lambda run, operations: run.program_cpu_ns),
    Metric("wall", "time from start to end; ratio", RATIO,
           lambda run, operations: run.wall_ns / 1e6, base_unit="ms"),
    Metric("ns/pair", "added to a malloc and a free, processor time of the program's threads, ns",
           DIFFERENCE, loop_ns, 1, base_unit="ns"),
    Metric("ns/sample", "the same, or of the whole program, for each sample, lost ones too; ns",
           PER_SAMPLE, lambda run, operations: run.loop_ns or run.program_cpu_ns, 0),
    Metric("rate", "requests per second, SET and GET; ratio", RATIO, of_clients("rate"),
           base_unit="/s"),
    Metric("p50", "latency of a request, median; ratio", RATIO, of_clients("p50"),
           base_unit="ms"),
    Metric("p99", "latency, 99 %; ratio", RATIO, of_clients("p99"), base_unit="ms"),
    Metric("p99.9", "latency, 99.9 %; ratio", RATIO, of_clients("p99.9"), base_unit="ms"),
    Metric("rss MiB", "peak resident size, of a process beside the program too; difference in MiB",
           DIFFERENCE, lambda run, operations: run.rss_kib / 1024, 1, False, "MiB"),
    Metric("end ms", "from the last output to the end of the program, with the file there; ms",
           VALUE, lambda run, operations: run.end_ns / 1e6 if run.end_ns else None, 1,
           base_unit="ms"),
    Metric("file KiB", "of the profile; KiB", VALUE,
           lambda run, operations: run.file_bytes / 1024 if run.file_bytes else None, 1, False),
    Metric("samples", "taken by this library or capture-floor", VALUE, of_ours("samples"), 0,
           False),
    Metric("B/sample", "bytes allocated for each: the interval in effect, where blocks are smaller",
           VALUE, of_ours("bytes_per_sample"), 0, False),
    Metric("lost", "of them, only their sums are known; refused by capture-floor", VALUE,
           of_ours("lost"), 0, False),
    Metric("stackless", "of them, without their stacks", VALUE, of_ours("stackless"), 0,
           False),
    Metric("errors", "of them, stacks that could not be unwound to their end", VALUE,
           of_ours("unwind_errors"), 0, False),
    Metric("raises", "of the interval: memory or time ran out, so fewer were taken", VALUE,
           of_ours("interval_raises"), 0, False),
]


@dataclass
class Row:
    """A subject with a workload: pairs of runs (base, subject), or why there are none."""
    workload: str
    subject: str
    base: str
    count: int       # amount of work
    operations: int  # pairs in the timed loop
    pairs: list
    refused: str = ""

    def figures(self, metric):
        values = []
        if self.refused:
            return values
        for base, run in self.pairs:
            mine, theirs = metric.get(run, self.operations), metric.get(base, self.operations)
            if mine is None or metric.kind == VALUE:
                values.append(mine)
            elif metric.kind == PER_SAMPLE:
                samples = run.recorded.get("samples")
                values.append((mine - theirs) / samples if samples else None)
            elif metric.kind == DIFFERENCE:
                values.append(mine - theirs)
            else:
                values.append(mine / theirs if theirs else None)
        return [value for value in values if value is not None]

    def cell(self, metric):
        """The median, with minimum and maximum."""
        values = self.figures(metric)
        if not values:
            return ""
        form = f"%.{metric.digits}f"
        middle = form % statistics.median(values)
        if not metric.is_spread:
            return middle
        return f"{middle} ({form % min(values)}..{form % max(values)})"

    def base_figures(self):
        """The base's own figures, to which the ratios refer."""
        words = []
        for metric in METRICS:
            values = [metric.get(base, self.operations) for base, _ in self.pairs]
            if metric.base_unit and None not in values:
                words.append(f"{metric.name} {statistics.median(values):.4g} {metric.base_unit}")
        return ", ".join(words)


def used_metrics(rows):
    return [metric for metric in METRICS if any(row.figures(metric) for row in rows)]


def bases(rows):
    """One row for each base and amount of work."""
    return list({(row.base, row.count): row for row in reversed(rows)}.values())[::-1]


def print_lines(lines):
    if not lines:
        return
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def print_workload(workload, rows):
    """A table for one workload: subjects by metrics."""
    print(f"\n{workload.name}: {workload.about}")
    good = [row for row in rows if not row.refused]
    metrics = used_metrics(good)
    lines = [["", "work"] + [metric.name for metric in metrics]]
    for row in good:
        lines.append([f"{row.subject} / {row.base}", str(row.count)] +
                     [row.cell(metric) for metric in metrics])
    if good:
        print_lines(lines)
    for row in bases(good):
        print(f"  {row.base}, work {row.count}: {row.base_figures()}")
    for row in rows:
        if row.refused:
            print(f"  {row.subject} / {row.base}: not compared: {row.refused}")


def print_legend(rows):
    print()
    print_lines([[metric.name, metric.about] for metric in used_metrics(rows)])


def markdown_table(metric, rows):
    rows = [row for row in rows if row.figures(metric)]
    workloads = list(dict.fromkeys(row.workload for row in rows))
    names = list(dict.fromkeys((row.subject, row.base) for row in rows))
    cells = {(row.subject, row.base, row.workload): row.cell(metric) for row in rows}
    lines = [f"### {metric.name}: {metric.about}", "",
             "| | " + " | ".join(workloads) + " |", "|---" * (len(workloads) + 1) + "|"]
    for subject, base in names:
        row = [cells.get((subject, base, workload), "") for workload in workloads]
        lines.append(f"| {subject} / {base} | " + " | ".join(row) + " |")
    return lines + [""]


# The summary has the mean of these: real programs, not loops of malloc.
PROGRAMS = ("redis", "sqlite", "python", "node", "cc1")


def median_of(row, name):
    values = row.figures(next(metric for metric in METRICS if metric.name == name))
    return statistics.median(values) if values else None


def short_table(title, columns, rows, cells_of):
    """One line per subject and base.  cells_of makes its cells from its rows by workload."""
    lines = [f"### {title}", "", "| | " + " | ".join(columns) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for subject, base in dict.fromkeys((row.subject, row.base) for row in rows):
        cells = cells_of({row.workload: row for row in rows
                          if (row.subject, row.base) == (subject, base)})
        if any(cells):
            lines.append(f"| {subject} / {base} | " + " | ".join(cells) + " |")
    return lines + [""]


def summary(rows):
    """The main results: one table of programs, and one of loops."""
    workloads = dict.fromkeys(row.workload for row in rows)
    loops = [name for name in workloads if any(
        row.workload == name and median_of(row, "ns/pair") is not None for row in rows)]
    programs = [name for name in workloads if name not in loops]

    def times(found):
        pairs = {name: (median_of(row, "cpu"), median_of(row, "program cpu"))
                 for name, row in found.items()}
        pairs = {name: pair for name, pair in pairs.items() if None not in pair}
        if all(name in pairs for name in PROGRAMS):
            pairs["together"] = [statistics.geometric_mean(part)
                                 for part in zip(*(pairs[name] for name in PROGRAMS))]
        return ["%.2f, %.2f" % tuple(pairs[name]) if name in pairs else ""
                for name in programs + ["together"]]

    def added(found):
        medians = [median_of(found[name], "ns/pair") if name in found else None for name in loops]
        return ["%.1f" % median if median is not None else "" for median in medians]

    return short_table("Processor time of all threads, of the program's own (the base's: 1); "
                       "together: the mean of " + ", ".join(PROGRAMS),
                       programs + ["together"], rows, times) + \
        short_table("Added to a malloc and a free, ns of the program's threads", loops, rows,
                    added)


def markdown(machine, rows):
    lines = [f"Measured {machine['date']} on {machine['processor']}, {machine['processors']} "
             f"processors; {machine['rounds']} rounds, medians of ratios of neighbours (least.."
             f"largest); {machine['stolen']} % of the time were another machine's.", "",
             "Versions: " + ", ".join(f"{name} {version}"
                                      for name, version in machine["versions"].items()) + ".", ""]
    lines += summary(rows)
    for metric in used_metrics(rows):
        lines += markdown_table(metric, rows)
    lines += ["### The bases", ""]
    lines += [f"- {row.workload}, {row.base}, work {row.count}: {row.base_figures()}"
              for workload in dict.fromkeys(row.workload for row in rows)
              for row in bases([row for row in rows if row.workload == workload and row.pairs])]
    refused = [f"- {row.workload}, {row.subject} / {row.base}: not compared: {row.refused}"
               for row in rows if row.refused]
    return "\n".join(lines + refused) + "\n"


def as_json(machine, rows):
    return {"machine": machine, "rows": [{
        **{name: getattr(row, name) for name in ("workload", "subject", "base", "count",
                                                 "operations", "refused")},
        "figures": {metric.name: {"median": statistics.median(values), "least": min(values),
                                  "largest": max(values)}
                    for metric in METRICS for values in (row.figures(metric),) if values},
        "runs": [{"base": dataclasses.asdict(base), "subject": dataclasses.asdict(run)}
                 for base, run in row.pairs],
    } for row in rows]}
