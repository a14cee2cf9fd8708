/* SPDX-License-Identifier: BSD-2-Clause */
/* Each variable: its default, all forms of it, and the exact line for each bad value. */
#include <signal.h>

#include "options_testing.h"

/* The same for values of one variable: all have the same form and end. */
static void bad_values(const char *name, const char *const *values, const char *form_and_end)
{
	for (; *values != NULL; values++) {
		char variable[256], line[512];

		snprintf(variable, sizeof variable, "%s=%s", name, *values);
		snprintf(line, sizeof line, "%s is not understood (expected %s", variable,
			 form_and_end);
		bad(variable, line);
	}
}

#define BAD_VALUES(name, form_and_end, ...)                                                        \
	bad_values(name, (const char *const[]){ __VA_ARGS__, NULL }, form_and_end)

/* What stands for no file where there is none by default. */
static void none(const char *name)
{
	static const char *const values[] = {"", "0", "-"};
	char variable[64], empty[64];

	snprintf(empty, sizeof empty, "%s=", name);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		snprintf(variable, sizeof variable, "%s=%s", name, values[i]);
		good(variable, empty);
	}
}

static void test_defaults(void)
{
	parse(NULL);
	CHECK_STR(reported, "");
	CHECK_STR(described, DEFAULTS);
	CHECK_INT(options.mode, HS_MODE_ON);
	CHECK_INT(options.interval_bytes, 524288);
	CHECK_STR(options.output, "%e.%p.%n.heap.pb.gz");
	CHECK_INT(options.final_dump, true);
	CHECK_INT(options.signal_number, 0);
	CHECK_INT(options.time_interval_s, 0);
	CHECK_INT(options.depth_frames, 128);
	CHECK_INT(options.stack_bytes, 65536);
	CHECK_INT(options.ring_bytes, 0);
	CHECK_INT(options.memory_bytes, 268435456);
	CHECK_INT(options.block_ms, HS_BLOCK_AUTO);
	CHECK_INT(options.log_level, HS_LOG_WARN);
	CHECK_STR(options.logfile, "");
	CHECK_INT(options.has_seed, false);
	CHECK_INT(options.labels, HS_LABEL_SIZE);
	CHECK_STR(options.drop_frames, DROP_FRAMES);
	CHECK_INT(options.symbolize, HS_SYMBOLIZE_NAMES);
	CHECK_INT(options.children, HS_CHILDREN_FORK);
	CHECK_STR(options.programs, "");
}

static void test_mode(void)
{
	static const char *const values[] = {"", "2", "off", "yes", "CHECK", "check "};

	good("HEAPSAMPLE=0", "HEAPSAMPLE=0");
	CHECK_INT(options.mode, HS_MODE_OFF);
	good("HEAPSAMPLE=check", "HEAPSAMPLE=check");
	CHECK_INT(options.mode, HS_MODE_CHECK);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char variable[64], line[192];

		snprintf(variable, sizeof variable, "HEAPSAMPLE=%s", values[i]);
		snprintf(line, sizeof line, "%s is not understood (expected 0, 1 or check); "
			 "the profiler stays off\n", variable);
		parse_one(variable);
		CHECK_STR(reported, line);
		CHECK_INT(options.mode, HS_MODE_UNKNOWN);
	}
}

static void test_interval(void)
{
	good("HEAPSAMPLE_INTERVAL=1", "HEAPSAMPLE_INTERVAL=1");
	good("HEAPSAMPLE_INTERVAL=1000", "HEAPSAMPLE_INTERVAL=1000");
	good("HEAPSAMPLE_INTERVAL=1048576", "HEAPSAMPLE_INTERVAL=1m");
	good("HEAPSAMPLE_INTERVAL=3K", "HEAPSAMPLE_INTERVAL=3k");
	CHECK_INT(options.interval_bytes, 3072);
	good("HEAPSAMPLE_INTERVAL=2m", "HEAPSAMPLE_INTERVAL=2m");
	CHECK_INT(options.interval_bytes, 2097152);
	good("HEAPSAMPLE_INTERVAL=256G", "HEAPSAMPLE_INTERVAL=256g");
	CHECK_INT(options.interval_bytes, 274877906944);
	BAD_VALUES("HEAPSAMPLE_INTERVAL",
		   "bytes, 1 to 256g, such as 512k or 1m); using 512k", "12q", "", "0", "0k", "-1",
		   "+1", " 1", "1 ", "1kb", "k", "1.5m", "0x10", "257g", "274877906945",
		   "18446744073709551616", "18446744073709551617k", "17179869184g",
		   "17179869185g", "1s");
}

static void test_output(void)
{
	good("HEAPSAMPLE_OUTPUT=/tmp/%e-%p-%h-%t-%n-%r-%%.gz",
	     "HEAPSAMPLE_OUTPUT=/tmp/%e-%p-%h-%t-%n-%r-%%.gz");
	CHECK_STR(options.output, "/tmp/%e-%p-%h-%t-%n-%r-%%.gz");
	good("HEAPSAMPLE_OUTPUT=a=b", "HEAPSAMPLE_OUTPUT=a=b");
	BAD_VALUES("HEAPSAMPLE_OUTPUT",
		   "the path of a file, at most 1023 bytes, with %p, %e, %h, %t, %n, %r or %%); "
		   "using %e.%p.%n.heap.pb.gz",
		   "", "%", "a%", "%q", "%P", "%%%", "%04n", "folder/", "/");
}

static void test_stats(void)
{
	none("HEAPSAMPLE_STATS");
	good("HEAPSAMPLE_STATS=/tmp/%e.%p.json", "HEAPSAMPLE_STATS=/tmp/%e.%p.json");
	CHECK_STR(options.stats, "/tmp/%e.%p.json");
	BAD_VALUES("HEAPSAMPLE_STATS",
		   "the path of a file, at most 1023 bytes, with %p, %e, %h, %t, %n, %r or %%); "
		   "ignored",
		   "%", "a%", "%q", "folder/", "/");
}

static void test_stream(void)
{
	none("HEAPSAMPLE_STREAM");
	CHECK_STR(options.stream, "");
	good("HEAPSAMPLE_STREAM=./0", "HEAPSAMPLE_STREAM=./0");
	good("HEAPSAMPLE_STREAM=/tmp/%e-%p", "HEAPSAMPLE_STREAM=/tmp/%e-%p");
	CHECK_STR(options.stream, "/tmp/%e-%p");
	BAD_VALUES("HEAPSAMPLE_STREAM",
		   "the path of a file, at most 1023 bytes, with %p, %e, %h, %t, %n, %r or %%); "
		   "ignored",
		   "%", "%q", "folder/", "/");
}

static void test_final(void)
{
	good("HEAPSAMPLE_FINAL=0", "HEAPSAMPLE_FINAL=0");
	CHECK_INT(options.final_dump, false);
	good("HEAPSAMPLE_FINAL=1", "HEAPSAMPLE_FINAL=1");
	good("HEAPSAMPLE_FINAL=term", "HEAPSAMPLE_FINAL=term");
	CHECK_INT(options.final_dump, HS_FINAL_TERM);
	BAD_VALUES("HEAPSAMPLE_FINAL", "0, 1 or term); using 1", "", "2", "no", "00", "TERM");
}

static void test_signal(void)
{
	good("HEAPSAMPLE_SIGNAL=", "HEAPSAMPLE_SIGNAL=");
	good("HEAPSAMPLE_SIGNAL=USR2", "HEAPSAMPLE_SIGNAL=USR2");
	CHECK_INT(options.signal_number, SIGUSR2);
	good("HEAPSAMPLE_SIGNAL=SIGUSR1", "HEAPSAMPLE_SIGNAL=USR1");
	CHECK_INT(options.signal_number, SIGUSR1);
	good("HEAPSAMPLE_SIGNAL=sigprof", "HEAPSAMPLE_SIGNAL=PROF");
	CHECK_INT(options.signal_number, SIGPROF);
	good("HEAPSAMPLE_SIGNAL=hup", "HEAPSAMPLE_SIGNAL=HUP");
	good("HEAPSAMPLE_SIGNAL=POLL", "HEAPSAMPLE_SIGNAL=IO");
	good("HEAPSAMPLE_SIGNAL=12", "HEAPSAMPLE_SIGNAL=USR2");
	good("HEAPSAMPLE_SIGNAL=64", "HEAPSAMPLE_SIGNAL=RTMIN+30");
	CHECK_INT(options.signal_number, 64);
	good("HEAPSAMPLE_SIGNAL=RTMIN", "HEAPSAMPLE_SIGNAL=RTMIN");
	CHECK_INT(options.signal_number, SIGRTMIN);
	good("HEAPSAMPLE_SIGNAL=SIGRTMIN+3", "HEAPSAMPLE_SIGNAL=RTMIN+3");
	CHECK_INT(options.signal_number, SIGRTMIN + 3);
	good("HEAPSAMPLE_SIGNAL=rtmax-30", "HEAPSAMPLE_SIGNAL=RTMIN");
	good("HEAPSAMPLE_SIGNAL=RTMAX", "HEAPSAMPLE_SIGNAL=RTMIN+30");
	BAD_VALUES("HEAPSAMPLE_SIGNAL",
		   "a signal that can be handled, not CHLD or one of a fault, such as USR2 or 12); "
		   "ignored",
		   "KILL", "SIGSTOP", "segv", "BUS", "FPE", "ILL", "TRAP", "ABRT", "CHLD", "9",
		   "11", "17", "19", "0", "65", "32", "33", "USR3", "SIG", "US", "USR22",
		   "SIGSIGUSR1", "RTMIN+31", "RTMAX-31", "RTMIN-1", "RTMAX+1", "RTMIN+",
		   "RTMIN+x", "RTMIN+1x", "12x", "18446744073709551628", "4", "5", "6", "7", "8",
		   "RTMAX-52", "RTMIN+18446744073709551594");
}

static void test_time_interval(void)
{
	good("HEAPSAMPLE_TIME_INTERVAL=0", "HEAPSAMPLE_TIME_INTERVAL=0");
	good("HEAPSAMPLE_TIME_INTERVAL=90", "HEAPSAMPLE_TIME_INTERVAL=90s");
	CHECK_INT(options.time_interval_s, 90);
	good("HEAPSAMPLE_TIME_INTERVAL=10s", "HEAPSAMPLE_TIME_INTERVAL=10s");
	CHECK_INT(options.time_interval_s, 10);
	good("HEAPSAMPLE_TIME_INTERVAL=5m", "HEAPSAMPLE_TIME_INTERVAL=5m");
	CHECK_INT(options.time_interval_s, 300);
	good("HEAPSAMPLE_TIME_INTERVAL=8760H", "HEAPSAMPLE_TIME_INTERVAL=8760h");
	CHECK_INT(options.time_interval_s, 31536000);
	BAD_VALUES("HEAPSAMPLE_TIME_INTERVAL",
		   "seconds, 0 to 8760h, such as 90 or 10m); using 0", "", "8761h", "1d", "-5",
		   "10 s", "1k", "ten");
}

static void test_byte_intervals(void)
{
	good("HEAPSAMPLE_TIME_PHASE=30", "HEAPSAMPLE_TIME_PHASE=30s");
	CHECK_INT(options.time_phase_s, 30);
	good("HEAPSAMPLE_ALLOC_INTERVAL=0", "HEAPSAMPLE_ALLOC_INTERVAL=0");
	good("HEAPSAMPLE_ALLOC_INTERVAL=1024t", "HEAPSAMPLE_ALLOC_INTERVAL=1024t");
	CHECK_INT(options.alloc_interval_bytes, UINT64_C(1) << 50);
	good("HEAPSAMPLE_INUSE_INTERVAL=1536k", "HEAPSAMPLE_INUSE_INTERVAL=1536k");
	CHECK_INT(options.inuse_interval_bytes, 1536 << 10);
	BAD_VALUES("HEAPSAMPLE_INUSE_INTERVAL", "bytes, 0 to 1024t, such as 100m); using 0", "",
		   "1025t", "-1", "10%");
}

static void test_delta(void)
{
	good("HEAPSAMPLE_DELTA=1", "HEAPSAMPLE_DELTA=1");
	CHECK_INT(options.delta, HS_DELTA_ALL);
	good("HEAPSAMPLE_DELTA=alloc", "HEAPSAMPLE_DELTA=alloc");
	CHECK_INT(options.delta, HS_DELTA_ALLOC);
	BAD_VALUES("HEAPSAMPLE_DELTA", "0, 1 or alloc); using 0", "", "2", "all", "inuse");
}

static void test_oom(void)
{
	good("HEAPSAMPLE_OOM=0", "HEAPSAMPLE_OOM=0");
	good("HEAPSAMPLE_OOM=80", "HEAPSAMPLE_OOM=80%");
	CHECK_INT(options.oom_percent, 80);
	good("HEAPSAMPLE_OOM=99%", "HEAPSAMPLE_OOM=99%");
	CHECK_INT(options.oom_percent, 99);
	BAD_VALUES("HEAPSAMPLE_OOM", "percent of the memory limit, 0 to 99, such as 80); using 0",
		   "", "100", "100%", "%", "80%%", "-1", "80 %", "1g");
}

static void test_keep(void)
{
	good("HEAPSAMPLE_KEEP=0", "HEAPSAMPLE_KEEP=0");
	good("HEAPSAMPLE_KEEP=10", "HEAPSAMPLE_KEEP=10");
	CHECK_INT(options.keep_files, 10);
	CHECK_INT(options.keep_bytes, 0);
	good("HEAPSAMPLE_KEEP=10,2g", "HEAPSAMPLE_KEEP=10,2g");
	CHECK_INT(options.keep_files, 10);
	CHECK_INT(options.keep_bytes, UINT64_C(2) << 30);
	good("HEAPSAMPLE_KEEP=0,1m", "HEAPSAMPLE_KEEP=0,1m");
	CHECK_INT(options.keep_files, 0);
	CHECK_INT(options.keep_bytes, 1 << 20);
	BAD_VALUES("HEAPSAMPLE_KEEP",
		   "files, 0 to 100000, and bytes after a comma, such as 10 or 10,1g); using 0", "",
		   "100001", "10k", "10,", ",1g", "10,0", "10,1x", "10,1g,", "10 ,1g");
}

static void test_depth(void)
{
	good("HEAPSAMPLE_DEPTH=1", "HEAPSAMPLE_DEPTH=1");
	CHECK_INT(options.depth_frames, 1);
	good("HEAPSAMPLE_DEPTH=1024", "HEAPSAMPLE_DEPTH=1024");
	CHECK_INT(options.depth_frames, 1024);
	BAD_VALUES("HEAPSAMPLE_DEPTH", "frames, 1 to 1024); using 128", "", "0", "1025", "1k",
		   "4294967297", "x");
}

static void test_stack(void)
{
	good("HEAPSAMPLE_STACK=8k", "HEAPSAMPLE_STACK=8k");
	CHECK_INT(options.stack_bytes, 8192);
	good("HEAPSAMPLE_STACK=262144", "HEAPSAMPLE_STACK=256k");
	good("HEAPSAMPLE_STACK=10000", "HEAPSAMPLE_STACK=10000");
	BAD_VALUES("HEAPSAMPLE_STACK", "bytes, 8k to 256k, such as 64k); using 64k", "", "8191",
		   "257k", "1m", "0");
}

static void test_ring(void)
{
	good("HEAPSAMPLE_RING=", "HEAPSAMPLE_RING=auto");
	good("HEAPSAMPLE_RING=auto", "HEAPSAMPLE_RING=auto");
	CHECK_INT(options.ring_bytes, 0);
	good("HEAPSAMPLE_RING=64k", "HEAPSAMPLE_RING=64k");
	CHECK_INT(options.ring_bytes, 65536);
	good("HEAPSAMPLE_RING=65537", "HEAPSAMPLE_RING=128k");
	CHECK_INT(options.ring_bytes, 131072);
	good("HEAPSAMPLE_RING=3m", "HEAPSAMPLE_RING=4m");
	good("HEAPSAMPLE_RING=1g", "HEAPSAMPLE_RING=1g");
	BAD_VALUES("HEAPSAMPLE_RING", "auto, or bytes, 64k to 1g, such as 4m); using auto", "0",
		   "63k", "2g", "1073741825", "Auto", "automatic");
}

static void test_memory(void)
{
	good("HEAPSAMPLE_MEMORY=16m", "HEAPSAMPLE_MEMORY=16m");
	CHECK_INT(options.memory_bytes, 16777216);
	good("HEAPSAMPLE_MEMORY=64g", "HEAPSAMPLE_MEMORY=64g");
	CHECK_INT(options.memory_bytes, 68719476736);
	BAD_VALUES("HEAPSAMPLE_MEMORY", "bytes, 16m to 64g, such as 256m or 1g); using 256m", "",
		   "15m", "65g", "256", "256mb");
}

static void test_max_cpu(void)
{
	good("HEAPSAMPLE_MAX_CPU=0", "HEAPSAMPLE_MAX_CPU=0");
	CHECK(options.max_cpu_percent == 0 && options.max_cpu_s == 0);
	good("HEAPSAMPLE_MAX_CPU=5", "HEAPSAMPLE_MAX_CPU=5%");
	CHECK(options.max_cpu_percent == 5 && options.max_cpu_s == 0);
	good("HEAPSAMPLE_MAX_CPU=200%", "HEAPSAMPLE_MAX_CPU=200%");
	good("HEAPSAMPLE_MAX_CPU=30s", "HEAPSAMPLE_MAX_CPU=30s");
	CHECK(options.max_cpu_percent == 0 && options.max_cpu_s == 30);
	good("HEAPSAMPLE_MAX_CPU=600S", "HEAPSAMPLE_MAX_CPU=10m");
	good("HEAPSAMPLE_MAX_CPU=0s", "HEAPSAMPLE_MAX_CPU=0");
	BAD_VALUES("HEAPSAMPLE_MAX_CPU",
		   "percent of a processor, 0 to 200, or seconds in all, to 8760h, such as 5 or "
		   "30s); using 0",
		   "", "201", "201%", "%", "5%%", "5 %", "-1", "8761h", "0.5", "1s%", "5ms");
}

static void test_block(void)
{
	good("HEAPSAMPLE_BLOCK=0", "HEAPSAMPLE_BLOCK=0");
	CHECK_INT(hs_options_block_ns(&options, options.interval_bytes), 0);
	good("HEAPSAMPLE_BLOCK=20", "HEAPSAMPLE_BLOCK=20");
	CHECK_INT(hs_options_block_ns(&options, options.interval_bytes), 20000000);
	good("HEAPSAMPLE_BLOCK=10000", "HEAPSAMPLE_BLOCK=10000");
	CHECK_INT(hs_options_block_ns(&options, options.interval_bytes), 10000000000);
	BAD_VALUES("HEAPSAMPLE_BLOCK", "auto, or milliseconds, 0 to 10000); using auto", "",
		   "10001", "-1", "on", "20ms", "Auto");
	/* Only if everything is sampled must nothing be missing. */
	good("HEAPSAMPLE_BLOCK=auto", "HEAPSAMPLE_BLOCK=auto");
	CHECK_INT(hs_options_block_ns(&options, options.interval_bytes), 0);
	options.interval_bytes = 2;
	CHECK_INT(hs_options_block_ns(&options, options.interval_bytes), 0);
	options.interval_bytes = 1;
	CHECK_INT(hs_options_block_ns(&options, options.interval_bytes), 10000000000);
	options.block_ms = 0;
	CHECK_INT(hs_options_block_ns(&options, options.interval_bytes), 0);
}

static void test_log(void)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };

	for (int i = 0; i < 4; i++) {
		char variable[64];

		snprintf(variable, sizeof variable, "HEAPSAMPLE_LOG=%s", names[i]);
		good(variable, variable);
		CHECK_INT(options.log_level, i);
	}
	BAD_VALUES("HEAPSAMPLE_LOG", "error, warn, info or debug); using warn", "", "warning", "3");
	none("HEAPSAMPLE_LOGFILE");
	good("HEAPSAMPLE_LOGFILE=/a b/c", "HEAPSAMPLE_LOGFILE=/a b/c");
	CHECK_STR(options.logfile, "/a b/c");
}

static void test_seed(void)
{
	good("HEAPSAMPLE_SEED=", "HEAPSAMPLE_SEED=");
	CHECK_INT(options.has_seed, false);
	good("HEAPSAMPLE_SEED=0", "HEAPSAMPLE_SEED=0");
	CHECK_INT(options.has_seed, true);
	good("HEAPSAMPLE_SEED=18446744073709551615", "HEAPSAMPLE_SEED=18446744073709551615");
	CHECK(options.seed == UINT64_MAX);
	good("HEAPSAMPLE_SEED=0xDeadBeef", "HEAPSAMPLE_SEED=3735928559");
	CHECK_INT(options.seed, 0xdeadbeef);
	good("HEAPSAMPLE_SEED=0XFFFFFFFFFFFFFFFF", "HEAPSAMPLE_SEED=18446744073709551615");
	BAD_VALUES("HEAPSAMPLE_SEED",
		   "a number below 2^64, decimal or hexadecimal after 0x); ignored",
		   "18446744073709551616", "0x10000000000000000", "0x", "0xg", "12a", "-1", "1k");
	CHECK_INT(options.has_seed, false);
}

static void test_labels(void)
{
	good("HEAPSAMPLE_LABELS=none", "HEAPSAMPLE_LABELS=none");
	CHECK_INT(options.labels, 0);
	good("HEAPSAMPLE_LABELS=tid", "HEAPSAMPLE_LABELS=tid");
	CHECK_INT(options.labels, HS_LABEL_TID);
	good("HEAPSAMPLE_LABELS=tid,size,thread", "HEAPSAMPLE_LABELS=size,thread,tid");
	CHECK_INT(options.labels, HS_LABEL_SIZE | HS_LABEL_THREAD | HS_LABEL_TID);
	good("HEAPSAMPLE_LABELS=thread,thread", "HEAPSAMPLE_LABELS=thread");
	BAD_VALUES("HEAPSAMPLE_LABELS",
		   "none, or of size, thread and tid, separated by commas); using size", "", ",",
		   "size,", ",size", "size,,tid", "size, tid", "size,none", "none,size", "sizes",
		   "siz", "threadtid");
}

static void test_drop_frames(void)
{
	char line[256];

	good("HEAPSAMPLE_DROP_FRAMES=", "HEAPSAMPLE_DROP_FRAMES=");
	CHECK_STR(options.drop_frames, "");
	good("HEAPSAMPLE_DROP_FRAMES=a|b=.*", "HEAPSAMPLE_DROP_FRAMES=a|b=.*");

	/* The longest value, and one byte more: it is cut in the message, like the long default. */
	char variable[2048] = "HEAPSAMPLE_DROP_FRAMES=";
	size_t length = strlen(variable);

	memset(variable + length, 'r', HS_OPTION_TEXT_BYTES - 1);
	good(variable, variable);
	CHECK_INT(strlen(options.drop_frames), HS_OPTION_TEXT_BYTES - 1);
	variable[length + HS_OPTION_TEXT_BYTES - 1] = 'r';
	snprintf(line, sizeof line,
		 "%.*s... is not understood (expected a regular expression of at most 1023 bytes); "
		 "using the default",
		 (int)(length + 63), variable);
	bad(variable, line);
}

/* After a mistake it is not known what must not be shown, so nothing is shown. */
static void test_skip_symbol_prefix(void)
{
	static const char *const values[] = {
		",", "a,", ",a", "a,,b", " ", "a, b", " a", "a ,b", "a\t", "a,b\n", "a, ",
	};
	char variable[2048] = "HEAPSAMPLE_SKIP_SYMBOL_PREFIX=";
	size_t length = strlen(variable);

	good("HEAPSAMPLE_SKIP_SYMBOL_PREFIX=", "HEAPSAMPLE_SKIP_SYMBOL_PREFIX=");
	good("HEAPSAMPLE_SKIP_SYMBOL_PREFIX=/opt,ns:: x",
	     "HEAPSAMPLE_SKIP_SYMBOL_PREFIX=/opt,ns:: x");
	CHECK_STR(options.skip_symbol_prefix, "/opt,ns:: x");
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		snprintf(variable + length, sizeof variable - length, "%s", values[i]);
		parse_one(variable);
		snprintf(variable + length, sizeof variable - length,
			 "%s is not understood (expected prefixes of names and paths, separated by "
			 "commas without blanks, none empty, at most 1023 bytes); hiding all "
			 "names\n", values[i]);
		CHECK_STR(reported, variable);
		CHECK_STR(options.skip_symbol_prefix, ",");
	}
	memset(variable + length, 'x', HS_OPTION_TEXT_BYTES);
	variable[length + HS_OPTION_TEXT_BYTES] = '\0';
	parse_one(variable);
	CHECK(strstr(reported, "); hiding all names\n") != NULL);
	CHECK_STR(options.skip_symbol_prefix, ",");
}

static void test_texts_that_are_too_long(void)
{
	static const struct {
		const char *name;
		const char *rest;
	} rows[] = {
		{ "OUTPUT", "expected the path of a file, at most 1023 bytes, with %p, %e, %h, %t, "
			    "%n, %r or %%); using %e.%p.%n.heap.pb.gz" },
		{ "LOGFILE", "expected the path of a file, at most 1023 bytes); ignored" },
		{ "PROGRAMS", "expected globs of program names or paths, separated by commas, at "
			      "most 1023 bytes); ignored" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char variable[2048], line[512], xs[HS_OPTION_TEXT_BYTES + 1];

		memset(xs, 'x', sizeof xs);
		xs[HS_OPTION_TEXT_BYTES] = '\0';
		snprintf(variable, sizeof variable, "HEAPSAMPLE_%s=%s", rows[i].name, xs);
		snprintf(line, sizeof line, "HEAPSAMPLE_%s=%.63s... is not understood (%s",
			 rows[i].name, xs, rows[i].rest);
		bad(variable, line);
		variable[strlen(variable) - 1] = '\0';
		good(variable, variable);
	}
}

static void test_symbolize(void)
{
	good("HEAPSAMPLE_SYMBOLIZE=none", "HEAPSAMPLE_SYMBOLIZE=none");
	CHECK_INT(options.symbolize, HS_SYMBOLIZE_NONE);
	good("HEAPSAMPLE_SYMBOLIZE=lines", "HEAPSAMPLE_SYMBOLIZE=lines");
	CHECK_INT(options.symbolize, HS_SYMBOLIZE_LINES);
	BAD_VALUES("HEAPSAMPLE_SYMBOLIZE", "none, names or lines); using names", "", "name",
		   "full");
}

static void test_jit(void)
{
	good("HEAPSAMPLE_JIT=none", "HEAPSAMPLE_JIT=none");
	CHECK_INT(options.jit, 0);
	good("HEAPSAMPLE_JIT=perfmap", "HEAPSAMPLE_JIT=perfmap");
	CHECK_INT(options.jit, HS_JIT_SOURCE_PERF_MAP);
	good("HEAPSAMPLE_JIT=gdb", "HEAPSAMPLE_JIT=gdb");
	CHECK_INT(options.jit, HS_JIT_SOURCE_GDB);
	good("HEAPSAMPLE_JIT=gdb,perfmap", "HEAPSAMPLE_JIT=perfmap,gdb");
	BAD_VALUES("HEAPSAMPLE_JIT",
		   "none, or of perfmap and gdb, separated by commas); using perfmap,gdb", "",
		   "perf", "perfmap,none", "perfmap,");
}

static void test_children(void)
{
	good("HEAPSAMPLE_CHILDREN=none", "HEAPSAMPLE_CHILDREN=none");
	CHECK_INT(options.children, 0);
	good("HEAPSAMPLE_CHILDREN=exec", "HEAPSAMPLE_CHILDREN=exec");
	CHECK_INT(options.children, HS_CHILDREN_EXEC);
	good("HEAPSAMPLE_CHILDREN=all", "HEAPSAMPLE_CHILDREN=all");
	CHECK_INT(options.children, HS_CHILDREN_FORK | HS_CHILDREN_EXEC);
	BAD_VALUES("HEAPSAMPLE_CHILDREN", "none, fork, exec or all); using fork", "", "fork,exec",
		   "1");
}

static void test_programs(void)
{
	good("HEAPSAMPLE_PROGRAMS=my*,srv?", "HEAPSAMPLE_PROGRAMS=my*,srv?");
	CHECK_STR(options.programs, "my*,srv?");
}

int main(void)
{
	RUN(test_defaults);
	RUN(test_mode);
	RUN(test_interval);
	RUN(test_output);
	RUN(test_stats);
	RUN(test_stream);
	RUN(test_final);
	RUN(test_signal);
	RUN(test_time_interval);
	RUN(test_byte_intervals);
	RUN(test_delta);
	RUN(test_oom);
	RUN(test_keep);
	RUN(test_depth);
	RUN(test_stack);
	RUN(test_ring);
	RUN(test_memory);
	RUN(test_max_cpu);
	RUN(test_block);
	RUN(test_log);
	RUN(test_seed);
	RUN(test_labels);
	RUN(test_drop_frames);
	RUN(test_skip_symbol_prefix);
	RUN(test_texts_that_are_too_long);
	RUN(test_symbolize);
	RUN(test_jit);
	RUN(test_children);
	RUN(test_programs);
	return CHECK_RESULT();
}
