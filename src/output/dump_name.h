/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of profiles, made from a pattern.
 *
 * Called on: the producer; start-up.  Allocates: never.
 */
#ifndef HS_OUTPUT_DUMP_NAME_H
#define HS_OUTPUT_DUMP_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HS_PATH_BYTES 4096

/*
 * What the letters of a pattern stand for:
 *   %p pid  %e program  %h host  %t seconds since 1970  %n number, 4 digits or more
 *   %r reason  %% a percent sign
 * For the profile of a peak %n is its reason, "peak".  If the pattern has neither %n nor %r,
 * ".peak" is inserted where ".PID" would be, behind it.
 */
struct hs_dump_name {
	const char *program;
	const char *reason;
	pid_t pid;
	uint32_t number; /* 1 for the first profile of a process; 0 for the profile of a peak */
	uint32_t copy;   /* of a peak: names that were taken; after one ".2" is behind its reason */
	uint64_t time_s;
	/*
	 * The pattern came from a parent process.  If it has no %p, ".PID" is inserted before the
	 * first dot of its last component, or at its end.
	 */
	bool inherited;
};

/*
 * Expands pattern into path.  '/' and control bytes in a substituted text become '_'.
 * Returns 0, -ENAMETOOLONG, or -EINVAL for a pattern that hs_pattern_is_valid() (base/options.h)
 * refuses.
 */
int hs_dump_name_expand(const char *pattern, const struct hs_dump_name *name, char *path,
			size_t capacity);

/*
 * Whether a file of this name replaces none: the pattern, a valid one, has %n, or it is the profile
 * of a peak.
 */
bool hs_dump_name_is_new(const char *pattern, const struct hs_dump_name *name);

/*
 * The name is taken: makes the next one of it, by number or copy.  False if it is one that
 * replaces.  Who finds names taken again and again tries HS_DUMP_NAMES at most.
 */
#define HS_DUMP_NAMES 100
bool hs_dump_name_advance(const char *pattern, struct hs_dump_name *name);

/*
 * Expands the first name, from this one on, that nothing has, be it a link that leads nowhere: the
 * image that was executed before in this process, or another process of the same pid, may have
 * written some.  A name that replaces is expanded as it is.  Blocks: on the file system.
 */
int hs_dump_name_expand_free(const char *pattern, struct hs_dump_name *name, char *path,
			     size_t capacity);

/*
 * Makes a path absolute, so that a chdir() of the program does no harm, if the working directory
 * has a name; and makes the temporary name beside it (".NAME.tmp").  Both have HS_PATH_BYTES.
 * Returns 0, -ENAMETOOLONG, or -EISDIR for a path that ends in '/'.
 */
int hs_dump_name_complete(const char *path, char *absolute, char *temporary);

#endif
