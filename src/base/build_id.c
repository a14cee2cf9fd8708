/* SPDX-License-Identifier: BSD-2-Clause */
/* See build_id.h. */
#include "base/build_id.h"

void hs_build_id_format(char hex[HS_BUILD_ID_HEX_BYTES], const unsigned char *id, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < bytes && 2 * i + 2 < HS_BUILD_ID_HEX_BYTES; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	hex[2 * i] = '\0';
}
