#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads pprof profiles, and checks them against every rule of pprof_rules.py.

    pprof_read.py check FILE...           one line per violation; status 1 if there is any
    pprof_read.py dump FILE               the whole profile as JSON
    pprof_read.py totals FILE             sum of each sample type
    pprof_read.py sites FILE [--depth N]  sums per leaf function, or per N innermost frames

Status: 0 fine, 1 violations, 2 usage, 3 file not readable or not a profile (for check: 1).
"""
import argparse
import json
import sys

sys.dont_write_bytecode = True
from pprof_decode import FormatError, Profile, decode, read_profile  # noqa: E402,F401
from pprof_rules import SAMPLE_TYPES, violations  # noqa: E402,F401


def check_file(path):
    try:
        return violations(read_profile(path))
    except OSError as error:
        return ["not readable: %s" % error.strerror]
    except FormatError as error:
        return ["not a profile: %s" % error]


def command_check(arguments):
    status = 0
    for path in arguments.files:
        for line in check_file(path):
            print("%s: %s" % (path, line))
            status = 1
    return status


def command_dump(arguments):
    profile = read_profile(arguments.file)
    mappings = [{"start": m.memory_start, "limit": m.memory_limit, "offset": m.file_offset,
                 "filename": profile.text(m.filename), "build_id": profile.text(m.build_id),
                 "has_functions": bool(m.has_functions)} for m in profile.mappings]
    json.dump({"sample_types": profile.sample_types,
               "default_sample_type": profile.text(profile.default_sample_type),
               "period": profile.period, "time_nanos": profile.time_nanos,
               "duration_nanos": profile.duration_nanos, "comments": profile.comments,
               "drop_frames": profile.text(profile.drop_frames), "mappings": mappings,
               "totals": profile.totals(), "rows": list(profile.rows())},
              sys.stdout, indent=1)
    print()
    return 0


def command_totals(arguments):
    for name, total in read_profile(arguments.file).totals().items():
        print(name, total)
    return 0


def command_sites(arguments):
    profile = read_profile(arguments.file)
    print("\t".join([name for name, _ in profile.sample_types] + ["site"]))
    sites = profile.sites(arguments.depth).items()
    for names, sums in sorted(sites, key=lambda site: (site[1][::-1], site[0]), reverse=True):
        print("\t".join([str(value) for value in sums] + [" < ".join(names)]))
    return 0


def main():
    parser = argparse.ArgumentParser(description="Read and check pprof heap profiles.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="print each violation of the format's rules")
    check.add_argument("files", nargs="+", metavar="FILE")
    for name in ("dump", "totals", "sites"):
        command = commands.add_parser(name)
        command.add_argument("file", metavar="FILE")
        if name == "sites":
            command.add_argument("--depth", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    try:
        return globals()["command_" + arguments.command](arguments)
    except (OSError, FormatError) as error:
        print("%s: %s" % (arguments.file, error), file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
