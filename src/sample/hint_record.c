/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts map hints into the ring.  See hint_record.h. */
#include "sample/hint_record.h"

#include <errno.h>
#include <string.h>

#include "base/signal_mask.h"
#include "base/sys.h"
#include "sample/recorder.h"

int hs_hint_record_put(struct hs_ring *ring, enum hs_record_kind kind, uint64_t start,
		       uint64_t length, uint64_t offset, const char *path, size_t path_bytes)
{
	uint64_t mask, open = 0;
	struct hs_record *record;
	bool masked;

	/* Known pcs may be wrong for samples after this: from now on the worker resolves all. */
	atomic_store_explicit(&hs_recorder.known_pcs, NULL, memory_order_relaxed);
	masked = hs_signal_mask_block(UINT64_MAX, &mask);
	/* With its tid, in case the thread is killed before it commits. */
	record = hs_ring_reserve(ring, sizeof *record + path_bytes + 1, HS_RING_KEPT,
				 (uint32_t)hs_sys_gettid(), 0, &open);
	if (record != NULL) {
		*record = (struct hs_record){
			.address = start,
			.size = length,
			.file_offset = offset,
			.kind = (uint8_t)kind,
			.stack_bytes = (uint32_t)path_bytes + 1,
		};
		memcpy(record->stack, path, path_bytes);
		record->stack[path_bytes] = '\0';
		hs_ring_commit(ring, hs_ring_ticket(open));
	}
	if (masked)
		hs_signal_mask_set(mask);
	if (record == NULL)
		return -EAGAIN;
	hs_ring_wake_reader(ring);
	return 0;
}
