# SPDX-License-Identifier: BSD-2-Clause
"""The rules that a heap profile must keep for all of its readers.

pprof itself checks few of them; the others are those of readers that take ids for
indexes, refuse text that is not UTF-8, or do not show what has no name.  Each check
takes a pprof_decode.Profile and yields its violations as lines of text.
"""
import re

SAMPLE_TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"),
                ("inuse_objects", "count"), ("inuse_space", "bytes")]
DEFAULT_SAMPLE_TYPE = "inuse_space"
PERIOD_TYPE = ("space", "bytes")


def is_pseudo(filename):
    """Stands for what is no file ("[anon]", "//anon"): its addresses need not lie inside."""
    return filename.startswith("[") or filename.startswith("//")


def check_wire(profile):
    def walk(message, where):
        for problem in message.problems:
            yield "%s: %s" % (where, problem)
        for name, kind in message.FIELDS.values():
            inner = getattr(message, name)
            if isinstance(kind, list):
                for i, each in enumerate(inner):
                    yield from walk(each, "%s %d" % (kind[0].__name__.lower(), i + 1))
            elif isinstance(kind, type) and inner is not None:
                yield from walk(inner, name)
    return walk(profile, "profile")


def check_strings(profile):
    if not profile.string_table or profile.string_table[0] != b"":
        yield "string_table[0] is not empty"
    for i, raw in enumerate(profile.string_table):
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            yield "string_table[%d] is not UTF-8: %r" % (i, raw)
    seen = {}
    for i, raw in enumerate(profile.string_table):
        if raw in seen:
            yield "string_table[%d] is the same as string_table[%d]: %r" % (i, seen[raw], raw)
        seen.setdefault(raw, i)


def text_references(profile):
    for i, t in enumerate(profile.sample_type):
        yield "sample type %d" % (i + 1), (t.type, t.unit)
    for i, sample in enumerate(profile.samples):
        for label in sample.label:
            yield "sample %d: label" % (i + 1), (label.key, label.str, label.num_unit)
    for m in profile.mappings:
        yield "mapping %d" % m.id, (m.filename, m.build_id)
    for f in profile.functions:
        yield "function %d" % f.id, (f.name, f.system_name, f.filename)
    if profile.period_type:
        yield "period type", (profile.period_type.type, profile.period_type.unit)
    yield "comment", profile.comment
    yield "profile", (profile.drop_frames, profile.keep_frames, profile.default_sample_type,
                      profile.doc_url)


def check_text_indexes(profile):
    for where, indexes in text_references(profile):
        for index in indexes:
            if not 0 <= index < len(profile.strings):
                yield "%s: text %d is not in the string table" % (where, index)


def check_header(profile):
    if profile.sample_types != SAMPLE_TYPES:
        yield "sample types are %s" % profile.sample_types
    for name, _ in profile.sample_types:
        if "-" in name:
            yield "sample type %s has a '-'" % name
    if profile.text(profile.default_sample_type) != DEFAULT_SAMPLE_TYPE:
        yield "default sample type is %r" % profile.text(profile.default_sample_type)
    period_type = profile.period_type
    if period_type is None:
        yield "period type is missing"
    elif (profile.text(period_type.type), profile.text(period_type.unit)) != PERIOD_TYPE:
        yield "period type is %s %s" % (profile.text(period_type.type),
                                        profile.text(period_type.unit))
    if profile.period < 1:
        yield "period is %d" % profile.period
    if profile.time_nanos <= 0:
        yield "time is %d" % profile.time_nanos
    if profile.duration_nanos < 0:
        yield "duration is %d" % profile.duration_nanos
    for index in profile.comment:
        if index == 0:
            yield "comment is empty"


def check_ids(profile):
    for what, table in (("mapping", profile.mappings), ("location", profile.locations),
                        ("function", profile.functions)):
        for i, entry in enumerate(table):
            if entry.id != i + 1:
                yield "%s %d has id %d" % (what, i + 1, entry.id)


def check_mappings(profile):
    for m in profile.mappings:
        filename, build_id = profile.text(m.filename), profile.text(m.build_id)
        if not filename:
            yield "mapping %d has no file name" % m.id
        elif not is_pseudo(filename) and m.memory_start >= m.memory_limit:
            yield "mapping %d is empty: 0x%x-0x%x" % (m.id, m.memory_start, m.memory_limit)
        if not re.fullmatch("([0-9a-f][0-9a-f])*", build_id):
            yield "mapping %d: build id %r is not lower-case hexadecimal" % (m.id, build_id)


def check_locations(profile):
    mappings = {m.id: m for m in profile.mappings}
    functions = {f.id for f in profile.functions}
    seen = {}
    for location in profile.locations:
        mapping = mappings.get(location.mapping_id)
        lines = tuple((line.function_id, line.line) for line in location.line)
        if mapping is None:
            yield "location %d: mapping %d does not exist" % (location.id, location.mapping_id)
        elif not (is_pseudo(profile.text(mapping.filename)) or
                  mapping.memory_start <= location.address < mapping.memory_limit):
            yield "location %d: 0x%x is outside mapping %d" % (location.id, location.address,
                                                               mapping.id)
        for function_id, _ in lines:
            if function_id not in functions:
                yield "location %d: function %d does not exist" % (location.id, function_id)
        key = (location.mapping_id, location.address, lines)
        if key in seen:
            yield "location %d is the same as location %d" % (location.id, seen[key])
        seen.setdefault(key, location.id)


def check_functions(profile):
    seen = {}
    for f in profile.functions:
        if not profile.text(f.name):
            yield "function %d has no name" % f.id
        if not profile.text(f.system_name):
            yield "function %d has no system name" % f.id
        key = (f.name, f.system_name, f.filename, f.start_line)
        if key in seen:
            yield "function %d is the same as function %d" % (f.id, seen[key])
        seen.setdefault(key, f.id)


def check_labels(profile, sample):
    keys = set()
    for label in sample.label:
        key = profile.text(label.key)
        if not key or key.startswith("pprof::"):
            yield "label key %r" % key
        if key in keys:
            yield "label %s is given twice" % key
        keys.add(key)
        if label.str and (label.num or label.num_unit):
            yield "label %s is both text and number" % key
        if not label.str and not label.num_unit:
            yield "label %s is a number without unit" % key


def is_delta(profile):
    """Of differences: where more was freed than allocated, what is in use is below 0."""
    return any(comment.endswith(" delta") for comment in profile.comments)


def check_samples(profile):
    never_negative = [name.startswith("alloc_") or not is_delta(profile)
                      for name, _ in profile.sample_types]
    locations = {location.id for location in profile.locations}
    seen = {}
    for i, sample in enumerate(profile.samples):
        problems = list(check_labels(profile, sample))
        if len(sample.value) != len(profile.sample_type):
            problems.append("%d values" % len(sample.value))
        if not any(sample.value):
            problems.append("all values are zero")
        if any(value < 0 and never for value, never in zip(sample.value, never_negative)):
            problems.append("negative value: %s" % sample.value)
        if not sample.location_id:
            problems.append("empty stack")
        for location_id in sample.location_id:
            if location_id not in locations:
                problems.append("location %d does not exist" % location_id)
        labels = tuple(sorted((l.key, l.str, l.num, l.num_unit) for l in sample.label))
        key = (tuple(sample.location_id), labels)
        if key in seen:
            problems.append("same stack and labels as sample %d" % seen[key])
        seen.setdefault(key, i + 1)
        for problem in problems:
            yield "sample %d: %s" % (i + 1, problem)


CHECKS = [check_wire, check_strings, check_text_indexes, check_header, check_ids, check_mappings,
          check_locations, check_functions, check_samples]


def violations(profile):
    return [line for check in CHECKS for line in check(profile)]
