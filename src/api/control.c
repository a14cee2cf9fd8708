/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles, sampling on and off, labels: what a program calls by way of heapsample.h. */
#include <heapsample/heapsample.h>
#include <string.h>

#include "base/visibility.h"
#include "session/session.h"

HS_EXPORT int heapsample_dump(char *path, size_t capacity)
{
	return hs_session_dump(path, capacity);
}

HS_EXPORT int heapsample_start(void)
{
	return hs_session_switch_on();
}

HS_EXPORT int heapsample_stop(void)
{
	return hs_session_switch_off();
}

HS_EXPORT int heapsample_reset(void)
{
	return hs_session_reset();
}

HS_EXPORT int heapsample_set_label(const char *key, const char *value)
{
	return hs_session_set_label(key, value);
}

HS_EXPORT int heapsample_get_stats(struct heapsample_stats *stats, size_t size)
{
	struct heapsample_stats all = {0};
	int error = hs_session_get_stats(&all);

	if (error != 0)
		return error;
	/* A program that was built with an older or a newer header gets what both know. */
	memset(stats, 0, size);
	memcpy(stats, &all, size < sizeof all ? size : sizeof all);
	return 0;
}
