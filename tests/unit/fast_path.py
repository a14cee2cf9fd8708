#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a call that is not sampled executes, as it was compiled.

    fast_path.py LIBRARY FUNCTION=INSTRUCTIONS,ACCESSES...

Follows each function from its entry to the jump to the next definition, not taking conditional
jumps.  More than so many instructions, or accesses to memory, are too many; so are any call,
any push, and any locked instruction.  Of all functions, what is found by its distance from the
instruction is in one cache line, but for the place of the thread's own.  The first two functions
named are in two lines.

The sections of base/hot.h are a cache line each.
"""
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*?)\s*(?:#\s*([0-9a-f]+) <.*>)?$")
ADDRESSES = re.compile(r"\s\.got\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s")
CACHE_LINE_BYTES = 64


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()


def table_of_addresses(library):
    """Where the linker has put the place of what is a thread's own, and more."""
    start, size = ADDRESSES.search(output("readelf", "-SW", library)).groups()
    return range(int(start, 16), int(start, 16) + int(size, 16))


def instructions(library, function):
    """Of each: address, name, operands, and the address of what it says the distance to."""
    text = output("objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function, library)
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            yield match.groups()


def accesses_memory(name, operands):
    return "(" in operands and name not in ("lea", "nopl", "nopw")


def look(library, function, most_instructions, most_accesses, code, data):
    """code, data: sets of cache lines, to which the function's are added."""
    addresses = table_of_addresses(library)
    count = accesses = 0
    for address, name, operands, near in instructions(library, function):
        code.add(int(address, 16) // CACHE_LINE_BYTES)
        if near and int(near, 16) not in addresses:
            data.add(int(near, 16) // CACHE_LINE_BYTES)
        count += name != "endbr64"
        accesses += accesses_memory(name, operands)
        if name in ("call", "push", "lock", "xchg"):
            yield "%s: %s %s" % (function, name, operands)
        if name == "jmp":
            if not operands.startswith("*"):
                yield "%s: ends with jmp %s, not in the next definition" % (function, operands)
            break
    else:
        yield "%s: no jump" % function
    print("%s: %d instructions, %d accesses" % (function, count, accesses))
    if count > most_instructions or accesses > most_accesses:
        yield "%s: more than %d instructions, or %d accesses" % (
            function, most_instructions, most_accesses)


def look_at_section(library, name):
    section = re.search(r"\s%s\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s" % name,
                        output("readelf", "-SW", library))
    if section is None:
        return ["no section " + name]
    start, size = (int(number, 16) for number in section.groups())
    print("%s: %d bytes" % (name, size))
    if start % CACHE_LINE_BYTES + size > CACHE_LINE_BYTES:
        return ["%s is in more than one cache line" % name]
    return []


def main():
    library, code, data = sys.argv[1], [], set()
    found = look_at_section(library, "hs_hot") + look_at_section(library, "hs_each_sample")
    for each in sys.argv[2:]:
        function, _, most = each.partition("=")
        code.append(set())
        found += look(library, function, *(int(number) for number in most.split(",")),
                      code[-1], data)
    if len(data) > 1:
        found.append("they read %d cache lines" % len(data))
    if len(code[0] | code[1]) > 2:
        found.append("the first two are in %d cache lines" % len(code[0] | code[1]))
    for line in found:
        print("too much: " + line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
