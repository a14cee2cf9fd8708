/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages: their form, where they go, and that writing one never hurts the program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"
#include "check.h"

static char captured[20000];
static char prefix[64]; /* "heapsample[PID]: " */
static int real_stderr = -1, capture_fd = -1;

/* Makes descriptor 2 a file of the test. */
static void capture_start(void)
{
	char path[] = "test_log.XXXXXX";

	real_stderr = dup(STDERR_FILENO);
	capture_fd = mkstemp(path);
	unlink(path);
	dup2(capture_fd, STDERR_FILENO);
}

/* Restores the real stderr; what was written meanwhile is in captured. */
static void capture_end(void)
{
	ssize_t got = pread(capture_fd, captured, sizeof captured - 1, 0);

	captured[got > 0 ? got : 0] = '\0';
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(capture_fd);
}

static void check_line(const char *line)
{
	char want[8192];

	snprintf(want, sizeof want, "%s%s", *line == '\0' ? "" : prefix, line);
	CHECK_STR(captured, want);
}

static void test_levels(void)
{
	static const char *const lines[] = { "error: e 1\n", "warning: w 2\n", "info: i 3\n",
					     "debug: d 4\n" };

	for (int level = HS_LOG_ERROR; level <= HS_LOG_DEBUG; level++) {
		char want[512] = "";

		for (int i = 0; i <= level; i++) {
			strcat(want, prefix);
			strcat(want, lines[i]);
		}
		capture_start();
		hs_log_init((enum hs_log_level)level, NULL);
		errno = 1234;
		hs_log(HS_LOG_ERROR, "e %d", 1);
		hs_log(HS_LOG_WARN, "w %d", 2);
		hs_log(HS_LOG_INFO, "i %d", 3);
		hs_log(HS_LOG_DEBUG, "d %d", 4);
		CHECK_INT(errno, 1234);
		capture_end();
		CHECK_STR(captured, want);
	}
}

static void test_one_message_is_one_line(void)
{
	capture_start();
	hs_log_init(HS_LOG_WARN, "");
	hs_log(HS_LOG_WARN, "name %s.", "a\nb\tc\x1b[1m\x7f gr\xc3\xbc\xc3\x9f e");
	capture_end();
	check_line("warning: name a?b?c?[1m? gr\xc3\xbc\xc3\x9f e.\n");
}

static void test_long_lines_are_cut(void)
{
	static char text[sizeof captured];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	capture_start();
	hs_log_init(HS_LOG_WARN, NULL);
	hs_log(HS_LOG_WARN, "%s", text);
	capture_end();
	CHECK_INT(strlen(captured), 16384);
	CHECK_INT(captured[16383], '\n');
	CHECK_INT(captured[16382], 'x');
	CHECK(memcmp(captured, prefix, strlen(prefix)) == 0);
}

static void test_replaced_stderr_is_left_alone(void)
{
	int fd;

	capture_start();
	hs_log_init(HS_LOG_WARN, NULL);
	fd = dup(STDERR_FILENO);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	dup2(capture_fd, STDERR_FILENO);
	hs_log(HS_LOG_WARN, "back again");
	close(STDERR_FILENO);
	hs_log(HS_LOG_WARN, "closed");
	dup2(fd, STDERR_FILENO);
	capture_end();
	check_line("warning: back again\n");

	/* Nothing is written to a file of the program that has descriptor 2. */
	hs_log_init(HS_LOG_WARN, NULL);
	capture_start();
	hs_log(HS_LOG_WARN, "not yours");
	capture_end();
	check_line("");
	close(fd);
}

static void test_stderr_closed_at_start(void)
{
	capture_start();
	close(STDERR_FILENO);
	hs_log_init(HS_LOG_WARN, NULL);
	dup2(capture_fd, STDERR_FILENO);
	hs_log(HS_LOG_WARN, "nobody asked");
	capture_end();
	check_line("");
}

static void test_logfile(void)
{
	const char *path = "test_log.file";
	struct stat info;
	FILE *file;
	int before, after;

	unlink(path);
	capture_start();
	hs_log_init(HS_LOG_WARN, path);
	before = dup(0);
	close(before);
	hs_log(HS_LOG_WARN, "one");
	hs_log(HS_LOG_INFO, "not enabled");
	hs_log(HS_LOG_ERROR, "two");
	after = dup(0);
	close(after);
	capture_end();
	check_line("");
	CHECK_INT(after, before);

	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	file = fopen(path, "r");
	captured[fread(captured, 1, sizeof captured - 1, file)] = '\0';
	fclose(file);
	unlink(path);
	CHECK(strstr(captured, "warning: one\n") != NULL);
	CHECK(strstr(captured, "error: two\n") != NULL);
	CHECK(strstr(captured, "not enabled") == NULL);
}

static void test_logfile_that_cannot_be_opened(void)
{
	capture_start();
	hs_log_init(HS_LOG_WARN, "/no/such/folder/log");
	CHECK_INT(hs_log_check_file(), -ENOENT);
	hs_log(HS_LOG_WARN, "to stderr");
	capture_end();
	check_line("warning: to stderr\n");
}

static void test_logfile_that_cannot_be_written(void)
{
	capture_start();
	hs_log_init(HS_LOG_WARN, "/dev/full");
	hs_log(HS_LOG_WARN, "written elsewhere");
	capture_end();
	check_line("warning: written elsewhere\n");
}

static void test_logfile_is_a_pipe_nobody_reads(void)
{
	const char *path = "test_log.fifo";

	unlink(path);
	CHECK_INT(mkfifo(path, 0600), 0);
	capture_start();
	hs_log_init(HS_LOG_WARN, path);
	hs_log(HS_LOG_WARN, "does not wait");
	capture_end();
	check_line("warning: does not wait\n");
	unlink(path);
}

static int replaced_fd, replacement; /* the program puts this one in the place of that one */

/* While the line waits for room. */
static long replace(long number)
{
	if (number == SYS_ppoll && replacement >= 0) {
		dup2(replacement, replaced_fd);
		replacement = -1;
	}
	return 0;
}

/* Logs while the descriptor is replaced.  That must stay open, with nothing written to it. */
static void log_while_replaced(int fd)
{
	char name[] = "test_log.XXXXXX", got;
	int own = mkstemp(name);

	unlink(name);
	replaced_fd = fd;
	replacement = own;
	hs_sys_fault = replace;
	hs_log(HS_LOG_WARN, "not yours");
	hs_sys_fault = NULL;
	CHECK_INT(replacement, -1);
	CHECK(fcntl(fd, F_GETFD) >= 0);
	CHECK_INT(pread(own, &got, 1, 0), 0);
	close(own);
}

static void test_logfile_is_replaced_meanwhile(void)
{
	const char *path = "test_log.file";
	struct stat info;
	int next;

	capture_start();
	hs_log_init(HS_LOG_WARN, path);
	/* The lowest that is free, after the file of the test. */
	next = dup(0);
	replaced_fd = dup(0);
	close(next);
	close(replaced_fd);
	log_while_replaced(replaced_fd);
	close(replaced_fd);
	capture_end();
	check_line("warning: not yours\n");
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_size, 0);
	unlink(path);
}

static void test_stderr_is_replaced_meanwhile(void)
{
	capture_start();
	hs_log_init(HS_LOG_WARN, NULL);
	log_while_replaced(STDERR_FILENO);
	capture_end();
	check_line("");
}

static int child_status;

/* While the line waits for room.  In the child the descriptor is closed, and nothing else. */
static long fork_there(long number)
{
	pid_t child;

	if (number != SYS_ppoll)
		return 0;
	hs_sys_fault = NULL;
	CHECK(hs_log_fork_begins(HS_SECOND_NS));
	child = fork();
	if (child == 0) {
		hs_log_after_fork();
		_exit(fcntl(replaced_fd, F_GETFD) >= 0 || fcntl(capture_fd, F_GETFD) < 0);
	}
	hs_log_fork_ends();
	waitpid(child, &child_status, 0);
	return 0;
}

static void test_forked_child_has_no_logfile(void)
{
	const char *path = "test_log.file";
	struct stat info;

	capture_start();
	hs_log_init(HS_LOG_WARN, path);
	replaced_fd = dup(0);
	close(replaced_fd);
	for (int lines = 0; lines < 2; lines++) {
		child_status = -1;
		hs_sys_fault = fork_there;
		hs_log(HS_LOG_WARN, "of the parent");
		CHECK_INT(child_status, 0);
		CHECK(fcntl(replaced_fd, F_GETFD) < 0);
	}
	capture_end();
	check_line("");
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_size, 2 * strlen(prefix) + 2 * strlen("warning: of the parent\n"));
	unlink(path);
}

/* A line of ours comes between those that the program writes to the descriptor. */
static void log_to_descriptor(const char *path, int fd)
{
	char name[] = "test_log.XXXXXX", got[512] = "", want[512];
	int file = mkstemp(name), saved;

	unlink(name);
	fflush(stdout);
	saved = dup(fd);
	dup2(file, fd);
	CHECK_INT(write(fd, "before\n", 7), 7);
	hs_log_init(HS_LOG_WARN, path);
	CHECK_INT(hs_log_check_file(), 0);
	hs_log(HS_LOG_WARN, "%s", path);
	CHECK_INT(write(fd, "after\n", 6), 6);
	/* Another file has the descriptor now. */
	dup2(saved, fd);
	hs_log(HS_LOG_WARN, "not yours");
	close(saved);
	CHECK(pread(file, got, sizeof got - 1, 0) > 0);
	close(file);
	snprintf(want, sizeof want, "before\n%swarning: %s\nafter\n", prefix, path);
	CHECK_STR(got, want);
}

static void test_logfile_is_a_descriptor(void)
{
	int other = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char path[64];

	log_to_descriptor("/dev/stdout", STDOUT_FILENO);
	log_to_descriptor("/dev/stderr", STDERR_FILENO);
	snprintf(path, sizeof path, "/dev/fd/%d", other);
	log_to_descriptor(path, other);
	snprintf(path, sizeof path, "/proc/self/fd/%d", other);
	log_to_descriptor(path, other);
	close(other);
}

static void test_logfile_is_no_descriptor(void)
{
	static const struct {
		const char *path;
		int error;
	} bad[] = {
		{"/dev/fd/999", -EBADF},       {"/dev/fd/", -EISDIR},
		{"/proc/self/fd/1x", -ENOENT}, {"/dev/fd/99999999999", -ENOENT},
		{"/dev/fd/-1", -ENOENT},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		capture_start();
		hs_log_init(HS_LOG_WARN, bad[i].path);
		CHECK_INT(hs_log_check_file(), bad[i].error);
		hs_log(HS_LOG_WARN, "to stderr");
		capture_end();
		check_line("warning: to stderr\n");
	}
}

static long fail_mmap(long number)
{
	return number == SYS_mmap ? -ENOMEM : 0;
}

static void test_without_memory(void)
{
	char text[1000];

	memset(text, 'y', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	capture_start();
	hs_log_init(HS_LOG_WARN, NULL);
	hs_sys_fault = fail_mmap;
	hs_log(HS_LOG_WARN, "short");
	hs_log(HS_LOG_WARN, "%s", text);
	hs_sys_fault = NULL;
	capture_end();
	CHECK_INT(strlen(captured), strlen(prefix) + strlen("warning: short\n") + 256);
	CHECK_INT(captured[strlen(captured) - 1], '\n');
	*(strchr(captured, '\n') + 1) = '\0';
	check_line("warning: short\n");
}

static volatile sig_atomic_t signals_seen;

static void count_signal(int number)
{
	(void)number;
	signals_seen = signals_seen + 1;
}

static bool mask_has(int number)
{
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	return sigismember(&mask, number) == 1;
}

static bool is_pending(int number)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, number) == 1;
}

/* Descriptor 2 becomes a pipe without a reader while one line is written. */
static void log_to_broken_pipe(void)
{
	int ends[2], saved = dup(STDERR_FILENO);

	CHECK_INT(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	hs_log_init(HS_LOG_WARN, NULL);
	close(ends[0]);
	hs_log(HS_LOG_WARN, "into the void");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
}

static void test_broken_pipe_raises_no_signal(void)
{
	sigset_t set;

	signals_seen = 0;
	signal(SIGPIPE, count_signal);
	log_to_broken_pipe();
	CHECK_INT(signals_seen, 0);
	CHECK(!is_pending(SIGPIPE));
	CHECK(!mask_has(SIGPIPE));

	/* A signal that was pending before is the program's, and stays. */
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGPIPE);
	log_to_broken_pipe();
	CHECK(is_pending(SIGPIPE));
	CHECK(mask_has(SIGPIPE));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK_INT(signals_seen, 1);
	signal(SIGPIPE, SIG_DFL);
}

/* Nobody reads the pipe: the line is dropped.  When there is room the next one is written. */
static void test_full_pipe_is_not_waited_for(void)
{
	int ends[2], saved = dup(STDERR_FILENO);
	char got[4096];
	ssize_t bytes;

	CHECK_INT(pipe(ends), 0);
	CHECK_INT(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	memset(got, 'x', sizeof got);
	while (write(ends[1], got, sizeof got) > 0)
		;
	CHECK_INT(fcntl(ends[1], F_SETFL, 0), 0);
	dup2(ends[1], STDERR_FILENO);
	hs_log_init(HS_LOG_WARN, NULL);
	hs_log(HS_LOG_WARN, "no room");
	CHECK_INT(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	while ((bytes = read(ends[0], got, sizeof got)) > 0)
		CHECK(memchr(got, '\n', (size_t)bytes) == NULL);
	hs_log(HS_LOG_WARN, "room");
	dup2(saved, STDERR_FILENO);
	close(saved);
	CHECK(read(ends[0], captured, sizeof captured - 1) > 0);
	CHECK(strstr(captured, "warning: room\n") != NULL);
	close(ends[0]);
	close(ends[1]);
}

static void test_file_size_limit_raises_no_signal(void)
{
	struct rlimit saved, none;

	signals_seen = 0;
	signal(SIGXFSZ, count_signal);
	getrlimit(RLIMIT_FSIZE, &saved);
	none = saved;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &none);
	unlink("test_log.limit");
	hs_log_init(HS_LOG_WARN, "test_log.limit");
	hs_log(HS_LOG_WARN, "no room");
	setrlimit(RLIMIT_FSIZE, &saved);
	CHECK_INT(unlink("test_log.limit"), 0);
	CHECK_INT(signals_seen, 0);
	CHECK(!is_pending(SIGXFSZ));
	signal(SIGXFSZ, SIG_DFL);
}

/* Its terminal stops whoever writes to it in the background.  Returns how that process ended. */
static int log_in_the_background(const char *terminal)
{
	struct termios modes;
	int fd, status = 0;
	pid_t child;

	setsid();
	fd = open(terminal, O_RDWR);
	if (fd < 0 || tcgetattr(fd, &modes) != 0)
		return 77;
	modes.c_lflag |= TOSTOP;
	tcsetattr(fd, TCSANOW, &modes);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		dup2(fd, STDERR_FILENO);
		hs_log_init(HS_LOG_WARN, NULL);
		hs_log(HS_LOG_WARN, "in the background");
		_exit(5);
	}
	waitpid(child, &status, WUNTRACED);
	if (WIFSTOPPED(status))
		kill(child, SIGKILL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void test_background_process_is_not_stopped(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY), status = 0;
	pid_t child;

	if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0) {
		printf("# no terminals\n");
		return;
	}
	child = fork();
	if (child == 0)
		_exit(log_in_the_background(ptsname(fd)));
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		printf("# no terminals\n");
	else
		CHECK_INT(WEXITSTATUS(status), 5);
	close(fd);
}

int main(void)
{
	snprintf(prefix, sizeof prefix, "heapsample[%d]: ", (int)getpid());
	RUN(test_levels);
	RUN(test_one_message_is_one_line);
	RUN(test_long_lines_are_cut);
	RUN(test_replaced_stderr_is_left_alone);
	RUN(test_stderr_closed_at_start);
	RUN(test_logfile);
	RUN(test_logfile_that_cannot_be_opened);
	RUN(test_logfile_that_cannot_be_written);
	RUN(test_logfile_is_a_pipe_nobody_reads);
	RUN(test_logfile_is_replaced_meanwhile);
	RUN(test_stderr_is_replaced_meanwhile);
	RUN(test_forked_child_has_no_logfile);
	RUN(test_logfile_is_a_descriptor);
	RUN(test_logfile_is_no_descriptor);
	RUN(test_without_memory);
	RUN(test_broken_pipe_raises_no_signal);
	RUN(test_full_pipe_is_not_waited_for);
	RUN(test_file_size_limit_raises_no_signal);
	RUN(test_background_process_is_not_stopped);
	return CHECK_RESULT();
}
