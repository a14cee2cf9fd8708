/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is logged of a program at its start, with HEAPSAMPLE=check and HEAPSAMPLE_LOG=info.
 * Start-up, on the main thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <heapsample/heapsample.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sys.h"
#include "output/dump_file.h"
#include "session/memory_parts.h"
#include "session/session_state.h"

void hs_session_describe(enum hs_log_level level, const char *what, const char *name)
{
	static char text[12 * HS_OPTION_TEXT_BYTES]; /* nine options are texts, the rest short */

	hs_options_describe(&hs_options, hs_options.log_level == HS_LOG_DEBUG, text, sizeof text);
	hs_log(level, "libheapsample %s: %s %s%s%s; %s", heapsample_version(), what,
	       hs_session.program, name != NULL ? " into " : "", name != NULL ? name : "", text);
}

/* Whether only its owner may replace the file. */
static bool is_protected(const struct stat *file, const char *directory)
{
	struct stat status;
	uid_t own = geteuid();

	return own != 0 && file->st_uid != own && hs_sys_stat(directory, &status) == 0 &&
	       (status.st_mode & S_ISVTX) != 0 && status.st_uid != own;
}

/* Why no file can be made at path, or NULL.  Cuts the path, and restores it. */
static const char *find_obstacle(char *path)
{
	char *name = strrchr(path, '/'), first = '\0';
	const char *directory = name != NULL ? path : ".", *obstacle = NULL;
	struct stat file;
	bool is_there = hs_sys_lstat(AT_FDCWD, path, &file) == 0;
	int error = hs_dump_file_look(path);

	if (error == -EEXIST || error == -ENAMETOOLONG)
		return hs_dump_error_text(error);
	if (name != NULL) {
		name++;
		first = *name;
		*name = '\0';
	}
	error = (int)hs_syscall(SYS_faccessat, AT_FDCWD, (long)directory, W_OK | X_OK, 0, 0, 0);
	if (error != 0)
		obstacle = hs_dump_error_text(error);
	else if (is_there && is_protected(&file, directory))
		obstacle = "another user's file is in the way";
	if (name != NULL)
		*name = first;
	return obstacle;
}

/* Ends path with what is wrong with it.  error: of its expansion.  Returns its length. */
static size_t judge(char *path, size_t capacity, int error)
{
	const char *obstacle = error == 0 ? find_obstacle(path) : NULL;
	size_t length = strlen(path);

	if (error != 0)
		return hs_format(path, capacity, "%s", "a name that is too long");
	if (obstacle != NULL)
		length += hs_format(path + length, capacity - length, " (%s)", obstacle);
	return length;
}

/* Whether anything but a call of the program makes it write. */
static bool writes_by_itself(void)
{
	return hs_options_streams(&hs_options) || hs_options.final_dump != HS_FINAL_NONE ||
	       hs_options.signal_number != 0 || hs_options.time_interval_s != 0 ||
	       hs_options.alloc_interval_bytes != 0 || hs_options.inuse_interval_bytes != 0 ||
	       hs_options.oom_percent != 0;
}

/* Which files would be written, and what is wrong with them. */
static const char *describe_files(void)
{
	static char text[3 * HS_PATH_BYTES];
	const bool streams = hs_options_streams(&hs_options);
	const char *pattern = streams ? hs_options.stream : hs_options.output;
	struct hs_dump_name name = hs_dump_name_now(streams ? "stream" : "exit", 1);
	int error = hs_dump_name_expand_free(pattern, &name, text, HS_PATH_BYTES);
	size_t length = judge(text, sizeof text, error);

	if (!writes_by_itself())
		length += hs_format(text + length, sizeof text - length, "%s",
				    " (only if the program asks for it: HEAPSAMPLE_FINAL=0)");
	if (!streams && hs_options.stats[0] != '\0') {
		length += hs_format(text + length, sizeof text - length, " and ");
		error = hs_dump_name_expand(hs_options.stats, &name, text + length, HS_PATH_BYTES);
		judge(text + length, sizeof text - length, error);
	}
	return text;
}

void hs_session_check(bool interposed)
{
	int error;

	if (!interposed) {
		hs_session_describe(HS_LOG_ERROR, "check: malloc is not interposed in", NULL);
		return;
	}
	/* What it has made stays, unused. */
	error = hs_session_make();
	if (error != 0) {
		hs_log(HS_LOG_ERROR,
		       "libheapsample %s: check: would not profile %s: no memory (error %d; %s)",
		       heapsample_version(), hs_session.program, -error, hs_memory_limits());
		return;
	}
	hs_session_describe(HS_LOG_ERROR, "check: would profile", describe_files());
	/* As a profiled program does, so that programs that it starts are taken for descendants. */
	hs_process_mark_root();
}

static void explain_name(void)
{
	const char *given = hs_process_given(), *file = hs_process_file();
	bool is_same = strcmp(given, file) == 0;

	hs_log(HS_LOG_ERROR,
	       "libheapsample %s: check: would not profile %s: HEAPSAMPLE_PROGRAMS=%s does not "
	       "match %s%s%s (expected names or paths, with * and ?, separated by commas without "
	       "blanks)", heapsample_version(), hs_session.program, hs_options.programs, given,
	       is_same ? "" : " or ", is_same ? "" : file);
}

void hs_session_explain_pass(void)
{
	static const char by_parent[] =
		"a profiled program started it, see HEAPSAMPLE_CHILDREN";
	bool by_children = hs_session.descendant && (hs_options.children & HS_CHILDREN_EXEC) == 0;

	if (hs_options.mode == HS_MODE_CHECK && by_children)
		hs_log(HS_LOG_ERROR, "libheapsample %s: check: would not profile %s: %s",
		       heapsample_version(), hs_session.program, by_parent);
	else if (hs_options.mode == HS_MODE_CHECK)
		explain_name();
	else if (hs_options.mode == HS_MODE_ON && by_children)
		hs_log(HS_LOG_INFO, "%s is not profiled: %s", hs_session.program, by_parent);
}
