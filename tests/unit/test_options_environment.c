/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in the environment, ours and others; messages about the options as a whole. */
#include "options_testing.h"

#define UNKNOWN " is not a variable of libheapsample "

static void test_unknown_variables(void)
{
	bad("HEAPSAMPLE_INTERVALL=1",
	    "HEAPSAMPLE_INTERVALL" UNKNOWN "(nearest: HEAPSAMPLE_INTERVAL)");
	bad("HEAPSAMPLE_OUPTUT=x", "HEAPSAMPLE_OUPTUT" UNKNOWN "(nearest: HEAPSAMPLE_OUTPUT)");
	bad("HEAPSAMPLE_interval=1",
	    "HEAPSAMPLE_interval" UNKNOWN "(nearest: HEAPSAMPLE_INTERVAL)");
	bad("HEAPSAMPLE_DROPFRAME=x",
	    "HEAPSAMPLE_DROPFRAME" UNKNOWN "(nearest: HEAPSAMPLE_DROP_FRAMES)");
	bad("HEAPSAMPLE_STACK_=1", "HEAPSAMPLE_STACK_" UNKNOWN "(nearest: HEAPSAMPLE_STACK)");
	/* Four changes away from a known name, or too little in common with a short one. */
	bad("HEAPSAMPLE_SYMBOLTABLE=x", "HEAPSAMPLE_SYMBOLTABLE" UNKNOWN "(see libheapsample(7))");
	bad("HEAPSAMPLE_X=1", "HEAPSAMPLE_X" UNKNOWN "(see libheapsample(7))");
	bad("HEAPSAMPLE_LIG=info", "HEAPSAMPLE_LIG" UNKNOWN "(nearest: HEAPSAMPLE_LOG)");
	bad("HEAPSAMPLE_=1", "HEAPSAMPLE_" UNKNOWN "(see libheapsample(7))");
	bad("HEAPSAMPLE_ROOTS=1", "HEAPSAMPLE_ROOTS" UNKNOWN "(see libheapsample(7))");
	bad("HEAPSAMPLE_AVERYLONGNAMETHATRESEMBLESNOTHINGWEKNOWATALLANDGOESON=1",
	    "HEAPSAMPLE_AVERYLONGNAMETHATRESEMBLESNOTHINGWEKNOWATALLANDGOESO"
	    UNKNOWN "(see libheapsample(7))");
}

static void test_variables_of_others(void)
{
	bad("HEAPSAMPLEX=1", "");
	bad("HEAPSAMPLE", "");
	bad("HEAPSAMPLE_INTERVAL", "");
	bad("HEAPSAMPL=1", "");
	bad("heapsample_interval=x", "");
	bad("XHEAPSAMPLE_INTERVAL=x", "");
	bad("PATH=/bin:HEAPSAMPLE_INTERVAL=x", "");
	bad("HEAPSAMPLE_ROOT=123", "");
	bad("=", "");
	bad("", "");
}

static void test_whole_environment(void)
{
	char *environment[] = { (char[]){ "HOME=/" },
				(char[]){ "HEAPSAMPLE_DEPTH=5" },
				(char[]){ "HEAPSAMPLE_DEPTH=7" },
				(char[]){ "HEAPSAMPLE_FOO=1" },
				(char[]){ "HEAPSAMPLE_STACK=zzz" },
				(char[]){ "HEAPSAMPLE_STACK=8k" },
				(char[]){ "HEAPSAMPLE_LOG=debug" },
				NULL };

	parse(environment);
	/* The first of a name counts, as with getenv(3). */
	CHECK_INT(options.depth_frames, 5);
	CHECK_INT(options.stack_bytes, 65536);
	CHECK_INT(options.log_level, HS_LOG_DEBUG);
	CHECK_STR(reported,
		  "HEAPSAMPLE_FOO" UNKNOWN "(see libheapsample(7))\n"
		  "HEAPSAMPLE_STACK=zzz is not understood "
		  "(expected bytes, 8k to 256k, such as 64k); using 64k\n");
}

static void test_describe_is_cut(void)
{
	char text[sizeof DEFAULTS + 1];

	parse(NULL);
	memset(text, '#', sizeof text);
	CHECK_INT(hs_options_describe(&options, true, text, 0), 0);
	CHECK_INT(text[0], '#');
	for (size_t capacity = 1; capacity <= sizeof DEFAULTS; capacity++) {
		memset(text, '#', sizeof text);
		CHECK_INT(hs_options_describe(&options, true, text, capacity), capacity - 1);
		CHECK(memcmp(text, DEFAULTS, capacity - 1) == 0);
		CHECK(text[capacity - 1] == '\0' && text[capacity] == '#');
	}
	CHECK_INT(hs_options_describe(&options, true, described, sizeof described),
		  strlen(DEFAULTS));
}

static void test_describe_what_is_set(void)
{
	char *environment[] = {
		(char *)(uintptr_t)"HEAPSAMPLE_KEEP=0,1m",
		(char *)(uintptr_t)"HEAPSAMPLE_INTERVAL=524288",
		(char *)(uintptr_t)"HEAPSAMPLE_RING=1m",
		(char *)(uintptr_t)"HEAPSAMPLE_LOGFILE=0",
		NULL,
	};

	parse(NULL);
	CHECK_INT(hs_options_describe(&options, false, described, sizeof described), 0);
	CHECK_STR(described, "");
	parse(environment);
	hs_options_describe(&options, false, described, sizeof described);
	CHECK_STR(described, "HEAPSAMPLE_KEEP=0,1m HEAPSAMPLE_RING=1m");
}

int main(void)
{
	RUN(test_unknown_variables);
	RUN(test_variables_of_others);
	RUN(test_whole_environment);
	RUN(test_describe_is_cut);
	RUN(test_describe_what_is_set);
	return CHECK_RESULT();
}
