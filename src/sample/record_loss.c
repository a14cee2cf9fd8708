/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples that cannot be recorded.  See recorder.h. */
#include "sample/recorder.h"

#include "sample/record.h"
#include "sample/sampler.h"

void hs_record_lose(struct hs_thread_state *thread, bool is_ring_full)
{
	const struct hs_sample *sample = &thread->sample;
	uint64_t weight = sample->is_weighed
				  ? sample->weight
				  : hs_sampler_weight(sample->size, sample->interval_bytes);

	thread->met_full_ring = is_ring_full;
	if (is_ring_full) {
		hs_heap_add(sample->heap, lost_ring, 1);
	} else {
		hs_heap_add(sample->heap, lost_live_set, 1);
		/* Freed slots may be waiting to be recycled: frees alone do not wake the reader. */
		hs_ring_wake_reader(hs_recorder.ring);
	}
	hs_heap_lose(sample->heap, sample->size, weight);
}

bool hs_record_refuse(struct hs_thread_state *thread)
{
	thread->met_full_ring = hs_recorder.block_ns == 0 &&
				hs_ring_is_full(hs_recorder.ring, sizeof(struct hs_record));
	thread->sample.is_refused = thread->met_full_ring;
	return thread->met_full_ring;
}
