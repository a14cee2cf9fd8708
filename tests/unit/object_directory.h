/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory in which a test builds objects: main() makes it with mkdtemp(), and removes it.
 */
#ifndef OBJECT_DIRECTORY_H
#define OBJECT_DIRECTORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static char directory[] = "/tmp/test_objects.XXXXXX";

/* Runs a command of the shell in the directory.  Whether it succeeded. */
static __attribute__((format(printf, 1, 2))) bool run(const char *format, ...)
{
	char command[4096];
	va_list arguments;
	size_t used = (size_t)snprintf(command, sizeof command,
				       "cd %s && PATH=$PATH:/sbin && { ", directory);

	va_start(arguments, format);
	used += (size_t)vsnprintf(command + used, sizeof command - used, format, arguments);
	va_end(arguments);
	snprintf(command + used, sizeof command - used, "; } >>log 2>&1");
	return system(command) == 0;
}

/* Valid until the call after the next one. */
static inline const char *path_of(const char *name)
{
	static char path[2][256];
	static unsigned next;

	next ^= 1;
	snprintf(path[next], sizeof path[next], "%s/%s", directory, name);
	return path[next];
}

#endif
