/* SPDX-License-Identifier: BSD-2-Clause */
/* See hash.h. */
#include "base/hash.h"

#include <string.h>

uint64_t hs_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const char *next = bytes;
	uint64_t word;

	for (; count >= sizeof word; next += sizeof word, count -= sizeof word) {
		memcpy(&word, next, sizeof word);
		hash = hs_hash_add(hash, word);
	}
	word = (uint64_t)count << 56;
	memcpy(&word, next, count);
	return hs_hash_add(hash, word);
}
