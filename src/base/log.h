/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-line messages to the person who runs the program.
 *
 * A line is "heapsample[PID]: LEVEL: text\n", formatted without stdio, locale or allocation and
 * written with one write(2), above 4096 bytes with more, to stderr, or appended to
 * HEAPSAMPLE_LOGFILE, which is opened per line: no descriptor is kept.  What cannot be written
 * there, on a full disk for instance, goes to stderr.  A logfile that names a descriptor of the
 * program's (/dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N) is that.  Where the program has
 * closed or replaced it, or its stderr, since start-up, nothing is written; nor where that would
 * block for longer than 0.1 s.
 * Errno: preserved.
 */
#ifndef HS_BASE_LOG_H
#define HS_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum hs_log_level {
	HS_LOG_ERROR,
	HS_LOG_WARN,
	HS_LOG_INFO,
	HS_LOG_DEBUG,
};

/*
 * Remembers where to write, and what stderr is (device and inode).  logfile: NULL or "" for
 * stderr; must stay valid.  Start-up, single-threaded.
 */
void hs_log_init(enum hs_log_level level, const char *logfile);

/*
 * Around a fork: from _begins() to _ends() no log file is opened or closed, so that the child knows
 * which ones it has got.  _begins() waits for that, timeout_ns at most; false: in vain.  The child
 * calls _after_fork(), in any case, which closes the parent's.
 */
bool hs_log_fork_begins(uint64_t timeout_ns);
void hs_log_fork_ends(void);
void hs_log_after_fork(void);

/* 0, or -errno: the log file cannot be opened, and lines go to stderr. */
int hs_log_check_file(void);

/*
 * Writes one line if level is enabled (and memory for it can be had).  Format as hs_format().  Any
 * thread.
 */
void hs_log(enum hs_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
