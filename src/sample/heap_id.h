/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of heaps: malloc's and those that the program reports to us (sample/heap.h).
 */
#ifndef HS_SAMPLE_HEAP_ID_H
#define HS_SAMPLE_HEAP_ID_H

/* All are below HS_HEAP_LIMIT, and fit a byte. */
enum { HS_HEAP_NONE = 0, HS_HEAP_MALLOC = 1, HS_HEAP_FIRST_REPORTED = 2, HS_HEAP_LIMIT = 256 };

#endif
