/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encodes a view as perftools.profiles.Profile.  See pprof_encoder.h.
 *
 * A protobuf message is the concatenation of its fields, in any order.  So the profile is written
 * piece by piece: a Profile that has the singular fields only, then each element of the repeated
 * fields behind its tag.  Texts get their numbers when they are first used, and are written last.
 */
#include "output/pprof_encoder.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/interner.h"
#include "output/pprof_labels.h"
#include "output/proto/profile.pb-c.h"
#include "output/string_table.h"

/* Field numbers of Profile (profile.proto): those that are written one by one. */
enum field {
	FIELD_SAMPLE = 2,
	FIELD_MAPPING = 3,
	FIELD_LOCATION = 4,
	FIELD_FUNCTION = 5,
	FIELD_STRING_TABLE = 6,
};

enum {
	PIECE_BYTES = 16 << 10, /* written at a time, except for a larger message */
	FRAME_BYTES = 11,       /* a tag of one byte, a length of at most ten */
};

/* The key of a function.  Functions are numbered in order of first use. */
struct function {
	uint32_t name;        /* number of a text */
	uint32_t system_name; /* number of a text */
	uint32_t filename;    /* number of a text */
	uint32_t start_line;
};

struct encoder {
	const struct hs_view *view;
	hs_byte_sink_fn sink;
	struct hs_string_table strings;
	struct hs_interner functions; /* of struct function; a function's id is its number + 1 */
	struct hs_pprof_labels labels;
	uint64_t *stack; /* one stack, by location ids */
	uint8_t *buffer; /* packed messages that are not written yet */
	size_t capacity;
	size_t used;
};

/* Static, so that a forked child, which lacks the producer's stack, can free what it has. */
static struct encoder current;

static int intern(struct encoder *encoder, const char *text, int64_t *number)
{
	uint32_t result;
	int error = hs_string_table_intern(&encoder->strings, text, &result);

	*number = result;
	return error;
}

static int write_out(struct encoder *encoder)
{
	size_t bytes = encoder->used;

	encoder->used = 0;
	return bytes > 0 ? encoder->sink(encoder->buffer, bytes) : 0;
}

/* Makes room in the buffer for so many bytes more, by writing what it has if need be. */
static int reserve(struct encoder *encoder, size_t bytes)
{
	size_t capacity = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
	int error;

	if (bytes <= encoder->capacity - encoder->used)
		return 0;
	error = write_out(encoder);
	if (error != 0 || bytes <= encoder->capacity)
		return error;
	hs_arena_free(encoder->buffer);
	encoder->buffer = hs_arena_alloc(capacity);
	encoder->capacity = encoder->buffer != NULL ? capacity : 0;
	return encoder->buffer != NULL ? 0 : -ENOMEM;
}

/* The tag and length before a length-delimited field.  Returns the bytes written. */
static size_t put_frame(uint8_t *out, enum field field, size_t bytes)
{
	size_t used = 0;

	out[used++] = (uint8_t)(field << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
	for (; bytes >= 0x80; bytes >>= 7)
		out[used++] = (uint8_t)(bytes | 0x80);
	out[used++] = (uint8_t)bytes;
	return used;
}

static int write_message(struct encoder *encoder, enum field field, const ProtobufCMessage *message)
{
	size_t bytes = protobuf_c_message_get_packed_size(message);
	int error = reserve(encoder, FRAME_BYTES + bytes);

	if (error != 0)
		return error;
	encoder->used += put_frame(encoder->buffer + encoder->used, field, bytes);
	encoder->used += protobuf_c_message_pack(message, encoder->buffer + encoder->used);
	hs_pauses_count(encoder->view->pauses);
	return 0;
}

static int value_type(struct encoder *encoder, const char *type, const char *unit,
		      Perftools__Profiles__ValueType *out)
{
	perftools__profiles__value_type__init(out);
	if (intern(encoder, type, &out->type) != 0 || intern(encoder, unit, &out->unit) != 0)
		return -ENOMEM;
	return 0;
}

static int fill_texts(struct encoder *encoder, Perftools__Profiles__Profile *profile)
{
	const struct hs_view *view = encoder->view;

	if (intern(encoder, view->drop_frames, &profile->drop_frames) != 0 ||
	    intern(encoder, "inuse_space", &profile->default_sample_type) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < HS_VIEW_COMMENTS; i++) {
		if (view->comments[i] == NULL)
			continue;
		if (intern(encoder, view->comments[i], &profile->comment[profile->n_comment]) != 0)
			return -ENOMEM;
		profile->n_comment++;
	}
	return 0;
}

/* The fields that come once.  Packed without a frame: they are the outermost message's. */
static int write_header(struct encoder *encoder)
{
	static const char *const types[HS_VIEW_VALUES][2] = {
		{"alloc_objects", "count"},
		{"alloc_space", "bytes"},
		{"inuse_objects", "count"},
		{"inuse_space", "bytes"},
	};
	Perftools__Profiles__Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType sample_types[HS_VIEW_VALUES];
	Perftools__Profiles__ValueType *sample_type_list[HS_VIEW_VALUES];
	Perftools__Profiles__ValueType period_type;
	int64_t comments[HS_VIEW_COMMENTS];
	int error;

	for (size_t i = 0; i < HS_VIEW_VALUES; i++) {
		if (value_type(encoder, types[i][0], types[i][1], &sample_types[i]) != 0)
			return -ENOMEM;
		sample_type_list[i] = &sample_types[i];
	}
	profile.n_sample_type = HS_VIEW_VALUES;
	profile.sample_type = sample_type_list;
	profile.comment = comments;
	if (value_type(encoder, "space", "bytes", &period_type) != 0 ||
	    fill_texts(encoder, &profile) != 0)
		return -ENOMEM;
	profile.period_type = &period_type;
	profile.period = (int64_t)encoder->view->period_bytes;
	profile.time_nanos = encoder->view->time_ns;
	/* Readers of many profiles divide values by the duration if there is one (Parca). */
	if (encoder->view->delta == HS_DELTA_ALL)
		profile.duration_nanos = encoder->view->duration_ns;

	error = reserve(encoder, protobuf_c_message_get_packed_size(&profile.base));
	if (error == 0)
		encoder->used +=
			protobuf_c_message_pack(&profile.base, encoder->buffer + encoder->used);
	return error;
}

static int write_row(struct encoder *encoder, const struct hs_view_row *row)
{
	const struct hs_view *view = encoder->view;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	int64_t values[HS_VIEW_VALUES];

	sample.n_location_id = view->get_stack(view->stack_context, row->callsite, encoder->stack,
					       view->deepest_stack);
	sample.location_id = encoder->stack;
	for (size_t i = 0; i < HS_VIEW_VALUES; i++)
		values[i] = row->values[i];
	sample.n_value = HS_VIEW_VALUES;
	sample.value = values;
	if (hs_pprof_labels_fill(&encoder->labels, row, &sample) != 0)
		return -ENOMEM;
	return write_message(encoder, FIELD_SAMPLE, &sample.base);
}

static int write_rows(struct encoder *encoder)
{
	const struct hs_view *view = encoder->view;
	int error = 0;

	encoder->stack = hs_arena_alloc(view->deepest_stack * sizeof *encoder->stack);
	if (encoder->stack == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < view->row_count && error == 0; i++)
		error = write_row(encoder, &view->rows[i]);
	return error;
}

static int write_mappings(struct encoder *encoder)
{
	const struct hs_view *view = encoder->view;
	int error = 0;

	for (size_t i = 0; i < view->mapping_count && error == 0; i++) {
		const struct hs_view_mapping *from = &view->mappings[i];
		Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT;

		mapping.id = i + 1;
		mapping.memory_start = from->start;
		mapping.memory_limit = from->limit;
		mapping.file_offset = from->offset;
		mapping.has_functions = from->has_functions;
		if (intern(encoder, from->filename, &mapping.filename) != 0 ||
		    intern(encoder, from->build_id, &mapping.build_id) != 0)
			return -ENOMEM;
		error = write_message(encoder, FIELD_MAPPING, &mapping.base);
	}
	return error;
}

/* The id of the function of a location that has a name. */
static int function_id(struct encoder *encoder, const struct hs_view_location *location,
		       uint32_t *id)
{
	const char *system_name = location->system_name ? location->system_name : location->name;
	struct function function = {.start_line = location->start_line};
	uint32_t number;

	if (hs_string_table_intern(&encoder->strings, location->name, &function.name) != 0 ||
	    hs_string_table_intern(&encoder->strings, system_name, &function.system_name) != 0 ||
	    hs_string_table_intern(&encoder->strings, location->filename, &function.filename) != 0)
		return -ENOMEM;
	number = hs_interner_add(&encoder->functions, &function);
	*id = number + 1;
	return number == HS_INTERNER_NONE ? -ENOMEM : 0;
}

static int write_location(struct encoder *encoder, size_t i)
{
	const struct hs_view_location *from = &encoder->view->locations[i];
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Line line = PERFTOOLS__PROFILES__LINE__INIT;
	Perftools__Profiles__Line *lines[1] = {&line};
	uint32_t function = 0;

	location.id = i + 1;
	location.mapping_id = (uint64_t)from->mapping + 1;
	location.address = from->address;
	if (from->name != NULL) {
		if (function_id(encoder, from, &function) != 0)
			return -ENOMEM;
		line.function_id = function;
		location.n_line = 1;
		location.line = lines;
	}
	return write_message(encoder, FIELD_LOCATION, &location.base);
}

static int write_locations(struct encoder *encoder)
{
	int error = 0;

	for (size_t i = 0; i < encoder->view->location_count && error == 0; i++)
		error = write_location(encoder, i);
	return error;
}

static int write_functions(struct encoder *encoder)
{
	int error = 0;

	for (uint32_t i = 0; i < encoder->functions.count && error == 0; i++) {
		Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
		const struct function *from = hs_interner_item(&encoder->functions, i);

		function.id = (uint64_t)i + 1;
		function.name = from->name;
		function.system_name = from->system_name;
		function.filename = from->filename;
		function.start_line = from->start_line;
		error = write_message(encoder, FIELD_FUNCTION, &function.base);
	}
	return error;
}

/* Not by protobuf-c, whose strings are NUL-terminated; a text that was cut is not. */
static int write_strings(struct encoder *encoder)
{
	for (uint32_t i = 0; i < encoder->strings.interner.count; i++) {
		const struct hs_string *string = hs_string_table_get(&encoder->strings, i);
		int error = reserve(encoder, FRAME_BYTES + (size_t)string->length);

		if (error != 0)
			return error;
		encoder->used += put_frame(encoder->buffer + encoder->used, FIELD_STRING_TABLE,
					   string->length);
		memcpy(encoder->buffer + encoder->used, string->bytes, string->length);
		encoder->used += string->length;
		hs_pauses_count(encoder->view->pauses);
	}
	return 0;
}

static int start(struct encoder *encoder)
{
	struct hs_string_table *strings = &encoder->strings;

	if (hs_string_table_init(strings) != 0 ||
	    hs_interner_init(&encoder->functions, sizeof(struct function),
			     sizeof(struct function)) != 0 ||
	    hs_pprof_labels_init(&encoder->labels, strings) != 0)
		return -ENOMEM;
	return 0;
}

void hs_pprof_encode_end(void)
{
	hs_arena_free(current.stack);
	hs_arena_free(current.buffer);
	hs_interner_fini(&current.functions);
	hs_string_table_fini(&current.strings);
	current = (struct encoder){.view = NULL};
}

int hs_pprof_encode(const struct hs_view *view, hs_byte_sink_fn sink)
{
	static int (*const steps[])(struct encoder * encoder) = {
		start,           write_header,    write_rows,    write_mappings,
		write_locations, write_functions, write_strings, write_out,
	};
	int error = 0;

	current = (struct encoder){.view = view, .sink = sink};
	for (size_t i = 0; i < sizeof steps / sizeof steps[0] && error == 0; i++)
		error = steps[i](&current);
	hs_pprof_encode_end();
	return error;
}
