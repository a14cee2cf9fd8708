#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a call that is not sampled executes, as it was compiled.

    fast_path.py LIBRARY FUNCTION=INSTRUCTIONS,ACCESSES...

Follows each function from its entry to the jump to the next definition, not taking conditional
jumps.  More than so many instructions, or accesses to memory, are too many; so are any call,
any push, and any locked instruction.
"""
import re
import subprocess
import sys

LINE = re.compile(r"^\s*[0-9a-f]+:\s+(\S+)\s*(.*?)\s*(?:#.*)?$")


def instructions(library, function):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function,
                           library], check=True, stdout=subprocess.PIPE).stdout.decode()
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            yield match.groups()


def accesses_memory(name, operands):
    return "(" in operands and name not in ("lea", "nopl", "nopw")


def look(library, function, most_instructions, most_accesses):
    count = accesses = 0
    for name, operands in instructions(library, function):
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


def main():
    library, status = sys.argv[1], 0
    for each in sys.argv[2:]:
        function, _, most = each.partition("=")
        for line in look(library, function, *(int(number) for number in most.split(","))):
            print("too much: " + line)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
