/* SPDX-License-Identifier: BSD-2-Clause */
/* Which samples the books take, and emptying the books.  See producer.h.  Runs on the producer. */
#include "base/options.h"
#include "profile/books.h"
#include "profile/tables.h"
#include "sample/heap.h"

void hs_producer_set_epoch(struct hs_producer *producer, uint32_t epoch)
{
	producer->epoch = epoch;
}

static void release_rows(struct hs_producer *producer)
{
	uint32_t count = hs_heap_tracker_row_count(&producer->tracker);

	for (uint32_t row = 0; row < count; row++) {
		if (hs_heap_tracker_has_row(&producer->tracker, row))
			hs_tables_release_row(producer, row);
	}
}

int hs_producer_reset(struct hs_producer *producer)
{
	struct hs_pauses no_pauses = {.pause = NULL};
	struct hs_heap_tracker empty;
	int error = hs_heap_tracker_init(&empty, (producer->labels & HS_LABEL_SIZE) != 0);

	if (error != 0)
		return error;
	empty.keeps_peak = producer->tracker.keeps_peak;
	empty.lost_callsite = producer->tracker.lost_callsite;
	release_rows(producer);
	hs_heap_tracker_fini(&producer->tracker);
	producer->tracker = empty;
	hs_producer_forget_written(producer);
	for (uint32_t heap = 0; heap < HS_HEAP_LIMIT; heap++)
		hs_heap_forget_lost(heap);
	hs_thread_names_forget_gone(&producer->threads, &no_pauses);
	/* Twice: the first call keeps the room that was needed before. */
	hs_tables_trim(producer);
	hs_tables_trim(producer);
	return 0;
}
