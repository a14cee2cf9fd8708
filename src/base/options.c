/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the HEAPSAMPLE_* variables, and reading them from an environment.
 * See options.h for the contract.
 *
 * Runs during start-up, single-threaded, before any memory can be had.
 */
#include "base/options.h"

#include <string.h>

#include "base/format.h"
#include "base/options_table.h"

#define PREFIX "HEAPSAMPLE"

/* A line for report().  The value of a variable is cut to VALUE_BYTES in it. */
#define LINE_BYTES 512
#define VALUE_BYTES 64

/* A longer unknown name resembles none of ours. */
#define NEAREST_NAME_BYTES 32
#define NEAREST_DISTANCE 3

const struct hs_option_word hs_option_size_units[] = {
	{ "k", UINT64_C(1) << 10 },
	{ "m", UINT64_C(1) << 20 },
	{ "g", UINT64_C(1) << 30 },
	{ "t", UINT64_C(1) << 40 },
	{ NULL, 0 },
};
static const struct hs_option_word time_units[] = {
	{ "s", 1 },
	{ "m", 60 },
	{ "h", 3600 },
	{ NULL, 0 },
};
static const struct hs_option_word percent_units[] = {
	{ "%", 1 },
	{ NULL, 0 },
};
static const struct hs_option_word mode_words[] = {
	{ "0", HS_MODE_OFF },
	{ "1", HS_MODE_ON },
	{ "check", HS_MODE_CHECK },
	{ NULL, 0 },
};
static const struct hs_option_word switch_words[] = {
	{ "0", false },
	{ "1", true },
	{ NULL, 0 },
};
static const struct hs_option_word delta_words[] = {
	{ "0", HS_DELTA_NONE },
	{ "1", HS_DELTA_ALL },
	{ "alloc", HS_DELTA_ALLOC },
	{ NULL, 0 },
};
static const struct hs_option_word final_words[] = {
	{ "0", HS_FINAL_NONE },
	{ "1", HS_FINAL_EXIT },
	{ "term", HS_FINAL_TERM },
	{ NULL, 0 },
};
static const struct hs_option_word log_words[] = {
	{ "error", HS_LOG_ERROR },
	{ "warn", HS_LOG_WARN },
	{ "info", HS_LOG_INFO },
	{ "debug", HS_LOG_DEBUG },
	{ NULL, 0 },
};
static const struct hs_option_word label_words[] = {
	{ "size", HS_LABEL_SIZE },
	{ "thread", HS_LABEL_THREAD },
	{ "tid", HS_LABEL_TID },
	{ NULL, 0 },
};
static const struct hs_option_word symbolize_words[] = {
	{ "none", HS_SYMBOLIZE_NONE },
	{ "names", HS_SYMBOLIZE_NAMES },
	{ "lines", HS_SYMBOLIZE_LINES },
	{ NULL, 0 },
};
static const struct hs_option_word jit_words[] = {
	{ "perfmap", HS_JIT_SOURCE_PERF_MAP },
	{ "gdb", HS_JIT_SOURCE_GDB },
	{ NULL, 0 },
};
static const struct hs_option_word children_words[] = {
	{ "none", 0 },
	{ "fork", HS_CHILDREN_FORK },
	{ "exec", HS_CHILDREN_EXEC },
	{ "all", HS_CHILDREN_FORK | HS_CHILDREN_EXEC },
	{ NULL, 0 },
};

/* Also the longest wait where nothing may be missing. */
#define BLOCK_MOST_MS 10000

#define FIELD(field)                                                                               \
	.field_offset = offsetof(struct hs_options, field),                                        \
	.field_bytes = sizeof((struct hs_options *)0)->field

#define YEAR_S (UINT64_C(8760) * 3600)
#define RANGE(least, most, units) .minimum = (least), .maximum = (most), .words = (units)
#define VALUE(kind) .parse = hs_option_parse_##kind, .print = hs_option_print_##kind

/* Allocator entry points and the glue of languages: what a reader's stacks need not end in. */
#define DROP_FRAMES_DEFAULT                                                                        \
	"(__libc_)?(malloc|calloc|realloc|memalign|valloc|pvalloc)|posix_memalign|aligned_alloc|"  \
	"reallocarray|operator new(\\[\\])?|_Zn[wa][mj].*|"                                        \
	"(__rustc::)?__r(ust|dl|g)_(alloc|alloc_zeroed|realloc)|"                                  \
	"(std::__|__gnu_cxx::)new_allocator(<.*>)?::allocate|"                                     \
	"std::allocator_traits(<.*>)?::allocate|heapsample_report_(allocation|sample).*"

#define PATTERN_FORM "the path of a file, at most 1023 bytes, with %p, %e, %h, %t, %n, %r or %%"

/* In the order of the manual page. */
static const struct hs_option option_table[] = {
	{ PREFIX, "1", "0, 1 or check", .instead = "the profiler stays off", FIELD(mode),
	  .parse = hs_option_parse_mode, .print = hs_option_print_word, .words = mode_words },
	{ PREFIX "_INTERVAL", "512k", "bytes, 1 to 256g, such as 512k or 1m",
	  FIELD(interval_bytes), VALUE(number),
	  RANGE(1, UINT64_C(256) << 30, hs_option_size_units) },
	{ PREFIX "_MAX_INTERVAL", "0", "bytes, 0 to 256g, such as 4m",
	  FIELD(max_interval_bytes), VALUE(number),
	  RANGE(0, UINT64_C(256) << 30, hs_option_size_units) },
	{ PREFIX "_HEAPS", "",
	  "name=interval,... such as pool=64k,*=1m; each name once, of at most 63 bytes; "
	  "no comma at the end, at most 1023 bytes in all",
	  FIELD(heaps), .parse = hs_option_parse_heaps, .print = hs_option_print_text },
	{ PREFIX "_ACTIVE", "1", "0 or 1", FIELD(active), VALUE(word), .words = switch_words },
	{ PREFIX "_OUTPUT", "%e.%p.%n.heap.pb.gz", PATTERN_FORM,
	  FIELD(output), .parse = hs_option_parse_pattern, .print = hs_option_print_text },
	{ PREFIX "_STREAM", "", PATTERN_FORM,
	  FIELD(stream), .parse = hs_option_parse_pattern_or_none, .print = hs_option_print_text },
	{ PREFIX "_FINAL", "1", "0, 1 or term", FIELD(final_dump), VALUE(word),
	  .words = final_words },
	{ PREFIX "_SIGNAL", "",
	  "a signal that can be handled, not CHLD or one of a fault, such as USR2 or 12",
	  FIELD(signal_number), VALUE(signal) },
	{ PREFIX "_TIME_INTERVAL", "0", "seconds, 0 to 8760h, such as 90 or 10m",
	  FIELD(time_interval_s), VALUE(number), RANGE(0, YEAR_S, time_units) },
	{ PREFIX "_TIME_PHASE", "0", "seconds, 0 to 8760h, such as 90 or 10m",
	  FIELD(time_phase_s), VALUE(number), RANGE(0, YEAR_S, time_units) },
	{ PREFIX "_ALLOC_INTERVAL", "0", "bytes, 0 to 1024t, such as 10g",
	  FIELD(alloc_interval_bytes), VALUE(number),
	  RANGE(0, UINT64_C(1024) << 40, hs_option_size_units) },
	{ PREFIX "_INUSE_INTERVAL", "0", "bytes, 0 to 1024t, such as 100m",
	  FIELD(inuse_interval_bytes), VALUE(number),
	  RANGE(0, UINT64_C(1024) << 40, hs_option_size_units) },
	{ PREFIX "_PEAK", "0", "0 or 1", FIELD(peak), VALUE(word), .words = switch_words },
	{ PREFIX "_DELTA", "0", "0, 1 or alloc", FIELD(delta), VALUE(word),
	  .words = delta_words },
	{ PREFIX "_OOM", "0", "percent of the memory limit, 0 to 99, such as 80",
	  FIELD(oom_percent), VALUE(number), RANGE(0, 99, percent_units) },
	{ PREFIX "_KEEP", "0", "files, 0 to 100000, and bytes after a comma, such as 10 or 10,1g",
	  VALUE(keep), .maximum = 100000, .words = hs_option_size_units },
	{ PREFIX "_DEPTH", "128", "frames, 1 to 1024", FIELD(depth_frames), VALUE(number),
	  RANGE(1, 1024, NULL) },
	{ PREFIX "_STACK", "64k", "bytes, 8k to 256k, such as 64k",
	  FIELD(stack_bytes), VALUE(number), RANGE(8 << 10, 256 << 10, hs_option_size_units) },
	{ PREFIX "_RING", "auto", "auto, or bytes, 64k to 1g, such as 4m",
	  FIELD(ring_bytes), .parse = hs_option_parse_power, .print = hs_option_print_auto,
	  RANGE(64 << 10, 1 << 30, hs_option_size_units) },
	{ PREFIX "_MEMORY", "256m", "bytes, 16m to 64g, such as 256m or 1g",
	  FIELD(memory_bytes), VALUE(number),
	  RANGE(HS_MEMORY_MIN, UINT64_C(64) << 30, hs_option_size_units) },
	{ PREFIX "_MAX_CPU", "0",
	  "percent of a processor, 0 to 200, or seconds in all, to 8760h, such as 5 or 30s",
	  VALUE(max_cpu), RANGE(0, YEAR_S, time_units) },
	{ PREFIX "_BLOCK", "auto", "auto, or milliseconds, 0 to 10000",
	  FIELD(block_ms), VALUE(auto), RANGE(0, BLOCK_MOST_MS, NULL) },
	{ PREFIX "_LOG", "warn", "error, warn, info or debug", FIELD(log_level), VALUE(word),
	  .words = log_words },
	{ PREFIX "_LOGFILE", "", "the path of a file, at most 1023 bytes", FIELD(logfile),
	  .parse = hs_option_parse_path_or_none, .print = hs_option_print_text },
	{ PREFIX "_SEED", "", "a number below 2^64, decimal or hexadecimal after 0x",
	  VALUE(seed) },
	{ PREFIX "_LABELS", "size", "none, or of size, thread and tid, separated by commas",
	  FIELD(labels), VALUE(flags), .words = label_words },
	{ PREFIX "_DROP_FRAMES", DROP_FRAMES_DEFAULT,
	  "a regular expression of at most 1023 bytes", FIELD(drop_frames), VALUE(text) },
	{ PREFIX "_SKIP_SYMBOL_PREFIX", "",
	  "prefixes of names and paths, separated by commas without blanks, none empty, at "
	  "most 1023 bytes",
	  .instead = "hiding all names", FIELD(skip_symbol_prefix),
	  .parse = hs_option_parse_prefixes, .print = hs_option_print_text },
	{ PREFIX "_SYMBOLIZE", "names", "none, names or lines", FIELD(symbolize), VALUE(word),
	  .words = symbolize_words },
	{ PREFIX "_JIT", "perfmap,gdb", "none, or of perfmap and gdb, separated by commas",
	  FIELD(jit), VALUE(flags), .words = jit_words },
	{ PREFIX "_MAP", "",
	  "objfile[@pid],start,length[,offset];... or @file, at most 1023 bytes",
	  FIELD(map), VALUE(text) },
	{ PREFIX "_STATS", "", PATTERN_FORM,
	  FIELD(stats), .parse = hs_option_parse_pattern_or_none, .print = hs_option_print_text },
	{ PREFIX "_CHILDREN", "fork", "none, fork, exec or all", FIELD(children), VALUE(word),
	  .words = children_words },
	{ PREFIX "_PROGRAMS", "",
	  "globs of program names or paths, separated by commas, at most 1023 bytes",
	  FIELD(programs), VALUE(text) },
};

#define OPTIONS (sizeof option_table / sizeof option_table[0])

struct hs_options hs_options;

static void *field_of(struct hs_options *options, const struct hs_option *option)
{
	return (char *)options + option->field_offset;
}

/*
 * How many bytes must be put in, taken out or replaced to make name of text,
 * letter case aside.  Both at most NEAREST_NAME_BYTES long.
 */
static unsigned edit_distance(const char *text, size_t length, const char *name)
{
	uint8_t row[NEAREST_NAME_BYTES + 1];

	for (size_t i = 0; i <= length; i++)
		row[i] = (uint8_t)i;
	for (; *name != '\0'; name++) {
		uint8_t diagonal = row[0]++;

		for (size_t i = 1; i <= length; i++) {
			bool differs = hs_option_upper(text[i - 1]) != *name;
			uint8_t best = (uint8_t)(diagonal + differs);

			diagonal = row[i];
			if (row[i] + 1 < best)
				best = (uint8_t)(row[i] + 1);
			if (row[i - 1] + 1 < best)
				best = (uint8_t)(row[i - 1] + 1);
			row[i] = best;
		}
	}
	return row[length];
}

/* The name meant by one that is not ours, or NULL.  Compared without the prefix and its '_'. */
static const char *nearest_name(const char *name, size_t length)
{
	const size_t skipped = sizeof PREFIX "_" - 1;
	unsigned nearest = NEAREST_DISTANCE + 1;
	const char *result = NULL;

	if (length - skipped > NEAREST_NAME_BYTES)
		return NULL;
	for (size_t i = 1; i < OPTIONS; i++) {
		const char *ours = option_table[i].name + skipped;
		unsigned distance = edit_distance(name + skipped, length - skipped, ours);

		/* A name with more than half of its letters changed is not meant. */
		if (distance < nearest && distance <= strlen(ours) / 2) {
			nearest = distance;
			result = option_table[i].name;
		}
	}
	return result;
}

static void report_unknown(hs_options_report_fn report, const char *name, size_t length)
{
	static char line[LINE_BYTES], clipped[VALUE_BYTES];
	const char *nearest = nearest_name(name, length);

	if (length >= VALUE_BYTES)
		length = VALUE_BYTES - 1;
	memcpy(clipped, name, length);
	clipped[length] = '\0';
	if (nearest != NULL)
		hs_format(line, sizeof line, "%s is not a variable of libheapsample (nearest: %s)",
			  clipped, nearest);
	else
		hs_format(line, sizeof line,
			  "%s is not a variable of libheapsample (see libheapsample(7))", clipped);
	report(line);
}

static void report_bad_value(hs_options_report_fn report, const struct hs_option *option,
			     const char *value)
{
	static char line[LINE_BYTES], clipped[VALUE_BYTES];
	size_t length = hs_format(clipped, sizeof clipped, "%s", value);
	const char *instead = option->default_value;

	if (strlen(instead) >= VALUE_BYTES)
		instead = "the default";
	if (option->instead != NULL)
		instead = option->instead;
	hs_format(line, sizeof line, "%s=%s%s is not understood (expected %s); %s%s", option->name,
		  clipped, value[length] == '\0' ? "" : "...", option->form,
		  *instead == '\0' ? "ignored" : option->instead != NULL ? "" : "using ",
		  instead);
	report(line);
}

/* Returns the index of an option, OPTIONS if the name is none of ours. */
static size_t find_option(const char *name, size_t length)
{
	size_t i = 0;

	while (i < OPTIONS && (strlen(option_table[i].name) != length ||
			       memcmp(option_table[i].name, name, length) != 0))
		i++;
	return i;
}

/* seen: a bit per option.  The first of a name counts, as with getenv(3). */
static void parse_variable(struct hs_options *options, const char *variable, uint64_t *seen,
			   hs_options_report_fn report)
{
	size_t length = strcspn(variable, "="), i;
	const size_t prefix = sizeof PREFIX - 1;

	if (variable[length] == '\0' || strncmp(variable, PREFIX, prefix) != 0 ||
	    (length != prefix && variable[prefix] != '_'))
		return;
	if (length == sizeof PREFIX "_ROOT" - 1 && memcmp(variable, PREFIX "_ROOT", length) == 0)
		return;
	i = find_option(variable, length);
	if (i == OPTIONS) {
		if (report != NULL)
			report_unknown(report, variable, length);
	} else if ((*seen & (UINT64_C(1) << i)) == 0) {
		const struct hs_option *option = &option_table[i];

		*seen |= UINT64_C(1) << i;
		if (!option->parse(option, field_of(options, option), variable + length + 1) &&
		    report != NULL)
			report_bad_value(report, option, variable + length + 1);
	}
}

void hs_options_parse(struct hs_options *options, char *const *environment,
		      hs_options_report_fn report)
{
	uint64_t seen = 0;

	_Static_assert(OPTIONS <= 64, "a bit of seen for each option");
	memset(options, 0, sizeof *options);
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct hs_option *option = &option_table[i];

		option->parse(option, field_of(options, option), option->default_value);
	}
	for (; environment != NULL && *environment != NULL; environment++)
		parse_variable(options, *environment, &seen, report);
}

uint64_t hs_options_block_ns(const struct hs_options *options, uint64_t interval_bytes)
{
	uint64_t ms = options->block_ms;

	if (ms == HS_BLOCK_AUTO)
		ms = interval_bytes == 1 ? BLOCK_MOST_MS : 0;
	return ms * 1000000;
}

size_t hs_options_describe(const struct hs_options *options, bool all, char *buffer,
			   size_t capacity)
{
	size_t length = 0;

	if (capacity == 0)
		return 0;
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct hs_option *option = &option_table[i];
		const void *field = (const char *)options + option->field_offset;
		size_t before = length, value;

		length += hs_format(buffer + length, capacity - length, "%s%s=",
				    before == 0 ? "" : " ", option->name);
		value = length;
		length += option->print(option, field, buffer + length, capacity - length);
		if (!all && strcmp(buffer + value, option->default_value) == 0) {
			length = before;
			buffer[length] = '\0';
		}
	}
	return length;
}
