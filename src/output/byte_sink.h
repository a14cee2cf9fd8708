/* SPDX-License-Identifier: BSD-2-Clause */
/* Where encoders put their bytes. */
#ifndef HS_OUTPUT_BYTE_SINK_H
#define HS_OUTPUT_BYTE_SINK_H

#include <stddef.h>

/* Takes the next encoded bytes.  Returns 0 or -errno, which ends the encoding. */
typedef int (*hs_byte_sink_fn)(const void *bytes, size_t count);

#endif
