/* SPDX-License-Identifier: BSD-2-Clause */
/* Map hints: what a program calls by way of heapsample.h. */
#include <heapsample/heapsample.h>

#include "base/visibility.h"
#include "session/session.h"

HS_EXPORT int heapsample_map_hint(const char *objfile, const void *start, size_t length,
				  uint64_t offset)
{
	return hs_session_map_hint(objfile, (uintptr_t)start, length, offset);
}

HS_EXPORT int heapsample_unmap_hint(const void *start, size_t length)
{
	return hs_session_unmap_hint((uintptr_t)start, length);
}
