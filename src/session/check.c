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

static void append_obstacle(char *path, size_t capacity)
{
	const char *obstacle = find_obstacle(path);
	size_t length = strlen(path);

	if (obstacle != NULL)
		hs_format(path + length, capacity - length, " (%s)", obstacle);
}

void hs_session_check(bool interposed)
{
	static char path[HS_PATH_BYTES];
	const bool streams = hs_options_streams(&hs_options);
	const char *pattern = streams ? hs_options.stream : hs_options.output;
	struct hs_dump_name name = hs_dump_name_now(streams ? "stream" : "exit", 1);

	if (!interposed) {
		hs_session_describe(HS_LOG_ERROR, "check: malloc is not interposed in", NULL);
		return;
	}
	if (hs_dump_name_expand_free(pattern, &name, path, sizeof path) != 0)
		hs_format(path, sizeof path, "%s", "a name that is too long");
	else
		append_obstacle(path, sizeof path);
	hs_session_describe(HS_LOG_ERROR, "check: would profile", path);
	/* As a profiled program does, so that programs that it starts are taken for descendants. */
	hs_process_mark_root();
}

void hs_session_explain_pass(void)
{
	static const char by_parent[] =
		"a profiled program started it, see HEAPSAMPLE_CHILDREN";
	bool by_children = hs_session.descendant && (hs_options.children & HS_CHILDREN_EXEC) == 0;

	if (hs_options.mode == HS_MODE_CHECK)
		hs_log(HS_LOG_ERROR, "libheapsample %s: check: would not profile %s: %s",
		       heapsample_version(), hs_session.program,
		       by_children ? by_parent : "HEAPSAMPLE_PROGRAMS does not name it");
	else if (hs_options.mode == HS_MODE_ON && by_children)
		hs_log(HS_LOG_INFO, "%s is not profiled: %s", hs_session.program, by_parent);
}
