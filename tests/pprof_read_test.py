#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Proves that pprof_read.py's checker can fail: one profile that is right, and for each
rule the same profile with that rule broken."""
import contextlib
import gzip
import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import pprof_read  # noqa: E402


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def encode(fields):
    """fields: list of (number, value); an int, bytes, or a list of fields."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = encode(value) if isinstance(value, list) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def packed(values):
    return b"".join(varint(value) for value in values)


class Builder:
    """A profile in plain terms, to be damaged before it is encoded."""

    def __init__(self):
        self.strings = [b""]
        self.sample_types = list(pprof_read.SAMPLE_TYPES)
        self.default = b"inuse_space"
        self.period_type = (b"space", b"bytes")
        self.period = 524288
        self.time = 1700000000 * 10**9
        self.mappings = [dict(id=1, start=0x1000, limit=0x5000, name=b"/bin/a", build_id=b"0aff"),
                         dict(id=2, start=0, limit=0, name=b"[lost]", build_id=b"")]
        self.functions = [(1, b"main", b"main"), (2, b"f", b"_Z1fv"), (3, b"[lost]", b"[lost]")]
        self.locations = [(1, 1, 0x1010, [1]), (2, 1, 0x1020, [2]), (3, 1, 0x1030, []),
                          (4, 2, 0, [3])]
        size, tid, thread = self.number(b"bytes", 64), self.number(b"tid", 0), (b"thread", b"io")
        self.samples = [([2, 1], [4, 256, 1, 64], [size]), ([3, 1], [1, 64, 1, 64], [size]),
                        ([2, 1], [1, 8, 0, 0], [tid, thread]), ([4], [0, 0, 1, 5], [])]
        self.comments = [b"one", b"two"]
        self.extra = b""

    @staticmethod
    def number(key, value, unit=None):
        return key, value, key if unit is None else unit

    def text(self, value):
        if isinstance(value, int):
            return value  # an index as it stands, to be wrong on purpose
        if isinstance(value, str):
            value = value.encode()
        if value not in self.strings:
            self.strings.append(value)
        return self.strings.index(value)

    def label(self, label):
        fields = [(1, self.text(label[0]))]
        if isinstance(label[1], int):
            fields += [(3, label[1])] + ([(4, self.text(label[2]))] if label[2] != b"" else [])
        else:
            fields += [(2, self.text(label[1]))] + [(3, n) for n in label[2:]]
        return fields

    def encode(self):
        fields = [(1, [(1, self.text(t)), (2, self.text(u))]) for t, u in self.sample_types]
        for stack, values, labels in self.samples:
            fields.append((2, [(1, packed(stack)), (2, packed(values))] +
                           [(3, self.label(label)) for label in labels]))
        for m in self.mappings:
            fields.append((3, [(1, m["id"]), (2, m["start"]), (3, m["limit"]),
                               (5, self.text(m["name"])), (6, self.text(m["build_id"]))]))
        for number, mapping, address, functions in self.locations:
            fields.append((4, [(1, number), (2, mapping), (3, address)] +
                           [(4, [(1, function)]) for function in functions]))
        for number, name, system_name in self.functions:
            fields.append((5, [(1, number), (2, self.text(name)), (3, self.text(system_name))]))
        if self.period_type is not None:
            fields.append((11, [(1, self.text(self.period_type[0])),
                                (2, self.text(self.period_type[1]))]))
        comments = packed([self.text(comment) for comment in self.comments])
        fields += [(9, self.time), (12, self.period), (13, comments), (14, self.text(self.default))]
        return encode(fields + [(6, text) for text in self.strings]) + self.extra


def set_item(name, index, value):
    def damage(builder):
        getattr(builder, name)[index] = value
    return damage


def set_mapping(**values):
    return lambda builder: builder.mappings[0].update(values)


def set_labels(*labels):
    return set_item("samples", 0, ([2, 1], [4, 256, 1, 64], list(labels)))


def set_value(name, value):
    return lambda builder: setattr(builder, name, value)


def add(name, value):
    return lambda builder: getattr(builder, name).append(value)


DAMAGES = [
    (set_item("strings", 0, b"x"), "string_table[0] is not empty"),
    (add("comments", b"caf\xe9"), "is not UTF-8"),
    (add("comments", b"\xed\xa0\x80"), "is not UTF-8"),
    (add("comments", 99), "comment: text 99 is not in the string table"),
    (add("comments", -1), "comment: text -1 is not in the string table"),
    (add("comments", b""), "comment is empty"),
    (set_value("extra", encode([(6, b"main")])), "is the same as string_table"),
    (set_value("extra", encode([(12, 1)])), "profile: period is given twice"),
    (set_value("extra", encode([(77, 1)])), "profile: unknown field 77"),
    (set_value("extra", encode([(7, 1000)])), "profile: text 1000"),
    (set_value("extra", encode([(8, 1000)])), "profile: text 1000"),
    (set_value("extra", encode([(15, 1000)])), "profile: text 1000"),
    (set_value("extra", encode([(3, [(1, 3), (5, 1), (7, 2)])])), "mapping 3: has_functions is 2"),
    (set_value("extra", encode([(10, -5)])), "duration is -5"),
    (lambda b: b.sample_types.pop(), "sample types are"),
    (lambda b: b.sample_types.reverse(), "sample types are"),
    (set_item("sample_types", 0, ("alloc-objects", "count")),
     "sample type alloc-objects has a '-'"),
    (set_item("sample_types", 1, ("alloc_space", "kilobytes")), "sample types are"),
    (set_item("sample_types", 0, (500, "count")), "sample type 1: text 500"),
    (set_value("default", b"alloc_space"), "default sample type is 'alloc_space'"),
    (set_value("default", 0), "default sample type is ''"),
    (set_value("period_type", (b"heap", b"bytes")), "period type is heap bytes"),
    (set_value("period_type", (b"space", 500)), "period type: text 500"),
    (set_value("period_type", None), "period type is missing"),
    (set_value("extra", encode([(11, [(9, 1)])])), "period_type: unknown field 9"),
    (set_value("period", 0), "period is 0"),
    (set_value("time", 0), "time is 0"),
    (set_mapping(id=3), "mapping 1 has id 3"),
    (set_mapping(id=0), "mapping 1 has id 0"),
    (set_mapping(name=b""), "mapping 1 has no file name"),
    (set_mapping(name=700), "mapping 1: text 700"),
    (set_mapping(build_id=b"0AFF"), "build id '0AFF' is not lower-case hexadecimal"),
    (set_mapping(limit=0x1000), "mapping 1 is empty"),
    (set_mapping(limit=0x1030), "location 3: 0x1030 is outside mapping 1"),
    (set_mapping(start=0x1011), "location 1: 0x1010 is outside mapping 1"),
    (set_item("locations", 0, (9, 1, 0x1010, [1])), "location 1 has id 9"),
    (set_item("locations", 0, (1, 0, 0x1010, [1])), "location 1: mapping 0 does not exist"),
    (set_item("locations", 0, (1, 3, 0x1010, [1])), "location 1: mapping 3 does not exist"),
    (set_item("locations", 0, (1, 1, 0x1010, [9])), "location 1: function 9 does not exist"),
    (set_item("locations", 0, (1, 1, 0x1010, [0])), "location 1: function 0 does not exist"),
    (set_item("locations", 1, (2, 1, 0x1010, [1])), "location 2 is the same as location 1"),
    (set_item("functions", 1, (7, b"f", b"_Z1fv")), "function 2 has id 7"),
    (set_item("functions", 1, (2, b"", b"_Z1fv")), "function 2 has no name"),
    (set_item("functions", 1, (2, b"f", b"")), "function 2 has no system name"),
    (set_item("functions", 1, (2, b"main", b"main")), "function 2 is the same as function 1"),
    (set_item("functions", 1, (2, b"f", 800)), "function 2: text 800"),
    (set_item("samples", 3, ([4], [0, 0, 1], [])), "sample 4: 3 values"),
    (set_item("samples", 3, ([4], [0, 0, 1, 5, 6], [])), "sample 4: 5 values"),
    (set_item("samples", 3, ([4], [0, 0, 0, 0], [])), "sample 4: all values are zero"),
    (set_item("samples", 3, ([4], [0, 0, 1, -5], [])), "sample 4: negative value"),
    (set_item("samples", 3, ([], [0, 0, 1, 5], [])), "sample 4: empty stack"),
    (set_item("samples", 3, ([5], [0, 0, 1, 5], [])), "sample 4: location 5 does not exist"),
    (set_item("samples", 3, ([4, 0], [0, 0, 1, 5], [])), "sample 4: location 0 does not exist"),
    (add("samples", ([4], [1, 1, 1, 1], [])), "sample 5: same stack and labels as sample 4"),
    (add("samples", ([2, 1], [1, 1, 1, 1], [Builder.number(b"bytes", 64)])),
     "sample 5: same stack and labels as sample 1"),
    (set_labels(Builder.number(b"bytes", 1), Builder.number(b"bytes", 2)),
     "sample 1: label bytes is given twice"),
    (set_labels(Builder.number(b"tid", 1), (b"tid", b"x")), "sample 1: label tid is given twice"),
    (set_labels(Builder.number(b"bytes", 1, b"")),
     "sample 1: label bytes is a number without unit"),
    (set_labels((b"thread", b"")), "sample 1: label thread is a number without unit"),
    (set_labels((b"thread", b"x", 3)), "sample 1: label thread is both text and number"),
    (set_labels((b"", b"x")), "sample 1: label key ''"),
    (set_labels((b"pprof::base", b"x")), "sample 1: label key 'pprof::base'"),
    (set_labels((900, b"x")), "sample 1: label: text 900"),
]


def check_bytes(data):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(data)
    try:
        return pprof_read.check_file(file.name)
    finally:
        os.unlink(file.name)


class CheckTest(unittest.TestCase):
    def test_right_profile(self):
        data = Builder().encode()
        self.assertEqual(check_bytes(data), [])
        self.assertEqual(check_bytes(gzip.compress(data)), [])

    def test_each_rule(self):
        for i, (damage, expected) in enumerate(DAMAGES):
            builder = Builder()
            damage(builder)
            found = check_bytes(builder.encode())
            with self.subTest(damage=i, expected=expected):
                self.assertTrue(any(expected in line for line in found), found)

    def test_pseudo_mapping_holds_any_address(self):
        for name in (b"[anon:jit]", b"//anon"):
            builder = Builder()
            builder.mappings[1]["name"] = name
            builder.locations.append((5, 2, 0xdeadbeef, [3]))
            builder.samples.append(([5], [1, 1, 1, 1], []))
            self.assertEqual(check_bytes(builder.encode()), [])

    def test_same_stack_with_other_labels(self):
        builder = Builder()
        builder.samples.append(([2, 1], [1, 1, 1, 1], [Builder.number(b"bytes", 128)]))
        self.assertEqual(check_bytes(builder.encode()), [])

    def test_two_profiles_in_one_file(self):
        data = Builder().encode()
        self.assertIn("profile: time_nanos is given twice", check_bytes(data + data))

    def test_cut_off_anywhere(self):
        packed_data = gzip.compress(Builder().encode())
        for length in range(len(packed_data)):
            self.assertNotEqual(check_bytes(packed_data[:length]), [], length)

    def test_malformed(self):
        for data, expected in (
                (b"\xff" * 11, "varint longer than ten bytes"),
                (b"\x48" + b"\x80" * 9 + b"\x02", "varint wider than 64 bits"),
                (b"\x08", "varint cut off"), (encode([(2, [(1, b"\x80")])]), "varint cut off"),
                (b"\x0a\x05ab", "field 1 goes past the end"),
                (b"\x0b", "wire type 3"), (b"\x00\x00", "field number 0"),
                (b"\x4d\x00", "field 9 goes past the end"),
                (b"\x49" + b"\x00" * 7, "field 9 goes past the end"),
                (b"\x49" + b"\x00" * 8, "Profile.time_nanos has wire type 1"),
                (b"\x4d" + b"\x00" * 4, "Profile.time_nanos has wire type 5"),
                (b"\x6d" + b"\x00" * 4, "Profile.comment has wire type 5"),
                (encode([(9, b"x")]), "Profile.time_nanos has wire type 2"),
                (encode([(6, 1)]), "Profile.string_table has wire type 0"),
                (b"\x1f\x8b\x08", "gzip: ")):
            found = check_bytes(data)
            self.assertEqual(len(found), 1, (data, found))
            self.assertTrue(found[0].startswith("not a profile: " + expected), (data, found))

    def test_changed_compressed_byte(self):
        packed_data = bytearray(gzip.compress(Builder().encode()))
        packed_data[len(packed_data) // 2] ^= 0x10
        self.assertNotEqual(check_bytes(bytes(packed_data)), [])

    def test_missing_file(self):
        self.assertIn("not readable", pprof_read.check_file("/nonexistent/file")[0])


class ReadTest(unittest.TestCase):
    def run_command(self, *arguments):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "profile")
            with open(path, "wb") as file:
                file.write(gzip.compress(Builder().encode()))
            out = io.StringIO()
            sys.argv = ["pprof_read.py", arguments[0], path] + list(arguments[1:])
            with contextlib.redirect_stdout(out):
                status = pprof_read.main()
        return status, out.getvalue()

    def test_check_status(self):
        self.assertEqual(self.run_command("check"), (0, ""))

    def test_totals(self):
        self.assertEqual(self.run_command("totals"), (0, "alloc_objects 6\nalloc_space 328\n"
                                                         "inuse_objects 3\ninuse_space 133\n"))

    def test_sites(self):
        self.assertEqual(self.run_command("sites")[1].splitlines(), [
            "alloc_objects\talloc_space\tinuse_objects\tinuse_space\tsite",
            "5\t264\t1\t64\tf", "1\t64\t1\t64\ta+0x30", "0\t0\t1\t5\t[lost]"])
        self.assertIn("5\t264\t1\t64\tf < main", self.run_command("sites", "--depth", "2")[1])

    def test_dump(self):
        dump = json.loads(self.run_command("dump")[1])
        self.assertEqual(dump["sample_types"], [list(t) for t in pprof_read.SAMPLE_TYPES])
        self.assertEqual((dump["period"], dump["comments"]), (524288, ["one", "two"]))
        self.assertEqual(dump["mappings"][0]["build_id"], "0aff")
        self.assertEqual(dump["totals"]["inuse_space"], 133)
        self.assertEqual(dump["rows"][2]["labels"], {"tid": 0, "thread": "io"})
        self.assertEqual(dump["rows"][0]["values"], [4, 256, 1, 64])
        frame = dump["rows"][0]["stack"][0]
        self.assertEqual((frame["name"], frame["system_name"], frame["mapping"], frame["address"]),
                         ("f", "_Z1fv", "/bin/a", 0x1020))

    def test_signed_values(self):
        builder = Builder()
        builder.samples[0] = ([2, 1], [-1, -(1 << 63), 1, (1 << 63) - 1], [])
        profile = pprof_read.decode(builder.encode())
        self.assertEqual(profile.samples[0].value, [-1, -(1 << 63), 1, (1 << 63) - 1])


if __name__ == "__main__":
    unittest.main()
