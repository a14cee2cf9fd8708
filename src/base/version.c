/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The version of the library, for programs and for the profiles.
 */
#include <heapsample/heapsample.h>

#include "base/visibility.h"

#define TEXT_(major, minor, patch) #major "." #minor "." #patch
#define TEXT(major, minor, patch) TEXT_(major, minor, patch)

HS_EXPORT const char *heapsample_version(void)
{
	return TEXT(HEAPSAMPLE_VERSION_MAJOR, HEAPSAMPLE_VERSION_MINOR, HEAPSAMPLE_VERSION_PATCH);
}
