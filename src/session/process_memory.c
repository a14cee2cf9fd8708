/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/self/statm.  See process_memory.h. */
#include "session/process_memory.h"

#include <limits.h>
#include <sys/auxv.h>

#include "base/digits.h"
#include "base/format.h"
#include "base/sys.h"

bool hs_process_memory_read(struct hs_process_memory *out, const char *root)
{
	/* Pages: total, resident, shared, text, library, data. */
	enum { TOTAL = 0, RESIDENT = 1, DATA = 5, FIELDS = 6 };
	uint64_t bytes[FIELDS] = {0};
	char path[PATH_MAX], text[256];
	const char *next = text;
	bool is_read;

	hs_format(path, sizeof path, "%s/proc/self/statm", root);
	is_read = hs_sys_read_file(path, text, sizeof text) > 0;
	for (int i = 0; is_read && i < FIELDS && next != NULL; i++) {
		next = hs_parse_digits(next + (*next == ' '), NULL, 10, &bytes[i]);
		bytes[i] *= getauxval(AT_PAGESZ);
	}
	out->total = bytes[TOTAL];
	out->resident = bytes[RESIDENT];
	out->data = bytes[DATA];
	return is_read;
}
