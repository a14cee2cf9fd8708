/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-line messages.  See log.h for the contract.
 *
 * Runs on any thread, a program's too: little stack (a line is built in pages
 * mapped for it), and the write raises no signal in the program.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/digits.h"
#include "base/format.h"
#include "base/lock.h"
#include "base/signal_mask.h"
#include "base/sys.h"

/* The longest line, with the newline: all settings and a path.  What is longer is cut. */
#define LINE_BYTES 16384

/* The longest where no page can be had. */
#define SPARE_LINE_BYTES 256

/* How long a line waits for room, in a pipe that is full or on a terminal that is held. */
#define WRITABLE_NS 100000000

/* How long a line waits for a fork, or for another to open or close a file. */
#define CHANGING_NS 10000000

/*
 * Signals that writing a line can raise: SIGPIPE, SIGXFSZ, and SIGTTOU, which
 * would stop the program.  As the kernel's mask of 64 bits.
 */
#define WRITE_SIGNALS (HS_SIGNAL(SIGPIPE) | HS_SIGNAL(SIGXFSZ) | HS_SIGNAL(SIGTTOU))

/* Written by hs_log_init() during start-up, constant afterwards. */
static struct {
	enum hs_log_level level;
	const char *logfile;           /* NULL: lines go to the descriptor */
	int logfile_error;             /* of a logfile that names a descriptor */
	struct hs_descriptor programs; /* its stderr, or what logfile names */
} log_state = {.level = HS_LOG_WARN};

/* The number at the end of a path that begins so, or -1. */
static int number_after(const char *path, const char *beginning)
{
	size_t bytes = strlen(beginning);
	const char *end;
	uint64_t number;

	if (strncmp(path, beginning, bytes) != 0)
		return -1;
	end = hs_parse_digits(path + bytes, NULL, 10, &number);
	return end != NULL && *end == '\0' && number <= INT_MAX ? (int)number : -1;
}

/*
 * Which of the process's own descriptors a path names, or -1.  Such a path is a link; and what is
 * opened by it would write over what the program writes, having another position in the file.
 */
static int named_descriptor(const char *path)
{
	int fd;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	fd = number_after(path, "/dev/fd/");
	return fd >= 0 ? fd : number_after(path, "/proc/self/fd/");
}

/* Remembers what the descriptor is.  Whether it is open. */
static bool write_to(int fd)
{
	return hs_descriptor_note(&log_state.programs, fd, NULL) == 0;
}

void hs_log_init(enum hs_log_level level, const char *logfile)
{
	int fd = logfile == NULL ? -1 : named_descriptor(logfile);

	log_state.level = level;
	log_state.logfile = logfile != NULL && *logfile != '\0' && fd < 0 ? logfile : NULL;
	log_state.logfile_error = fd < 0 || write_to(fd) ? 0 : -EBADF;
	if (fd < 0 || log_state.logfile_error != 0)
		write_to(STDERR_FILENO);
}

/*
 * Not blocking: it may be a pipe that nobody reads.  No link: another user may have put it
 * there.  Kept out of line, like what writes a line: their frames are not there while text is
 * formatted.
 */
static __attribute__((noinline)) int open_logfile(struct hs_descriptor *opened)
{
	return hs_descriptor_open(opened, log_state.logfile,
				  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
					  O_NOCTTY,
				  0600, NULL);
}

int hs_log_check_file(void)
{
	struct hs_descriptor opened;
	int error;

	if (log_state.logfile == NULL)
		return log_state.logfile_error;
	error = open_logfile(&opened);
	(void)hs_descriptor_close(&opened);
	return error;
}

/* Where no page can be had.  Taken by one thread at a time; another's line is dropped. */
static char spare_line[SPARE_LINE_BYTES];
static atomic_flag spare_line_is_taken = ATOMIC_FLAG_INIT;

static const char *level_name(enum hs_log_level level)
{
	switch (level) {
	case HS_LOG_ERROR:
		return "error";
	case HS_LOG_WARN:
		return "warning";
	case HS_LOG_INFO:
		return "info";
	default:
		return "debug";
	}
}

static uint64_t pending_signals(void)
{
	uint64_t pending = 0;

	hs_syscall(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
	return pending;
}

/*
 * In pieces that a pipe takes at once when it has room.  Not to a file that has come in the place
 * of the descriptor's meanwhile.  Whether all is written.
 */
static bool write_in_time(const struct hs_descriptor *to, const char *line, size_t bytes)
{
	while (bytes > 0) {
		size_t piece = bytes < PIPE_BUF ? bytes : PIPE_BUF;

		if (!hs_sys_wait_writable(to->fd, WRITABLE_NS) || hs_descriptor_check(to) != 0 ||
		    hs_sys_write_all(to->fd, line, piece) != 0)
			return false;
		line += piece;
		bytes -= piece;
	}
	return true;
}

/* Writes; of WRITE_SIGNALS, one that the write raised is taken back.  Whether all is written. */
static bool write_without_signals(const struct hs_descriptor *to, const char *line, size_t bytes)
{
	const struct timespec no_time = { 0, 0 };
	uint64_t saved, before, raised;
	bool is_written;

	if (!hs_signal_mask_block(WRITE_SIGNALS, &saved))
		return false;
	before = pending_signals();
	is_written = write_in_time(to, line, bytes);
	raised = pending_signals() & WRITE_SIGNALS & ~before;
	if (raised != 0)
		hs_syscall(SYS_rt_sigtimedwait, (long)&raised, 0, (long)&no_time, sizeof raised, 0,
			   0);
	hs_signal_mask_set(saved);
	return is_written;
}

/*
 * Held while a file is opened and noted, or closed and forgotten: a child that is forked between
 * the two might not know of it, for the kernel copies memory later than descriptors.
 */
static struct hs_lock changing;

/* What a child that is forked meanwhile closes: the file of one thread at a time. */
static struct hs_descriptor noted;
static atomic_flag noted_is_taken = ATOMIC_FLAG_INIT;

/* Without the lock, or a place to note the file, a line is written all the same. */
static bool write_to_logfile(const char *line, size_t bytes)
{
	bool is_locked = hs_lock_acquire_within(&changing, CHANGING_NS), is_written;
	bool is_noted = !atomic_flag_test_and_set_explicit(&noted_is_taken, memory_order_acquire);
	struct hs_descriptor opened;

	(void)open_logfile(&opened);
	if (is_noted)
		noted = opened;
	if (is_locked)
		hs_lock_release(&changing);
	is_written = opened.is_open && write_without_signals(&opened, line, bytes);
	is_locked = hs_lock_acquire_within(&changing, CHANGING_NS);
	(void)hs_descriptor_close(&opened);
	if (is_noted) {
		noted = opened;
		/* Release, and acquire above: the place goes from one thread to the next. */
		atomic_flag_clear_explicit(&noted_is_taken, memory_order_release);
	}
	if (is_locked)
		hs_lock_release(&changing);
	return is_written;
}

bool hs_log_fork_begins(uint64_t timeout_ns)
{
	return hs_lock_acquire_within(&changing, timeout_ns);
}

void hs_log_fork_ends(void)
{
	hs_lock_release(&changing);
}

void hs_log_after_fork(void)
{
	(void)hs_descriptor_close(&noted);
	atomic_flag_clear_explicit(&noted_is_taken, memory_order_relaxed);
	atomic_flag_clear_explicit(&spare_line_is_taken, memory_order_relaxed);
	hs_lock_reset(&changing);
}

static __attribute__((noinline)) void write_line(const char *line, size_t bytes)
{
	bool is_written = log_state.logfile != NULL && write_to_logfile(line, bytes);

	if (!is_written && hs_descriptor_check(&log_state.programs) == 0)
		write_without_signals(&log_state.programs, line, bytes);
}

/* A message is one line, whatever is in its arguments.  Bytes of UTF-8 stay. */
static void replace_control_bytes(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < 0x20 || byte == 0x7f)
			text[i] = '?';
	}
}

static size_t append(char *line, size_t length, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(line + length, text, bytes);
	return length + bytes;
}

/*
 * Writes "heapsample[PID]: LEVEL: ".  Not by hs_format(): the frame of a function
 * with variable arguments, below that of hs_log(), is most of what we may use.
 */
static size_t put_prefix(char *line, enum hs_log_level level)
{
	char digits[12];
	char *first = digits + sizeof digits - 1;
	size_t length = append(line, 0, "heapsample[");

	*first = '\0';
	for (unsigned pid = (unsigned)hs_sys_getpid(); pid != 0; pid /= 10)
		*--first = (char)('0' + pid % 10);
	length = append(line, length, first);
	length = append(line, length, "]: ");
	length = append(line, length, level_name(level));
	return append(line, length, ": ");
}

/* Returns the line's length, with the newline. */
static size_t format_line(char *line, size_t capacity, enum hs_log_level level, const char *format,
			  va_list arguments)
{
	size_t length = put_prefix(line, level);

	length += hs_vformat(line + length, capacity - length, format, arguments);
	replace_control_bytes(line, length);
	line[length] = '\n';
	return length + 1;
}

void hs_log(enum hs_log_level level, const char *format, ...)
{
	va_list arguments;
	char *line;

	if (level > log_state.level)
		return;
	line = hs_sys_map(LINE_BYTES, PROT_READ | PROT_WRITE);
	va_start(arguments, format);
	if (line != NULL) {
		write_line(line, format_line(line, LINE_BYTES, level, format, arguments));
		hs_sys_unmap(line, LINE_BYTES);
	} else if (!atomic_flag_test_and_set_explicit(&spare_line_is_taken, memory_order_acquire)) {
		/* Acquire and release: the line's bytes go from one thread to the next. */
		write_line(spare_line,
			   format_line(spare_line, SPARE_LINE_BYTES, level, format, arguments));
		atomic_flag_clear_explicit(&spare_line_is_taken, memory_order_release);
	}
	va_end(arguments);
}
