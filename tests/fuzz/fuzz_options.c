/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings: the input is an environment, variables ended by NULs.  "HEAPSAMPLE" is put before
 * those that begin with '_' and have a '=', so that short inputs have an effect.  The values are
 * used as at start-up: names of files, globs, prefixes, intervals of heaps.
 */
#include "fuzz.h"

#include "base/options.h"
#include "output/dump_file.h"
#include "profile/symbol_filter.h"

#define VARIABLES 64
#define TEXT_BYTES 8192 /* the most room for a start-up line that is cut */

static size_t reports;

static void count_report(const char *line)
{
	MUST(strlen(line) < 512);
	reports++;
}

/* Copies each variable to a block of its own.  Returns how many there are. */
static size_t make_environment(const uint8_t *data, size_t bytes, char *environment[VARIABLES + 1])
{
	const uint8_t *end = data + bytes;
	size_t count = 0;

	while (data < end && count < VARIABLES) {
		size_t length = strnlen((const char *)data, (size_t)(end - data));
		char *variable = malloc(length + sizeof "HEAPSAMPLE_");

		variable[0] = '\0';
		if (memchr(data, '=', length) != NULL && data[0] == '_')
			strcpy(variable, "HEAPSAMPLE");
		strncat(variable, (const char *)data, length);
		environment[count++] = variable;
		data += length < (size_t)(end - data) ? length + 1 : length;
	}
	environment[count] = NULL;
	return count;
}

static void check_numbers(const struct hs_options *options)
{
	MUST(options->interval_bytes >= 1 && options->interval_bytes <= UINT64_C(256) << 30);
	MUST(options->depth_frames >= 1 && options->depth_frames <= 1024);
	MUST(options->stack_bytes >= 8 << 10 && options->stack_bytes <= 256 << 10);
	MUST((options->ring_bytes & (options->ring_bytes - 1)) == 0);
	MUST(options->ring_bytes == 0 || options->ring_bytes >= 64 << 10);
	MUST(options->memory_bytes >= 16 << 20 && options->oom_percent <= 99);
	MUST(options->signal_number >= 0 && options->signal_number <= 64);
	MUST(hs_options_least_interval(options) >= 1);
}

static void use_pattern(const char *pattern)
{
	static char path[HS_PATH_BYTES];
	struct hs_dump_name name = {.program = "pro/gram", .reason = "exit", .pid = 1};

	for (name.number = 0; name.number < 2; name.number++) {
		name.inherited = name.number == 1;
		if (hs_dump_name_expand(pattern, &name, path, sizeof path) == 0)
			MUST(strlen(path) < sizeof path);
		hs_dump_name_expand(pattern, &name, path, 64);
	}
}

static void use_values(const struct hs_options *options)
{
	struct hs_heap_entry entry;
	size_t count = 0;

	for (const char *next = options->heaps; (next = hs_options_next_heap(next, &entry));) {
		MUST(strlen(entry.name) < sizeof entry.name && ++count <= sizeof options->heaps);
		hs_options_heap_interval(options, entry.name);
	}
	MUST(hs_pattern_is_valid(options->output));
	use_pattern(options->output);
	use_pattern(options->stream);
	use_pattern(options->stats);
	hs_glob_list_matches(options->programs, "a-program.of_some_length");
	if (hs_symbol_filter_has_names(options->skip_symbol_prefix))
		hs_symbol_filter_hides_name(options->skip_symbol_prefix, "std::vector<int>");
	hs_symbol_filter_hides_path(options->skip_symbol_prefix, "/usr/lib/libc.so.6");
}

/* With little room a line must be cut, and nothing written past the end. */
static void describe(const struct hs_options *options)
{
	static char whole[32 * 1024];
	size_t length = hs_options_describe(options, true, whole, sizeof whole);

	MUST(length == strlen(whole));
	for (size_t room = 1; room <= TEXT_BYTES; room *= 2) {
		char *part = malloc(room);

		MUST(hs_options_describe(options, true, part, room) < room);
		MUST(strncmp(part, whole, strlen(part)) == 0);
		free(part);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct hs_options options;
	char *environment[VARIABLES + 1];
	size_t count = make_environment(data, bytes, environment);

	reports = 0;
	hs_options_parse(&options, environment, count_report);
	MUST(reports <= count);
	/* The values in options are copies. */
	for (size_t i = 0; i < count; i++)
		free(environment[i]);
	check_numbers(&options);
	use_values(&options);
	describe(&options);
	return 0;
}
