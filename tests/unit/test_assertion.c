/* SPDX-License-Identifier: BSD-2-Clause */
/* Failing assertions of linked libraries end the call or the thread, but not the program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/log.h"
#include "check.h"

_Noreturn void __assert_fail(const char *assertion, const char *file, unsigned line,
			     const char *function);

static int fail(void *reached)
{
	*(int *)reached += 1;
	__assert_fail("a == b", "library.c", 42, "f");
}

static int succeed(void *reached)
{
	*(int *)reached += 1;
	return 17;
}

/* An assertion fails in a call inside a call: the outer one goes on. */
static int nest(void *reached)
{
	CHECK_INT(hs_assertion_catch(fail, reached), -ENOTRECOVERABLE);
	CHECK_INT(hs_assertion_catch(succeed, reached), 17);
	return fail(reached);
}

/* Redirects stderr; what is written there can be read from the descriptor returned. */
static int capture_stderr(int *old)
{
	int ends[2];

	if (pipe(ends) < 0)
		SKIP("no pipe");
	*old = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	hs_log_init(HS_LOG_WARN, NULL);
	return ends[0];
}

static void check_message(int from, const char *words)
{
	char line[512];
	ssize_t got = read(from, line, sizeof line - 1);

	line[got > 0 ? got : 0] = '\0';
	CHECK(strstr(line, "assertion 'a == b' at library.c:42") != NULL);
	CHECK(strstr(line, words) != NULL);
}

static void test_calls(void)
{
	int reached = 0, old, from = capture_stderr(&old), result;

	CHECK_INT(hs_assertion_catch(succeed, &reached), 17);
	result = hs_assertion_catch(nest, &reached);
	dup2(old, STDERR_FILENO);
	CHECK_INT(result, -ENOTRECOVERABLE);
	CHECK_INT(reached, 4);
	check_message(from, "left out");
	close(from);
}

/* The system call in which a process waits; -1: it is running, or has ended. */
static long waits_in(pid_t process)
{
	char path[64], text[256];
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/syscall", (int)process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return text[0] >= '0' && text[0] <= '9' ? strtol(text, NULL, 10) : -1;
}

static void test_parked(void)
{
	int reached = 0, old, from = capture_stderr(&old), status = 0;
	pid_t process = fork();

	if (process == 0)
		fail(&reached);
	dup2(old, STDERR_FILENO);
	check_message(from, "no more profiles");
	close(from);
	/* The child either waits for ever, as it must, or ends, and waitpid() gets its status. */
	while (waits_in(process) != SYS_futex && waitpid(process, &status, WNOHANG) == 0)
		usleep(1000);
	kill(process, SIGKILL);
	if (status == 0)
		waitpid(process, &status, 0);
	CHECK(WIFSIGNALED(status));
	CHECK_INT(WTERMSIG(status), SIGKILL);
}

int main(void)
{
	RUN(test_calls);
	RUN(test_parked);
	return CHECK_RESULT();
}
