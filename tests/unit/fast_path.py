#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a call that is not sampled executes, as it was compiled.

    fast_path.py LIBRARY FUNCTION=INSTRUCTIONS,ACCESSES...

Follows each function from its entry to the jump to the next definition, not taking conditional
jumps.  More than so many instructions, or accesses to memory, are too many; so are any call,
any push, and any locked instruction.  Of all functions, what is found by its distance from the
instruction is in one cache line, but for the place of the thread's own.  The first two functions
named are in two lines.

The first two sections of base/hot.h are a cache line each, the third is two; with the rest of what
samples use, but for the third heap and those behind it, they are one page.  The code of a sample
of malloc or calloc whose stack is copied is in two.
"""
import re
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*?)\s*(?:#\s*([0-9a-f]+) <.*>)?$")
ADDRESSES = re.compile(r"\s\.got\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s")
CACHE_LINE_BYTES = 64
PAGE_BYTES = 4096
HEAPS = 256  # HS_HEAP_LIMIT
CODE_PAGES = 2
WORD_LINES = 2
SAMPLE_CODE = """
malloc free calloc hs_entry_malloc hs_entry_calloc hs_slow_malloc hs_slow_calloc hs_slow_free
can_pass hs_session_record hs_record_allocation hs_reentry_enter prepare_sample draw
hs_sampler_draw hs_capture_plan hs_live_set_fetch hs_ring_fetch try_record hs_live_set_take
hs_ring_reserve hs_capture_copy hs_live_set_insert_id hs_live_index_insert hs_live_table_insert
hs_ring_commit hs_ring_is_filling hs_ring_tell_reader hs_session_recorded
""".split()


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
            address, name, operands, near = match.groups()
            # objdump before 2.37 names their size.
            yield address, {"jmpq": "jmp", "callq": "call"}.get(name, name), operands, near


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


def section(library, name):
    """Its addresses: none where there is no such section."""
    found = re.search(r"\s%s\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s" % name,
                      output("readelf", "-SW", library))
    start, size = (int(number, 16) for number in found.groups()) if found else (0, 0)
    print("%s: %d bytes" % (name, size))
    return range(start, start + size)


def symbols(library):
    """Of each function and variable: name and addresses.  Several may have one name."""
    found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [dtDT] (\w+)$", output("nm", "-S", library), re.M)
    return [(name, range(int(start, 16), int(start, 16) + int(size, 16)))
            for start, size, name in found]


def units(addresses, unit_bytes):
    return {address // unit_bytes for address in addresses}


def look_at_data(library, names):
    hot, each, words, data, heaps = (section(library, name) for name in (
        "hs_hot", "hs_each_sample", "hs_sample_words", "hs_sample_data", "hs_sample_heaps"))
    for name, line in ("hs_hot", hot), ("hs_each_sample", each):
        if len(units(line, CACHE_LINE_BYTES)) != 1:
            yield "%s is not in one cache line" % name
    if not words or len(units(words, CACHE_LINE_BYTES)) > WORD_LINES:
        yield "hs_sample_words is not in %d cache lines" % WORD_LINES
    used = [*hot, *each, *words, *data, *heaps[:2 * len(heaps) // HEAPS]]
    if not data or not heaps or len(units(used, PAGE_BYTES)) > 1:
        yield "what samples use is not in one page"
    if not any(name == "not_alone" and addresses[0] in words for name, addresses in names):
        yield "what hs_alone_flag points to is not in hs_sample_words"


def look_at_code(names):
    """Functions that the compiler has put into others are where these are."""
    pages = {}
    for name, addresses in names:
        if name in SAMPLE_CODE:
            pages.setdefault(name, set()).update(units(addresses, PAGE_BYTES))
    found = set().union(*pages.values())
    print("a sample's code: %d functions in %d pages" % (len(pages), len(found)))
    if not 1 <= len(found) <= CODE_PAGES:
        yield "the code of a sample is in %d pages" % len(found)


def main():
    library, code, data = sys.argv[1], [], set()
    names = symbols(library)
    found = [*look_at_data(library, names), *look_at_code(names)]
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
