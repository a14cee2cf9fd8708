/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of files. */
#ifndef HS_BASE_PATH_H
#define HS_BASE_PATH_H

#include <string.h>

/* What is behind the last slash; all, if there is none. */
static inline const char *hs_path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

#endif
