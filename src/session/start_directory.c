/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files stay where the process was at its start, wherever it goes: relative patterns and paths
 * are made absolute.  Start-up.
 */
#include <string.h>
#include <sys/syscall.h>

#include "base/options.h"
#include "base/sys.h"
#include "output/dump_file.h"
#include "session/session_state.h"

/* A text that is absolute, empty, or has no room for the directory stays as it is. */
static void put_before(char *text, const char *directory, bool is_pattern)
{
	char absolute[HS_OPTION_TEXT_BYTES];
	size_t used = 0, bytes = strlen(text) + 1;

	if (text[0] == '/' || text[0] == '\0')
		return;
	for (; *directory != '\0'; directory++) {
		if (used + 3 + bytes > sizeof absolute)
			return;
		absolute[used++] = *directory;
		if (is_pattern && *directory == '%')
			absolute[used++] = '%';
	}
	if (absolute[used - 1] != '/')
		absolute[used++] = '/';
	memcpy(absolute + used, text, bytes);
	memcpy(text, absolute, used + bytes);
}

void hs_session_stay_here(void)
{
	static char directory[HS_PATH_BYTES];

	/* It may have no name: removed, or outside of the root directory. */
	if (hs_syscall(SYS_getcwd, (long)directory, sizeof directory, 0, 0, 0, 0) <= 1 ||
	    directory[0] != '/')
		return;
	put_before(hs_options.output, directory, true);
	put_before(hs_options.stream, directory, true);
	put_before(hs_options.stats, directory, true);
	put_before(hs_options.logfile, directory, false);
}
