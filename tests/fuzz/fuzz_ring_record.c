/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the ring, which lies in the program's memory: before the worker (or a forked child's
 * worker) reads them, a stray write of the program may have damaged them.
 *
 * The input: records, one after the other.  Each has a byte of flags (1: its number is from the
 * input; 2: it is abandoned; 4: its cookie is from the input), 16 bits for its length, 64 bits for
 * the number, 64 bits for the cookie, and bytes: the record, or the part of it that is not zero.
 * They go through the worker into the books; at the end a profile's view is made of these.
 */
#include "fuzz.h"

#include "../unit/sample_testing.h"
#include "base/options.h"
#include "profile/producer.h"
#include "profile/snapshot.h"
#include "sample/heap.h"
#include "sample/labels.h"
#include "sample/live_set.h"
#include "sample/recorder.h"
#include "unwind/unwound.h"
#include "unwind/worker.h"

enum { RING_BYTES = 1 << 20, DEPTH = 16, HEADER_BYTES = 19 };
enum { OWN_NUMBER = 1, ABANDONED = 2, OWN_COOKIE = 4 };

static struct hs_ring ring, queue;
static struct hs_mapping_table *table;
static struct hs_worker *worker;
static struct hs_producer *producer;

static void make_ring(struct hs_ring *out)
{
	void *memory = NULL;

	MUST(posix_memalign(&memory, 4096, hs_ring_memory_bytes(RING_BYTES)) == 0);
	memset(memory, 0, hs_ring_memory_bytes(RING_BYTES));
	hs_ring_init(out, memory, RING_BYTES);
}

static void set_up(void)
{
	struct hs_unwinder *unwinder;
	struct hs_map_hints *hints;

	static _Atomic uint32_t labels;

	MUST(live_init(1 << 12, 1 << 10) == 0);
	hs_labels_init();
	MUST(hs_labels_set(&labels, "key", "value") == 0);
	table = hs_mapping_table_create();
	MUST(table != NULL && hs_mapping_table_refresh(table) == 0);
	hints = hs_mapping_table_add_hints(table, "");
	unwinder = hs_unwinder_create(table, NULL);
	MUST(hints != NULL && unwinder != NULL);
	hs_recorder.known_pcs = hs_unwinder_known_pcs(unwinder);
	make_ring(&ring);
	make_ring(&queue);
	worker = hs_worker_create(&ring, &queue, unwinder, hints, DEPTH);
	producer = hs_producer_create(&(struct hs_producer_setup){
		.mappings = table,
		.labels = HS_LABEL_SIZE,
	});
	MUST(worker != NULL && producer != NULL);
}

static void take_queue(void)
{
	struct hs_ring_item item;

	for (hs_ring_read(&queue, &item); item.state != HS_RING_EMPTY;
	     hs_ring_read(&queue, &item)) {
		const struct hs_unwound *unwound = item.data;

		MUST(unwound->frame_count <= DEPTH + 1);
		MUST(item.bytes ==
		     sizeof *unwound + unwound->frame_count * sizeof(struct hs_frame));
		if (unwound->size % 2 == 0)
			hs_producer_expect(producer, unwound);
		hs_producer_take(producer, unwound);
		ring_release(&queue);
	}
}

/* Puts a record into the ring, and has it processed.  Bytes after the first `given` are zero. */
static void put(const uint8_t *header, const uint8_t *bytes, size_t given)
{
	uint64_t number, cookie, open = 0;
	uint16_t length;
	void *place;

	memcpy(&length, header + 1, sizeof length);
	memcpy(&number, header + 3, sizeof number);
	memcpy(&cookie, header + 11, sizeof cookie);
	length = (uint16_t)(length % 4096 + 1);
	if ((header[0] & OWN_COOKIE) == 0)
		cookie = 0;
	place = hs_ring_reserve(&ring, length, HS_RING_KEPT, 1, cookie, &open);
	MUST(place != NULL);
	memset(place, 0, length);
	memcpy(place, bytes, given < length ? given : length);
	hs_ring_note_sequence(&ring, hs_ring_ticket(open),
			      (header[0] & OWN_NUMBER) != 0 ? number : hs_sequence.next++);
	if ((header[0] & ABANDONED) != 0)
		MUST(hs_ring_abandon(&ring, hs_ring_ticket(open), 1));
	else
		MUST(hs_ring_commit(&ring, hs_ring_ticket(open)));
	MUST(hs_worker_step(worker) == HS_WORKER_DID_ONE);
	take_queue();
}

/* key NUL value NUL ... NUL */
static void check_labels(const char *labels)
{
	const char *next = labels;

	for (unsigned count = 0; *next != '\0'; count++) {
		MUST(count < HS_VIEW_LABELS && strlen(next) <= HS_LABEL_KEY_BYTES);
		next += strlen(next) + 1;
		MUST(strlen(next) > 0 && strlen(next) <= HS_LABEL_VALUE_BYTES);
		next += strlen(next) + 1;
	}
	MUST(next - labels <= HS_LABELS_BYTES);
}

static void check_view(void)
{
	static const struct hs_options options = {.symbolize = HS_SYMBOLIZE_NONE};
	struct hs_view view = {0};
	struct hs_snapshot *snapshot =
		hs_snapshot_create(producer, &options, HS_HEAP_NONE, NULL, &view);

	MUST(snapshot != NULL);
	for (size_t i = 0; i < view.row_count; i++)
		if (view.rows[i].labels != NULL)
			check_labels(view.rows[i].labels);
	hs_snapshot_destroy(snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	hs_arena_init(FUZZ_BUDGET);
	if (worker == NULL)
		set_up();
	while (bytes > HEADER_BYTES) {
		size_t given = bytes - HEADER_BYTES;
		uint16_t length;

		memcpy(&length, data + 1, sizeof length);
		if (given > (size_t)length % 4096 + 1)
			given = (size_t)length % 4096 + 1;
		put(data, data + HEADER_BYTES, given);
		data += HEADER_BYTES + given;
		bytes -= HEADER_BYTES + given;
	}
	while (hs_producer_commit(producer))
		hs_producer_skip_gap(producer, UINT64_MAX);
	check_view();
	MUST(hs_producer_reset(producer) == 0);
	return 0;
}
