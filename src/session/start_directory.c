/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Start-up: makes relative paths and patterns of options absolute, so that files are written where
 * the process was at its start, whatever directory it changes to.
 */
#include <string.h>

#include "base/options.h"
#include "base/sys.h"
#include "output/dump_file.h"
#include "session/session_state.h"

/*
 * Prepends the directory, unless that has no name, the text is absolute or empty, or there is no
 * room.  In a pattern each '%' of the directory is doubled.
 */
static void make_absolute(char *text, const char *directory, bool is_pattern)
{
	char absolute[HS_OPTION_TEXT_BYTES];
	size_t used = 0, bytes = strlen(text) + 1;

	if (text[0] == '/' || text[0] == '\0' || *directory == '\0')
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

void hs_session_make_paths_absolute(void)
{
	static char directory[HS_PATH_BYTES];

	(void)hs_sys_working_directory(directory, sizeof directory);
	make_absolute(hs_options.output, directory, true);
	make_absolute(hs_options.stream, directory, true);
	make_absolute(hs_options.stats, directory, true);
	make_absolute(hs_options.logfile, directory, false);
}
