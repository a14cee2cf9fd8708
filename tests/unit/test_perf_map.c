/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading /tmp/perf-PID.map: that of this process, which the test writes. */
#include "symbolize/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"

#define MIB ((size_t)1 << 20)

static struct hs_jit_map map;
static struct hs_perf_map perf;
static char path[64];
static char log_path[] = "/tmp/test_perf_map.XXXXXX";
static uint64_t skipped; /* before the case */
static unsigned opens;

static const char *name_at(uint64_t address)
{
	struct hs_jit_name name;
	uint32_t object, number = hs_jit_map_find(&map, address, &object);

	if (number == 0)
		return "";
	hs_jit_map_name(&map, number, &name);
	return name.system_name;
}

static void write_to(const char *file, int flags, const char *text, size_t bytes)
{
	int fd = open(file, O_WRONLY | O_CREAT | flags, 0600);

	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, bytes), bytes);
	close(fd);
}

static void append(const char *text)
{
	write_to(path, O_APPEND, text, strlen(text));
}

/* Writes the whole file anew, in place.  Its time changes by the least that is noticed. */
static void write_anew(const char *text)
{
	struct timespec times[2];
	struct stat before;

	CHECK_INT(stat(path, &before), 0);
	write_to(path, O_TRUNC, text, strlen(text));
	times[0] = times[1] = before.st_mtim;
	times[1].tv_nsec ^= 1;
	CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool read_on(void)
{
	return hs_perf_map_read(&perf, &map, UINT64_MAX);
}

/* What has been logged since the case began. */
static const char *messages(void)
{
	static char text[1024];
	int fd = open(log_path, O_RDONLY);
	ssize_t got = read(fd, text, sizeof text - 1);

	text[got > 0 ? got : 0] = '\0';
	close(fd);
	return text;
}

static void begin(void)
{
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	CHECK_INT(truncate(log_path, 0), 0);
	CHECK_INT(hs_jit_map_init(&map, 16 * MIB), 0);
	perf = (struct hs_perf_map){0};
	skipped = hs_stats_get(jit_skipped);
}

static void end(void)
{
	unlink(path);
	hs_perf_map_fini(&perf);
	hs_jit_map_fini(&map);
	CHECK_INT(hs_arena_used(), 0);
}

static void reads_on_as_the_file_grows(void)
{
	begin();
	CHECK(!read_on()); /* there is none yet */
	append("1000 80 first one\n2000 10 ");
	CHECK(!read_on());
	CHECK_STR(name_at(0x1000), "first one");
	CHECK_STR(name_at(0x107f), "first one");
	CHECK_STR(name_at(0x1080), "");
	CHECK_STR(name_at(0x2000), ""); /* half a line */
	append("sec");
	read_on();
	CHECK_STR(name_at(0x2000), "");
	append("ond\n");
	read_on();
	CHECK_STR(name_at(0x2000), "second");
	append("1000 10 later line wins\nABCdef 1 upper\n");
	read_on();
	CHECK_STR(name_at(0x1000), "later line wins");
	CHECK_STR(name_at(0x1010), "");
	CHECK_STR(name_at(0xabcdef), "upper");
	CHECK_INT(hs_stats_get(jit_skipped), skipped);
	CHECK_STR(messages(), "");
	end();
}

static void begins_anew_with_another_file(void)
{
	char other[80];

	begin();
	append("1000 80 old\n2000 80 old two\n");
	read_on();
	CHECK_INT(truncate(path, 0), 0);
	append("3000 80 truncated\n");
	read_on();
	CHECK_STR(name_at(0x3000), "truncated");
	CHECK_STR(name_at(0x1000), "old"); /* nobody says that it is gone */
	snprintf(other, sizeof other, "%s.new", path);
	write_to(other, 0, "4000 80 replaced by a longer file\n", 34);
	CHECK_INT(rename(other, path), 0);
	read_on();
	CHECK_STR(name_at(0x4000), "replaced by a longer file");
	end();
}

static void begins_anew_with_a_file_written_anew(void)
{
	begin();
	append("1000 80 old\n2000 80 old two\n");
	read_on();
	write_anew("1000 80 new\n2000 80 new two\n3000 80 three\n");
	read_on();
	CHECK_STR(name_at(0x1000), "new");
	CHECK_STR(name_at(0x2000), "new two");
	CHECK_STR(name_at(0x3000), "three");
	write_anew("1000 80 new\n2000 80 not two\n4000 80 a longer one\n");
	read_on();
	CHECK_STR(name_at(0x1000), "new");
	CHECK_STR(name_at(0x2000), "not two");
	CHECK_STR(name_at(0x3000), "three"); /* nobody says that it is gone */
	CHECK_STR(name_at(0x4000), "a longer one");
	/* The end of what was read is in the middle of a line. */
	write_anew("1000 80 a name that is longer than all that was there until now\n");
	read_on();
	CHECK_STR(name_at(0x1000), "a name that is longer than all that was there until now");
	CHECK_INT(hs_stats_get(jit_skipped), skipped);
	end();
}

static void a_file_written_anew_may_be_as_long_as_before(void)
{
	static char text[2 * HS_PERF_MAP_END_BYTES];

	begin();
	append("1000 80 old\n2000 80 two\n");
	read_on();
	write_anew("1000 80 new\n2000 80 two\n");
	read_on();
	CHECK_STR(name_at(0x1000), "new");
	write_anew("1000 80 new\n2000 80 2nd\n");
	read_on();
	CHECK_STR(name_at(0x2000), "2nd");
	/* The change is farther from the end than the part that is compared. */
	memset(text, 'x', sizeof text - 2);
	memcpy(text, "1000 80 old\n2000 80 ", 20);
	text[sizeof text - 2] = '\n';
	write_anew(text);
	read_on();
	memcpy(text, "1000 80 new", 11);
	write_anew(text);
	read_on();
	CHECK_STR(name_at(0x1000), "new");
	end();
}

/* All lines that were read one by one are compared. */
static void a_file_written_anew_may_end_as_before(void)
{
	begin();
	append("1000 80 old\n");
	read_on();
	append("2000 80 two\n");
	read_on();
	write_anew("1000 80 new\n2000 80 two\n3000 80 three\n");
	read_on();
	CHECK_STR(name_at(0x1000), "new");
	CHECK_STR(name_at(0x3000), "three");
	end();
}

static void bad_lines_are_passed_over(void)
{
	static const char *const lines[] = {
		"",
		" ",
		"garbage",
		"1000",
		"1000 ",
		"1000 10",
		"1000 10 ",
		"1000  10 two blanks",
		" 1000 10 blank first",
		"0x 10 no digit",
		"1000 0X 10 no digit",
		"0x0x1000 10 two prefixes",
		"x1000 10 half a prefix",
		"-1000 10 sign",
		"1000 0 no size",
		"1000 -1 sign",
		"g000 10 no digit",
		"1000\t10\ttabs",
		"10000000000000000 10 too many digits",
		"ffffffffffffffff 10 overflow",
		"1000 ffffffffffffffff overflow",
		"1000 7fffffffffff too large",
	};
	size_t count = sizeof lines / sizeof *lines;

	begin();
	for (size_t i = 0; i < count; i++) {
		append(lines[i]);
		append("\n");
	}
	write_to(path, O_APPEND, "1000 10 NUL\0 in it\n", 19);
	append("2000 10 good\n");
	read_on();
	CHECK_INT(hs_stats_get(jit_skipped), skipped + count + 1);
	CHECK_INT(map.ranges.count, 1);
	CHECK_STR(name_at(0x2000), "good");
	end();
}

/* OpenJDK writes lines of the first kind, Erlang of the second. */
static void numbers_may_have_a_prefix(void)
{
	begin();
	append("0x0000000000001000 0x0000000000000010 both\n0x2000 10 first\n"
	       "3000 0X10 second\n0 10 zero\n");
	read_on();
	CHECK_STR(name_at(0x100f), "both");
	CHECK_STR(name_at(0x200f), "first");
	CHECK_STR(name_at(0x300f), "second");
	CHECK_STR(name_at(0xf), "zero");
	CHECK_STR(name_at(0x1010), "");
	CHECK_INT(hs_stats_get(jit_skipped), skipped);
	end();
}

static void lines_may_be_long_but_not_too_long(void)
{
	static char line[3 * HS_PERF_MAP_LINE_BYTES];

	begin();
	memset(line, 'x', sizeof line);
	memcpy(line, "1000 10 ", 8);
	write_to(path, O_APPEND, line, HS_PERF_MAP_LINE_BYTES - 1);
	append("\n");
	read_on();
	CHECK_INT(strlen(name_at(0x1000)), HS_PERF_MAP_LINE_BYTES - 1 - 8);
	memcpy(line, "2000 10 ", 8);
	write_to(path, O_APPEND, line, sizeof line);
	read_on();
	append("still the same line\n3000 10 good\n");
	read_on();
	CHECK_STR(name_at(0x2000), "");
	CHECK_STR(name_at(0x3000), "good");
	CHECK_INT(hs_stats_get(jit_skipped), skipped + 1);
	/* A file written anew does not go on with the line. */
	write_to(path, O_APPEND, line, sizeof line);
	read_on();
	write_anew("4000 10 first\n5000 10 second\n");
	read_on();
	CHECK_STR(name_at(0x4000), "first");
	CHECK_STR(name_at(0x5000), "second");
	end();
}

static void reads_no_more_than_asked_at_a_time(void)
{
	char line[64];

	begin();
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(line, sizeof line, "%x 10 function %u\n", 0x1000 + i * 16, i);
		append(line);
	}
	CHECK(hs_perf_map_read(&perf, &map, 1));
	CHECK(map.ranges.count > 1000 && map.ranges.count < 9000);
	while (hs_perf_map_read(&perf, &map, 1)) {
	}
	CHECK_INT(map.ranges.count, 10000);
	CHECK_STR(name_at(0x1000 + 9999 * 16), "function 9999");
	end();
}

static long count_opens(long number)
{
	opens += number == SYS_openat;
	return 0;
}

static void a_file_that_has_not_changed_is_not_opened(void)
{
	begin();
	append("1000 10 code\n");
	read_on();
	opens = 0;
	hs_sys_fault = count_opens;
	read_on();
	CHECK_INT(opens, 0);
	append("2000 10 half");
	read_on();
	CHECK_INT(opens, 1);
	read_on();
	CHECK_INT(opens, 1);
	append(" a line\n");
	read_on();
	CHECK_INT(opens, 2);
	CHECK_STR(name_at(0x2000), "half a line");
	hs_sys_fault = NULL;
	end();
}

/* Expects one message, with the file's name, what it is, and what was expected. */
static void check_refused(const char *what)
{
	char expected[256];
	const char *got;

	read_on();
	read_on();
	CHECK_INT(map.ranges.count, 0);
	snprintf(expected, sizeof expected,
		 "%s is %s: not used (expected a regular file of user %u)\n", path, what,
		 (unsigned)geteuid());
	got = strstr(messages(), path);
	CHECK_STR(got != NULL ? got : messages(), expected);
}

/* Sets the time of modification so far before now. */
static void set_age(int64_t age_ns)
{
	int64_t then = (int64_t)hs_sys_realtime_ns() - age_ns;
	struct timespec time = {then / HS_SECOND_NS, then % HS_SECOND_NS};

	CHECK_INT(utimensat(AT_FDCWD, path, (struct timespec[]){time, time}, 0), 0);
}

static void what_an_earlier_process_left_is_not_used(void)
{
	begin();
	append("1000 80 of another process\n");
	set_age(2 * (int64_t)HS_SECOND_NS);
	perf.begun_ns = (int64_t)hs_sys_realtime_ns();
	CHECK(!read_on());
	CHECK_STR(name_at(0x1000), "");
	CHECK_STR(messages(), "");
	/* The process's own takes its place, or is from just before the profiler. */
	write_anew("2000 80 own\n");
	set_age(0);
	read_on();
	CHECK_STR(name_at(0x2000), "own");
	write_anew("3000 80 early\n");
	set_age(HS_SECOND_NS / 2);
	perf.begun_ns = (int64_t)hs_sys_realtime_ns();
	read_on();
	CHECK_STR(name_at(0x3000), "early");
	end();
}

static void only_a_regular_file_is_used(void)
{
	char what[80], target[80];
	unsigned user = geteuid();

	begin();
	CHECK_INT(mkdir(path, 0700), 0);
	snprintf(what, sizeof what, "a directory of user %u", user);
	check_refused(what);
	rmdir(path);
	end();

	begin();
	CHECK_INT(mkfifo(path, 0600), 0);
	snprintf(what, sizeof what, "a pipe of user %u", user);
	check_refused(what);
	end();

	begin();
	snprintf(target, sizeof target, "%s.target", path);
	write_to(target, 0, "1000 10 code\n", 13);
	CHECK_INT(symlink(target, path), 0);
	snprintf(what, sizeof what, "a symbolic link to a file of user %u", user);
	check_refused(what);
	unlink(target);
	end();
}

static void only_the_user_s_own_file_is_used(void)
{
	if (geteuid() != 0) {
		printf("skipped: only root can give a file away\n");
		return;
	}
	begin();
	append("1000 10 code\n");
	CHECK_INT(chown(path, 12345, 0), 0);
	check_refused("a file of user 12345");
	CHECK_INT(chown(path, 0, 0), 0);
	read_on();
	CHECK_STR(name_at(0x1000), "code");
	end();
}

static void a_forked_child_has_its_own_file(void)
{
	int status = 0;
	pid_t child;

	begin();
	append("1000 10 parent's\n2000 10 parent's two\n");
	read_on();
	fflush(NULL);
	child = fork();
	if (child == 0) {
		check_failures = 0;
		CHECK_STR(name_at(0x1000), "parent's");
		snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
		append("1000 10 child's\n");
		read_on();
		CHECK_STR(name_at(0x1000), "child's");
		CHECK_STR(name_at(0x2000), "parent's two");
		unlink(path);
		_exit(check_failures != 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	append("3000 10 parent's three\n");
	read_on();
	CHECK_STR(name_at(0x1000), "parent's");
	CHECK_STR(name_at(0x3000), "parent's three");
	end();
}

int main(void)
{
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	close(mkstemp(log_path));
	hs_log_init(HS_LOG_WARN, log_path);
	RUN(reads_on_as_the_file_grows);
	RUN(begins_anew_with_another_file);
	RUN(begins_anew_with_a_file_written_anew);
	RUN(a_file_written_anew_may_be_as_long_as_before);
	RUN(a_file_written_anew_may_end_as_before);
	RUN(bad_lines_are_passed_over);
	RUN(numbers_may_have_a_prefix);
	RUN(lines_may_be_long_but_not_too_long);
	RUN(reads_no_more_than_asked_at_a_time);
	RUN(a_file_that_has_not_changed_is_not_opened);
	RUN(what_an_earlier_process_left_is_not_used);
	RUN(only_a_regular_file_is_used);
	RUN(only_the_user_s_own_file_is_used);
	RUN(a_forked_child_has_its_own_file);
	unlink(log_path);
	return CHECK_RESULT();
}
