/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multiplicative hashing: the upper bits of a product with HS_HASH_FACTOR are the hash.
 * Source: Knuth, The Art of Computer Programming 3, 6.4.
 */
#ifndef HS_BASE_HASH_H
#define HS_BASE_HASH_H

/* 2^64 / golden ratio, an odd number. */
#define HS_HASH_FACTOR 0x9e3779b97f4a7c15u

#endif
