/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the unit tests of the options. */
#ifndef HS_TESTS_OPTIONS_TESTING_H
#define HS_TESTS_OPTIONS_TESTING_H

#include <stdbool.h>

#include "base/options.h"
#include "check.h"

#define DROP_FRAMES                                                                                \
	"(__libc_)?(malloc|calloc|realloc|memalign|valloc|pvalloc)|posix_memalign|aligned_alloc|"  \
	"reallocarray|operator new(\\[\\])?|_Zn[wa][mj].*|"                                        \
	"(__rustc::)?__r(ust|dl|g)_(alloc|alloc_zeroed|realloc)|"                                  \
	"(std::__|__gnu_cxx::)new_allocator(<.*>)?::allocate|"                                     \
	"std::allocator_traits(<.*>)?::allocate|heapsample_report_(allocation|sample).*"

#define DEFAULTS                                                                                   \
	"HEAPSAMPLE=1 HEAPSAMPLE_INTERVAL=512k HEAPSAMPLE_MAX_INTERVAL=0 "                         \
	"HEAPSAMPLE_HEAPS= HEAPSAMPLE_ACTIVE=1 "                                                   \
	"HEAPSAMPLE_OUTPUT=%e.%p.%n.heap.pb.gz "                                                   \
	"HEAPSAMPLE_STREAM= HEAPSAMPLE_FINAL=1 HEAPSAMPLE_SIGNAL= HEAPSAMPLE_TIME_INTERVAL=0 "     \
	"HEAPSAMPLE_TIME_PHASE=0 HEAPSAMPLE_ALLOC_INTERVAL=0 HEAPSAMPLE_INUSE_INTERVAL=0 "         \
	"HEAPSAMPLE_PEAK=0 HEAPSAMPLE_DELTA=0 HEAPSAMPLE_OOM=0 HEAPSAMPLE_KEEP=0 "                 \
	"HEAPSAMPLE_DEPTH=128 HEAPSAMPLE_STACK=64k HEAPSAMPLE_RING=auto HEAPSAMPLE_MEMORY=256m "   \
	"HEAPSAMPLE_MAX_CPU=0 HEAPSAMPLE_BLOCK=auto "                                              \
	"HEAPSAMPLE_LOG=warn HEAPSAMPLE_LOGFILE= HEAPSAMPLE_SEED= HEAPSAMPLE_LABELS=size "         \
	"HEAPSAMPLE_DROP_FRAMES=" DROP_FRAMES " HEAPSAMPLE_SKIP_SYMBOL_PREFIX= "                   \
	"HEAPSAMPLE_SYMBOLIZE=names "                                                              \
	"HEAPSAMPLE_JIT=perfmap,gdb HEAPSAMPLE_MAP= "                                              \
	"HEAPSAMPLE_STATS= HEAPSAMPLE_CHILDREN=fork HEAPSAMPLE_PROGRAMS="

static struct hs_options options;
static char reported[4096]; /* lines about bad settings, each ended by a newline */
static char described[8192];

static inline void collect(const char *line)
{
	strcat(reported, line);
	strcat(reported, "\n");
}

static inline void parse(char *const *environment)
{
	reported[0] = '\0';
	memset(&options, 0x5a, sizeof options);
	hs_options_parse(&options, environment, collect);
	hs_options_describe(&options, true, described, sizeof described);
}

static inline void parse_one(const char *variable)
{
	char copy[4096];
	char *environment[] = { copy, NULL };

	snprintf(copy, sizeof copy, "%s", variable);
	parse(environment);
	/* The options must have copies of the values. */
	memset(copy, '!', sizeof copy);
}

/* The variable must be understood and described as want, with defaults for all other options. */
static inline void good(const char *variable, const char *want)
{
	static const char defaults[] = " " DEFAULTS;
	size_t name_length = strcspn(want, "=") + 1;
	char expected[8192], name[64];
	const char *place, *rest;

	snprintf(name, sizeof name, " %.*s", (int)name_length, want);
	place = strstr(defaults, name);
	CHECK(place != NULL);
	if (place == NULL)
		return;
	rest = strstr(place + 1, " HEAPSAMPLE_");
	snprintf(expected, sizeof expected, "%.*s %s%s", (int)(place - defaults), defaults, want,
		 rest != NULL ? rest : "");
	parse_one(variable);
	CHECK_STR(reported, "");
	CHECK_STR(described, expected + 1);
}

/* The variable must be refused with this line, and all options have their defaults. */
static inline void bad(const char *variable, const char *line)
{
	char expected[1024];

	snprintf(expected, sizeof expected, "%s%s", line, *line != '\0' ? "\n" : "");
	parse_one(variable);
	CHECK_STR(reported, expected);
	CHECK_STR(described, DEFAULTS);
}

#endif
