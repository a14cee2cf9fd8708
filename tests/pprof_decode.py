# SPDX-License-Identifier: BSD-2-Clause
"""A decoder of pprof profiles that shares nothing with the encoder under test: the wire
format is decoded here, and the field numbers are written down again."""
import gzip
import os
import zlib

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class FormatError(Exception):
    """The bytes are not an encoded profile."""


# Wire format

def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data):
            raise FormatError("varint cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise FormatError("varint longer than ten bytes")
    if value >> 64:
        raise FormatError("varint wider than 64 bits")
    return value, at


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def read_fields(data):
    """Yield (field number, wire type, value) of a message."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise FormatError("field number 0")
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire == BYTES:
            length, at = read_varint(data, at)
            if length > len(data) - at:
                raise FormatError("field %d goes past the end" % number)
            value = data[at:at + length]
            at += length
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
            if length > len(data) - at:
                raise FormatError("field %d goes past the end" % number)
            value = data[at:at + length]
            at += length
        else:
            raise FormatError("wire type %d" % wire)
        yield number, wire, value


def read_packed(data):
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value


class Message:
    """Decodes by FIELDS: number -> (attribute, kind), kind being one of uint, int, bool,
    uints, ints (packed or not), bytes (repeated), or a message class, alone or in a list.

    problems: what a decoder would let pass, but a writer must not do.
    """
    FIELDS = {}

    def __init__(self, data=b""):
        self.problems = []
        for name, kind in self.FIELDS.values():
            if isinstance(kind, list) or kind in ("uints", "ints", "bytes"):
                setattr(self, name, [])
            else:
                setattr(self, name, None if isinstance(kind, type) else 0)
        seen = set()
        for number, wire, value in read_fields(data):
            self._take(number, wire, value, seen)

    def _take(self, number, wire, value, seen):
        if number not in self.FIELDS:
            self.problems.append("unknown field %d" % number)
            return
        name, kind = self.FIELDS[number]
        what = "%s.%s" % (type(self).__name__, name)
        if kind in ("uints", "ints"):
            values = [value] if wire == VARINT else None
            if wire == BYTES:
                values = read_packed(value)
            if values is None:
                raise FormatError("%s has wire type %d" % (what, wire))
            getattr(self, name).extend(
                [signed(v) for v in values] if kind == "ints" else values)
            return
        if wire != (VARINT if kind in ("uint", "int", "bool") else BYTES):
            raise FormatError("%s has wire type %d" % (what, wire))
        if kind == "bytes":
            getattr(self, name).append(value)
        elif isinstance(kind, list):
            getattr(self, name).append(kind[0](value))
        else:
            if number in seen:
                self.problems.append("%s is given twice" % name)
            seen.add(number)
            if isinstance(kind, type):
                value = kind(value)
            elif kind == "int":
                value = signed(value)
            elif kind == "bool" and value > 1:
                self.problems.append("%s is %d" % (name, value))
            setattr(self, name, value)


class ValueType(Message):
    FIELDS = {1: ("type", "int"), 2: ("unit", "int")}


class Label(Message):
    FIELDS = {1: ("key", "int"), 2: ("str", "int"), 3: ("num", "int"), 4: ("num_unit", "int")}


class Sample(Message):
    FIELDS = {1: ("location_id", "uints"), 2: ("value", "ints"), 3: ("label", [Label])}


class Mapping(Message):
    FIELDS = {1: ("id", "uint"), 2: ("memory_start", "uint"), 3: ("memory_limit", "uint"),
              4: ("file_offset", "uint"), 5: ("filename", "int"), 6: ("build_id", "int"),
              7: ("has_functions", "bool"), 8: ("has_filenames", "bool"),
              9: ("has_line_numbers", "bool"), 10: ("has_inline_frames", "bool")}


class Line(Message):
    FIELDS = {1: ("function_id", "uint"), 2: ("line", "int"), 3: ("column", "int")}


class Location(Message):
    FIELDS = {1: ("id", "uint"), 2: ("mapping_id", "uint"), 3: ("address", "uint"),
              4: ("line", [Line]), 5: ("is_folded", "bool")}


class Function(Message):
    FIELDS = {1: ("id", "uint"), 2: ("name", "int"), 3: ("system_name", "int"),
              4: ("filename", "int"), 5: ("start_line", "int")}


class Profile(Message):
    """The raw message, with the texts decoded in .strings and views in plain terms."""
    FIELDS = {1: ("sample_type", [ValueType]), 2: ("samples", [Sample]), 3: ("mappings", [Mapping]),
              4: ("locations", [Location]), 5: ("functions", [Function]),
              6: ("string_table", "bytes"), 7: ("drop_frames", "int"), 8: ("keep_frames", "int"),
              9: ("time_nanos", "int"), 10: ("duration_nanos", "int"),
              11: ("period_type", ValueType), 12: ("period", "int"), 13: ("comment", "ints"),
              14: ("default_sample_type", "int"), 15: ("doc_url", "int")}

    def __init__(self, data=b""):
        super().__init__(data)
        self.strings = [raw.decode("utf-8", "backslashreplace") for raw in self.string_table]

    def text(self, index):
        return self.strings[index] if 0 <= index < len(self.strings) else "<text %d>" % index

    @property
    def sample_types(self):
        return [(self.text(t.type), self.text(t.unit)) for t in self.sample_type]

    @property
    def comments(self):
        return [self.text(index) for index in self.comment]

    def totals(self):
        sums = [0] * len(self.sample_type)
        for sample in self.samples:
            for i, value in enumerate(sample.value[:len(sums)]):
                sums[i] += value
        return {name: total for (name, _), total in zip(self.sample_types, sums)}

    def _frames(self):
        """Per location id: its frames, innermost first, as dictionaries."""
        mappings = {m.id: m for m in self.mappings}
        functions = {f.id: f for f in self.functions}
        frames = {}
        for location in self.locations:
            mapping = mappings.get(location.mapping_id)
            place = {"name": None, "system_name": None,
                     "mapping": self.text(mapping.filename) if mapping else None,
                     "offset": location.address - mapping.memory_start + mapping.file_offset
                               if mapping else location.address,
                     "address": location.address}
            lines = [functions.get(line.function_id) for line in location.line]
            frames[location.id] = [
                dict(place, name=self.text(f.name), system_name=self.text(f.system_name),
                     file=self.text(f.filename), start_line=f.start_line)
                for f in lines if f] or [place]
        return frames

    def rows(self):
        """Each sample as {"stack": [frame...], "values": [...], "labels": {...}}, leaf first."""
        frames = self._frames()
        for sample in self.samples:
            labels = {self.text(label.key): self.text(label.str) if label.str else label.num
                      for label in sample.label}
            stack = [frame for i in sample.location_id for frame in frames.get(i, [])]
            yield {"stack": stack, "values": sample.value, "labels": labels}

    def sites(self, depth=1):
        """{(innermost names, at most depth): [sums]}."""
        sums = {}
        for row in self.rows():
            key = tuple(frame_name(frame) for frame in row["stack"][:depth])
            total = sums.setdefault(key, [0] * len(self.sample_type))
            for i, value in enumerate(row["values"][:len(total)]):
                total[i] += value
        return sums


def frame_name(frame):
    if frame["name"]:
        return frame["name"]
    return "%s+0x%x" % (os.path.basename(frame["mapping"] or "?"), frame["offset"])


def decode(data):
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError("gzip: %s" % error)
    return Profile(data)


def read_profile(path):
    """Decode a file, compressed or not.  Raises OSError or FormatError."""
    with open(path, "rb") as file:
        return decode(file.read())
