/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of names that are too long.  See cut_name.h. */
#include "symbolize/cut_name.h"

#include <stdint.h>
#include <string.h>

#include "base/hash.h"

static const char mark[] = "...";

size_t hs_cut_name(char *text, size_t end, const char *name, size_t name_bytes)
{
	uint64_t hash = hs_hash_bytes(1, name, name_bytes);
	size_t length;

	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	memcpy(text + end, mark, sizeof mark - 1);
	for (length = end + sizeof mark - 1; length < end + HS_CUT_BYTES; hash >>= 4)
		text[length++] = "0123456789abcdef"[hash & 15];
	return length;
}
