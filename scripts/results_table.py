# SPDX-License-Identifier: BSD-2-Clause
"""Makes the README's table of test results from the result files.

usage: scripts/run-tests --report [--write]

Prints the table of the results in tests/results and, for hostile cases, of the last run in
build/.  --write: copies the latter to tests/results, and puts the table into the README.

A result file has lines 'key: value': date, commit and command, then figures.  tests/results has
the last results that were kept, since long tests are not part of each run.
"""
import glob
import os
import re
import shutil
import sys

RESULTS = "tests/results"
MARK = "Made of tests/results by scripts/run-tests --report --write:\n"
# The table ends before the next line that begins in the first column.
TABLE = re.compile(re.escape(MARK) + r"((?:\n|[ \t].*\n)*)")
COMMAND_COLUMNS, NAME_COLUMNS, COLUMNS = 66, 24, 98

# Result files of long runs and their commands; the table shows these if a file is missing.
LONG = (("faults", "make check-faults"), ("model", "make check-model"), ("fuzz", "make fuzz"),
        ("suites", "scripts/run-malloc-suites"), ("analyze", "make analyze"),
        ("soak", "scripts/soak --minutes 30"))


def read_results(directory):
    """Returns {name of the file: {key: value}}."""
    results = {}
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            results[name] = dict(line.rstrip("\n").split(": ", 1) for line in file if ": " in line)
    return results


def grouped(text):
    """Separates thousands by commas in whole numbers of five digits and more."""
    return re.sub(r"\b\d{5,}\b", lambda match: "{:,}".format(int(match.group())), text)


def row(name, text):
    """Lines of at most COLUMNS; the first one begins with the name."""
    lines, words = [], grouped(text).split()
    begin = "      %-*s " % (NAME_COLUMNS, name)
    while words:
        line = begin + words.pop(0)
        while words and len(line) + 1 + len(words[0]) <= COLUMNS:
            line += " " + words.pop(0)
        lines.append(line)
        begin = " " * (7 + NAME_COLUMNS)
    return lines


def heading(figures):
    return "    %-*s  %s  %s" % (COMMAND_COLUMNS, figures.get("command", "?"),
                                 figures.get("date", "?"), figures.get("commit", "?"))


# --- cases -----------------------------------------------------------------------------

def case_counts(figures):
    """Returns {kind: {outcome: count}}."""
    kinds = {}
    for key, value in figures.items():
        match = re.fullmatch(r"cases (.+) (passed|failed|skipped)", key)
        if match:
            kinds.setdefault(match.group(1), {})[match.group(2)] = int(value)
    return kinds


def outcomes(kinds):
    """For each kind, how many cases passed of those that ran, and how many were skipped."""
    run = {kind: counts.get("passed", 0) + counts.get("failed", 0)
           for kind, counts in kinds.items()}
    parts = ["%s %d of %d" % (kind, counts.get("passed", 0), run[kind])
             for kind, counts in sorted(kinds.items()) if run[kind] > 0]
    skipped = ["%s %d" % (kind, counts["skipped"]) for kind, counts in sorted(kinds.items())
               if "skipped" in counts]
    return ", ".join(parts) + ("; skipped: " + ", ".join(skipped) if skipped else "")


def case_lines(results):
    total, lines = {}, []
    for figures in results.values():
        kinds = case_counts(figures)
        if not kinds:
            continue
        lines += [heading(figures)] + row("hostile cases passed", outcomes(kinds))
        for counts in kinds.values():
            for outcome, count in counts.items():
                total[outcome] = total.get(outcome, 0) + count
    return lines + ["    make check"] + row("hostile cases passed", outcomes({"all": total}))


# --- long runs -------------------------------------------------------------------------

def get(figures, key):
    return figures.get(key, "?")


def fault_rows(figures):
    yield "faults injected", "%s in %s runs; survived %s" % (
        get(figures, "faults_injected"), get(figures, "runs"), get(figures, "faults_survived"))


def model_rows(figures):
    yield "interleavings explored", (
        "%s of %s scenarios, %s of these completely; violations: %s; seeded bugs found: %s of %s" %
        tuple(get(figures, key) for key in (
            "interleavings", "scenarios", "scenarios complete", "violations",
            "seeded bugs found", "seeded bugs")))


def fuzz_rows(figures):
    yield "fuzz executions", "%s of %s targets; findings: %s" % (
        get(figures, "executions"), get(figures, "targets"), get(figures, "findings"))


def suite_rows(figures):
    for suite in sorted({key.split()[1] for key in figures if key.startswith("suite ")}):
        def of(key):
            return get(figures, "suite %s %s" % (suite, key))
        yield "malloc tests of " + suite, (
            "%s programs, %s as without the library; %s profiles read; %s left out" % (
                of("programs"), of("as without"), of("profiles read"), of("left out")))


def soak_rows(figures):
    for interval in sorted({key.split()[1] for key in figures if key.startswith("interval ")}):
        def of(key):
            return get(figures, "interval %s %s" % (interval, key))
        yield "soak, interval " + interval, (
            "%.2f hours: %s samples in, %s out (freed), %s in use at the end, %s dropped; "
            "%s profiles at rest and %s of children compared: %s differences; grew: %s" % (
                float(of("minutes")) / 60, of("samples in"), of("samples freed"),
                of("samples in use"), of("drops"), of("profiles compared at rest"),
                of("profiles compared in children"), of("differences"),
                of("grew")))


def all_rows(figures):
    for key, value in figures.items():
        if key not in ("date", "commit", "command"):
            yield key, value


ROWS = {"faults": fault_rows, "model": model_rows, "fuzz": fuzz_rows, "suites": suite_rows,
        "soak": soak_rows}


def long_lines(results):
    for name, command in LONG:
        figures = results.get(name)
        if figures is None:
            yield "    %-*s  no result is kept" % (COMMAND_COLUMNS, command)
            continue
        yield heading(figures)
        for key, value in ROWS.get(name, all_rows)(figures):
            yield from row(key, value)
        if "note" in figures and name in ROWS:
            yield from row("", figures["note"])


# --- the table -------------------------------------------------------------------------

def table(results):
    return "\n".join(case_lines(results) + list(long_lines(results))) + "\n"


def in_readme(text):
    """The table in the text of a README, or None if there is none."""
    match = TABLE.search(text)
    return match.group(1).strip("\n") + "\n" if match else None


def put_in_readme(text, made):
    return TABLE.sub(lambda match: MARK + "\n" + made + "\n\n", text)


def main(arguments):
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    kept, readme = os.path.join(root, RESULTS), os.path.join(root, "README")
    last = os.path.join(root, "build", "results")
    results = read_results(kept)
    results.update((name, figures) for name, figures in read_results(last).items()
                   if name.startswith("test_"))
    made = table(results)
    sys.stdout.write(made)
    if arguments == ["--write"]:
        for path in glob.glob(os.path.join(last, "test_*")):
            shutil.copy(path, kept)
        with open(readme, encoding="utf-8") as file:
            text = file.read()
        with open(readme, "w", encoding="utf-8") as file:
            file.write(put_in_readme(text, made))


if __name__ == "__main__":
    main(sys.argv[1:])
