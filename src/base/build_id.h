/* SPDX-License-Identifier: BSD-2-Clause */
/* Build ids as text.  Threads: any.  Allocates: never. */
#ifndef HS_BASE_BUILD_ID_H
#define HS_BASE_BUILD_ID_H

#include <stddef.h>

/* 32 bytes in hex and a NUL.  Longer ids are cut: those of memory and of files alike. */
#define HS_BUILD_ID_HEX_BYTES 65

/* Writes an id in lower-case hex. */
void hs_build_id_format(char hex[HS_BUILD_ID_HEX_BYTES], const unsigned char *id, size_t bytes);

#endif
