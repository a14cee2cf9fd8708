/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration: HEAPSAMPLE_* environment variables.
 *
 * One table (option_table in options.c) names each variable, its default, the
 * accepted form and the parser; parsing, the start-up line of HEAPSAMPLE_LOG=info,
 * HEAPSAMPLE=check and scripts/check-style, which compares the manual page with it, all read it.
 *
 * Values are copied: a program may overwrite its environment.
 */
#ifndef HS_BASE_OPTIONS_H
#define HS_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/visibility.h"

/* Longest value of a text option, with the NUL.  A longer one is refused. */
#define HS_OPTION_TEXT_BYTES 1024

/* Longest name of a heap, with the NUL. */
#define HS_HEAP_NAME_BYTES 64

/* HS_MODE_UNKNOWN: off, and one message says so. */
enum hs_mode { HS_MODE_OFF, HS_MODE_ON, HS_MODE_CHECK, HS_MODE_UNKNOWN };
enum hs_symbolize { HS_SYMBOLIZE_NONE, HS_SYMBOLIZE_NAMES, HS_SYMBOLIZE_LINES };

/* The smallest hs_options.memory_bytes. */
#define HS_MEMORY_MIN ((uint64_t)16 << 20)

/* hs_options.block_ms: chosen by the sampling interval. */
#define HS_BLOCK_AUTO UINT32_MAX

/* Bits of hs_options.children: which descendants are profiled. */
enum hs_children { HS_CHILDREN_FORK = 1, HS_CHILDREN_EXEC = 2 };

/* Bits of hs_options.labels. */
enum hs_label { HS_LABEL_SIZE = 1, HS_LABEL_THREAD = 2, HS_LABEL_TID = 4 };

/* Bits of hs_options.jit: where the names of generated code come from. */
enum hs_jit_source { HS_JIT_SOURCE_PERF_MAP = 1, HS_JIT_SOURCE_GDB = 2 };

/* Which values of a profile are of the time since the one before: none, all, or the allocated. */
enum hs_delta_kind { HS_DELTA_NONE, HS_DELTA_ALL, HS_DELTA_ALLOC };

/* When a last profile is written; TERM: also where SIGTERM, INT or HUP ends the process. */
enum hs_final { HS_FINAL_NONE, HS_FINAL_EXIT, HS_FINAL_TERM };

/* One field per variable; the variable's name is in the comment. */
struct hs_options {
	enum hs_mode mode;         /* HEAPSAMPLE: 0, 1, check */
	uint64_t interval_bytes;   /* _INTERVAL: mean bytes between samples, 1..256g */
	uint64_t max_interval_bytes; /* _MAX_INTERVAL: it is raised no higher, 0 = any */
	char heaps[HS_OPTION_TEXT_BYTES]; /* _HEAPS: intervals of their own; "" = none */
	bool active;               /* _ACTIVE: sample from the start */
	char output[HS_OPTION_TEXT_BYTES]; /* _OUTPUT: pattern, see output/dump_name.h */
	char stream[HS_OPTION_TEXT_BYTES]; /* _STREAM: pattern, in place of profiles; "" = none */
	enum hs_final final_dump;  /* _FINAL */
	int signal_number;         /* _SIGNAL: 0 = none */
	uint64_t time_interval_s;  /* _TIME_INTERVAL: seconds between dumps, 0 = none */
	uint64_t time_phase_s;     /* _TIME_PHASE: until the first of them, 0 = the interval */
	uint64_t alloc_interval_bytes; /* _ALLOC_INTERVAL: allocated between dumps, 0 = none */
	uint64_t inuse_interval_bytes; /* _INUSE_INTERVAL: new high water, 0 = none */
	bool peak;                 /* _PEAK: a profile of the highest memory in use */
	enum hs_delta_kind delta;  /* _DELTA: profiles of what happened since the one before */
	uint32_t oom_percent;      /* _OOM: of a memory limit, 0 = not watched */
	uint32_t keep_files;       /* _KEEP: periodic files kept, 0 = any number */
	uint64_t keep_bytes;       /* their size, 0 = any */
	uint32_t depth_frames;     /* _DEPTH: innermost frames kept, 1..1024 */
	uint64_t stack_bytes;      /* _STACK: most stack copied per sample, 8k..256k */
	uint64_t ring_bytes;       /* _RING: power of two, 0 = by interval */
	uint64_t memory_bytes;     /* _MEMORY: the profiler's memory budget */
	uint32_t max_cpu_percent;  /* _MAX_CPU: of one processor, for the profiler; 0 = any */
	uint64_t max_cpu_s;        /* ... or seconds of processor time in all; 0 = any */
	uint32_t block_ms;         /* _BLOCK: longest wait for ring space, or HS_BLOCK_AUTO */
	enum hs_log_level log_level; /* _LOG */
	char logfile[HS_OPTION_TEXT_BYTES]; /* _LOGFILE: "" = stderr */
	uint64_t seed;             /* _SEED: valid if has_seed */
	bool has_seed;
	unsigned labels;           /* _LABELS: bits of enum hs_label */
	char drop_frames[HS_OPTION_TEXT_BYTES]; /* _DROP_FRAMES: "" = none */
	/* _SKIP_SYMBOL_PREFIX: see profile/symbol_filter.h; "" = none; "," = bad list: all */
	char skip_symbol_prefix[HS_OPTION_TEXT_BYTES];
	enum hs_symbolize symbolize; /* _SYMBOLIZE: none, names, lines */
	unsigned jit;              /* _JIT: bits of enum hs_jit_source */
	char map[HS_OPTION_TEXT_BYTES]; /* _MAP: see maps/map_hints.h; "" = none */
	char stats[HS_OPTION_TEXT_BYTES]; /* _STATS: pattern as output, "" = none */
	unsigned children;         /* _CHILDREN: bits of enum hs_children */
	char programs[HS_OPTION_TEXT_BYTES]; /* _PROGRAMS: globs, comma separated; "" = all */
};

/* The options of this process.  Written during start-up, constant afterwards. */
extern HS_HIDDEN struct hs_options hs_options;

/* For a line that is valid during the call only. */
typedef void (*hs_options_report_fn)(const char *line);

/*
 * Sets the defaults, then reads the environment.  Each unknown HEAPSAMPLE_* variable and each value
 * that cannot be parsed is reported through report() with one line that names the variable, the
 * value and the accepted form; the default is kept.  HEAPSAMPLE_ROOT, which the profiler itself
 * sets (see session/), is skipped.
 *
 * environment: NULL-terminated "NAME=value" strings; may be NULL.
 * report: may be NULL.
 */
void hs_options_parse(struct hs_options *options, char *const *environment,
		      hs_options_report_fn report);

/* Whether a stream is written, in place of profiles. */
static inline bool hs_options_streams(const struct hs_options *options)
{
	return options->stream[0] != '\0';
}

/*
 * The longest that a sample of a heap with this interval may wait for ring space: nanoseconds,
 * 0 = not at all.
 */
uint64_t hs_options_block_ns(const struct hs_options *options, uint64_t interval_bytes);

/*
 * Writes "NAME=value NAME=value ..." into buffer, for the start-up line: of all options, or of
 * those that do not have their default.  Returns the length written.
 */
size_t hs_options_describe(const struct hs_options *options, bool all, char *buffer,
			   size_t capacity);

/* One of HEAPSAMPLE_HEAPS; name: "*" for all heaps that it does not name. */
struct hs_heap_entry {
	char name[HS_HEAP_NAME_BYTES];
	uint64_t interval_bytes;
};

/* Reads the entry at text, which is options->heaps or what the last call returned; NULL: none. */
const char *hs_options_next_heap(const char *text, struct hs_heap_entry *entry);

/* The smallest interval that is asked for any heap. */
uint64_t hs_options_least_interval(const struct hs_options *options);

/* The interval asked for a heap, in bytes; 0: it is not to be sampled.  Any thread. */
uint64_t hs_options_heap_interval(const struct hs_options *options, const char *name);

/* Writes a signal's name without SIG ("USR2", "RTMIN+1"), as hs_format() does. */
size_t hs_signal_name(int number, char *buffer, size_t capacity);

/*
 * Whether all letters of a pattern (output/dump_name.h) are known, and it names a file: not "" and
 * no '/' at its end.
 */
bool hs_pattern_is_valid(const char *pattern);

/*
 * Whether a program matches one of the comma-separated globs (* and ?): one with a slash its path,
 * one without the last part of that.  "" matches all.
 */
bool hs_glob_list_matches(const char *globs, const char *path);

#endif
