#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Deepest use of the stack below some functions, from what gcc -fcallgraph-info=su wrote.

    stack_usage.py --limit=BYTES [--entry=BYTES] [--cut=FUNCTION]... ROOT... -- FILE.ci...

ROOT: a function, or the beginning of names and "*".  entry: on the stack before it.
cut: where a path ends: it is not part of what is measured.
A function's bytes, as gcc counts them, include the return address of the call to it.
A call through a pointer, to another library's function or in a circle ends a path.
"""
import argparse
import re
import sys

NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"')
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
BYTES = re.compile(r'\\n(\d+) bytes \(([a-z,]+)\)')


def short(title):
    """gcc writes static functions as FILE:NAME."""
    return title.rsplit(":", 1)[-1]


def read_graph(paths):
    sizes, calls, unbounded = {}, {}, set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                node, edge = NODE.match(line), EDGE.match(line)
                if node and BYTES.search(node.group(2)):
                    size, kind = BYTES.search(node.group(2)).groups()
                    sizes[node.group(1)] = int(size)
                    if kind == "dynamic":
                        unbounded.add(node.group(1))
                elif edge:
                    calls.setdefault(edge.group(1), set()).add(edge.group(2))
    return sizes, calls, unbounded


class Measure:
    def __init__(self, sizes, calls, cut):
        self.sizes, self.calls, self.cut = sizes, calls, cut
        self.known = {}
        self.open = set()

    def deepest(self, name):
        """(bytes, [names])"""
        if name not in self.sizes or name in self.open or short(name) in self.cut:
            return 0, []
        if name not in self.known:
            self.open.add(name)
            below = max((self.deepest(each) for each in self.calls.get(name, ())),
                        default=(0, []))
            self.open.remove(name)
            self.known[name] = (self.sizes[name] + below[0], [name] + below[1])
        return self.known[name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, required=True)
    parser.add_argument("--entry", type=int, default=0)
    parser.add_argument("--cut", action="append", default=[])
    parser.add_argument("names", nargs="+")
    arguments = parser.parse_args()
    files = [name for name in arguments.names if name.endswith(".ci")]
    patterns = [name for name in arguments.names if not name.endswith(".ci")]
    sizes, calls, unbounded = read_graph(files)
    measure = Measure(sizes, calls, set(arguments.cut))
    status = 0
    for pattern in patterns:
        roots = [name for name in sizes if short(name) == pattern or
                 pattern.endswith("*") and short(name).startswith(pattern[:-1])]
        if not roots:
            print("no function %s" % pattern)
            status = 1
        for root in roots:
            used, path = measure.deepest(root)
            used += arguments.entry
            text = " > ".join("%s %d" % (short(name), sizes[name]) for name in path)
            if used > arguments.limit or unbounded & set(path):
                status = 1
                print("too much: %d bytes: %s" % (used, text))
            else:
                print("%d bytes: %s" % (used, text))
    return status


sys.exit(main())
