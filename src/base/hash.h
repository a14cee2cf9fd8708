/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multiplicative hashing: the upper bits of a product with HS_HASH_FACTOR are the hash.  They are
 * folded into the lower ones where more words follow.
 * Source: Knuth, The Art of Computer Programming 3, 6.4.
 */
#ifndef HS_BASE_HASH_H
#define HS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 2^64 / golden ratio, an odd number. */
#define HS_HASH_FACTOR 0x9e3779b97f4a7c15u

/* The hash with one more word; different words give different hashes. */
static inline uint64_t hs_hash_add(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * HS_HASH_FACTOR;
	return hash ^ hash >> 32;
}

/* The hash with more bytes.  hash: not 0, after which zeros would count for nothing. */
uint64_t hs_hash_bytes(uint64_t hash, const void *bytes, size_t count);

#endif
