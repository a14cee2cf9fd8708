/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses .eh_frame_hdr.  Run by the unwinding worker. */
#include "unwind/eh_frame_hdr.h"

#include <errno.h>
#include <string.h>

#define HDR_VERSION 1
#define ENCODING_OMIT 0xff
#define ENCODING_DATAREL_SDATA4 0x3b
#define ENTRY_BYTES 8

/* Bytes of a number in this encoding, 0 = not one we read. */
static size_t encoded_bytes(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x02: /* udata2 */
	case 0x0a: /* sdata2 */
		return 2;
	case 0x03: /* udata4 */
	case 0x0b: /* sdata4 */
		return 4;
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return 8;
	default:
		return 0;
	}
}

int hs_eh_frame_hdr_parse(struct hs_eh_frame_hdr *out, const uint8_t *header, size_t bytes,
			  uint64_t section_bytes)
{
	size_t pointer_bytes, count_bytes, table;
	uint64_t count = 0;

	if (bytes < 4 || header[0] != HDR_VERSION || header[1] == ENCODING_OMIT ||
	    header[2] == ENCODING_OMIT || header[3] != ENCODING_DATAREL_SDATA4)
		return -ENOENT;
	pointer_bytes = encoded_bytes(header[1]);
	count_bytes = encoded_bytes(header[2]);
	table = 4 + pointer_bytes + count_bytes;
	/* The count is a plain number: no base to add. */
	if (pointer_bytes == 0 || count_bytes == 0 || (header[2] & 0xf0) != 0 ||
	    table > bytes || table > section_bytes)
		return -ENOENT;
	memcpy(&count, header + 4 + pointer_bytes, count_bytes);
	if (count == 0 || count > (section_bytes - table) / ENTRY_BYTES)
		return -ENOENT;
	*out = (struct hs_eh_frame_hdr){ .table_offset = table, .fde_count = count };
	return 0;
}

int hs_eh_frame_hdr_read(struct hs_eh_frame_hdr *out, struct hs_memory_cache *memory,
			 const struct hs_mapping *mapping)
{
	uint64_t bytes = mapping->eh_frame_hdr_bytes;
	uint8_t header[HS_EH_FRAME_HDR_BYTES];

	if (bytes > sizeof header)
		bytes = sizeof header;
	if (mapping->eh_frame_hdr == 0 ||
	    hs_memory_cache_read(memory, mapping->eh_frame_hdr, header, bytes) < 0)
		return -ENOENT;
	return hs_eh_frame_hdr_parse(out, header, bytes, mapping->eh_frame_hdr_bytes);
}
