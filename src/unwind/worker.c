/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring to frame queue.  See worker.h.
 */
#include "unwind/worker.h"

#include <string.h>

#include "base/arena.h"
#include "base/likely.h"
#include "base/stats.h"
#include "base/sys.h"
#include "maps/map_hint_text.h"
#include "sample/known_pcs.h"
#include "sample/labels.h"
#include "sample/record.h"
#include "sample/recorder.h"
#include "unwind/stop.h"
#include "unwind/unwound.h"

struct hs_worker {
	struct hs_ring *ring;
	struct hs_ring *queue;
	struct hs_unwinder *unwinder;
	struct hs_map_hints *hints;
	uint32_t depth;
	uint64_t clock_ns; /* monotonic: when the record before this was unwound; 0: it was not */
	bool waiting;      /* result is of the ring's next record: only the queue is full */
	struct hs_unwound result; /* its frames follow: depth + 1 of them */
};

struct hs_worker *hs_worker_create(struct hs_ring *ring, struct hs_ring *queue,
				   struct hs_unwinder *unwinder, struct hs_map_hints *hints,
				   uint32_t depth)
{
	struct hs_worker *worker =
		hs_arena_zalloc(sizeof *worker + (depth + 1) * sizeof(struct hs_frame));

	if (worker == NULL)
		return NULL;
	worker->ring = ring;
	worker->queue = queue;
	worker->unwinder = unwinder;
	worker->hints = hints;
	worker->depth = depth;
	return worker;
}

static void take_frames(struct hs_unwound *result, const struct hs_record *record)
{
	result->frame_count = (uint16_t)record->walked;
	memcpy(result->frames, hs_record_frames(record), record->walked * sizeof(struct hs_frame));
}

/* The program's thread has done it. */
static void take_walked(struct hs_worker *worker, const struct hs_record *record)
{
	struct hs_unwound *result = &worker->result;

	take_frames(result, record);
	if (hs_unlikely(result->frame_count == 0)) {
		/* All frames were this library's. */
		hs_stats_add(empty_stacks, 1);
		result->frames[result->frame_count++] =
			(struct hs_frame){HS_PSEUDO_UNKNOWN, HS_MAPPING_NONE};
	}
	if ((record->flags & HS_RECORD_DEPTH_CUT) != 0)
		result->frames[result->frame_count++] = (struct hs_frame){
			hs_stop_count(HS_STOP_DEPTH, true), HS_MAPPING_NONE};
	hs_stats_add_unshared(walked, 1);
	worker->clock_ns = 0;
}

/*
 * Fast path for a sample without a stack, whose only frame is its call site: looks its pc up in the
 * cache.  When the ring is full most samples are such, and must be handled faster than others for
 * it to get room again.  False: the pc has to be resolved.
 */
static bool take_stackless(struct hs_worker *worker, const struct hs_record *record)
{
	struct hs_unwound *result = &worker->result;
	const struct hs_known_pcs *pcs =
		atomic_load_explicit(&hs_recorder.known_pcs, memory_order_relaxed);
	uint64_t pc = record->regs.pc;
	struct hs_pc known;

	if (pcs == NULL ||
	    record->closes != atomic_load_explicit(&pcs->valid, memory_order_relaxed) ||
	    !hs_known_pcs_are_of_now(pcs) ||
	    !hs_known_pcs_find(pcs, pc, true, &known) || known.is_own ||
	    known.row.kind == HS_ROW_SIGNAL || known.row.kind == HS_ROW_END)
		return false;
	result->frames[0] = (struct hs_frame){pc - 1, known.mapping};
	result->frames[1] = (struct hs_frame){HS_PSEUDO_STACKLESS, HS_MAPPING_NONE};
	result->frame_count = 2;
	worker->clock_ns = 0;
	return true;
}

static void unwind_record(struct hs_worker *worker, const struct hs_record *record)
{
	const struct hs_regs *regs = hs_record_unwalked(record);
	struct hs_captured captured = {
		.regs = *regs,
		.stack = regs + 1,
		.stack_bytes = record->stack_bytes,
		.stack_cut = (record->flags & HS_RECORD_STACK_CUT) != 0,
		.walked = record->walked,
		.closes = record->closes,
		.closes_unwaited = record->closes_unwaited,
		.number = worker->result.sequence,
	};
	struct hs_unwound *result = &worker->result;
	uint64_t start_ns = worker->clock_ns != 0 ? worker->clock_ns : hs_sys_monotonic_ns();
	size_t frames;

	hs_map_hints_follow(worker->hints);
	take_frames(result, record);
	frames = hs_unwind(worker->unwinder, &captured, worker->depth, result->frames);
	worker->clock_ns = hs_sys_monotonic_ns();
	hs_stats_add_unwinding(worker->clock_ns - start_ns);
	/* Without a stack the end is no failure to unwind, and says so. */
	if ((record->flags & HS_RECORD_STACKLESS) != 0 && frames > 1 &&
	    result->frames[frames - 1].mapping == HS_MAPPING_NONE)
		result->frames[frames - 1].address = HS_PSEUDO_STACKLESS;
	result->frame_count = (uint16_t)frames;
}

static void take_allocation(struct hs_worker *worker, const struct hs_record *record)
{
	struct hs_unwound *result = &worker->result;

	result->kind = HS_RECORD_ALLOCATION;
	result->size = record->size;
	result->interval_bytes = record->interval_bytes;
	result->tid = record->tid;
	result->epoch = record->epoch;
	result->labels = record->labels;
	result->heap = record->heap;
	result->flags = record->flags;
	result->address = record->address;
	if (worker->unwinder == NULL)
		result->time_ns = record->time_ns;
	else if ((record->flags & HS_RECORD_WALKED) != 0)
		take_walked(worker, record);
	else if ((record->flags & HS_RECORD_STACKLESS) == 0 || !take_stackless(worker, record))
		unwind_record(worker, record);
}

static bool is_sound_hint(const struct hs_record *record)
{
	bool is_added = record->kind == HS_RECORD_MAP_HINT;
	struct hs_map_hint_problem problem;

	return hs_map_hint_check_range(record->address, record->size,
				       is_added ? record->file_offset : 0, &problem) &&
	       (!is_added || memchr(record->stack, '\0', record->stack_bytes) != NULL);
}

static bool is_sound_stack(const struct hs_record *record, size_t bytes, uint32_t depth)
{
	bool is_whole = (record->flags & HS_RECORD_WALKED) != 0;
	size_t room = bytes - (is_whole ? offsetof(struct hs_record, regs) : sizeof *record);

	return record->walked <= depth && record->stack_bytes <= room &&
	       record->walked * sizeof(struct hs_frame) <= room - record->stack_bytes;
}

/*
 * Whether a record's fields are plausible.  The program can overwrite the ring by mistake, and that
 * must not make the worker write out of bounds too.
 */
static bool is_sound(const struct hs_worker *worker, const struct hs_ring_item *item)
{
	const struct hs_record *record = item->data;

	if (item->bytes < sizeof *record || record->kind > HS_RECORD_MAP_UNHINT ||
	    !hs_labels_has_number(record->labels))
		return false;
	if (record->kind == HS_RECORD_ALLOCATION && worker->unwinder != NULL)
		return is_sound_stack(record, item->bytes, worker->depth);
	return record->stack_bytes <= item->bytes - sizeof *record &&
	       (record->kind < HS_RECORD_MAP_HINT || is_sound_hint(record));
}

/* A damaged record is handled like an abandoned one. */
static void abandon_damaged(const struct hs_worker *worker, struct hs_ring_item *item)
{
	if (item->state != HS_RING_COMMITTED || is_sound(worker, item))
		return;
	item->state = HS_RING_ABANDONED;
	if (!worker->waiting)
		hs_stats_add_unshared(records_damaged, 1);
}

static void work_on(struct hs_worker *worker, const struct hs_ring_item *item)
{
	const struct hs_record *record = item->data;
	struct hs_unwound *result = &worker->result;

	*result = (struct hs_unwound){
		.sequence = item->sequence,
		.slot = hs_record_cookie_slot(item->cookie),
		.generation = hs_record_cookie_generation(item->cookie),
	};
	if (item->state == HS_RING_COMMITTED && record->kind == HS_RECORD_ALLOCATION)
		take_allocation(worker, record);
	else
		result->kind = HS_RECORD_TOMBSTONE;
}

/* Whether an abandoned record can be ignored: a walk in place that has failed. */
static bool is_nothing(const struct hs_ring_item *item)
{
	return item->state == HS_RING_ABANDONED && item->sequence == 0 && item->cookie == 0;
}

/* Applies the record if it is a map hint; whether it was one. */
static bool take_hint(struct hs_worker *worker, const struct hs_ring_item *item)
{
	const struct hs_record *record = item->data;

	if (item->state != HS_RING_COMMITTED || record->kind < HS_RECORD_MAP_HINT)
		return false;
	/* Without memory for it the hint has no effect. */
	if (record->kind == HS_RECORD_MAP_HINT)
		(void)hs_map_hints_add(worker->hints, (const char *)record->stack, record->address,
				       record->size, record->file_offset);
	else
		(void)hs_map_hints_remove(worker->hints, record->address, record->size);
	return true;
}

enum hs_worker_result hs_worker_step(struct hs_worker *worker)
{
	struct hs_ring_item item;
	uint64_t open;
	size_t bytes;
	void *place;

	hs_ring_read(worker->ring, &item);
	if (item.state == HS_RING_EMPTY || item.state == HS_RING_OPEN)
		worker->clock_ns = 0;
	if (item.state == HS_RING_EMPTY)
		return HS_WORKER_IDLE;
	if (item.state == HS_RING_OPEN)
		return HS_WORKER_STALLED;
	abandon_damaged(worker, &item);
	if (is_nothing(&item) || take_hint(worker, &item)) {
		hs_ring_pass(worker->ring);
		return HS_WORKER_DID_ONE;
	}
	if (!worker->waiting)
		work_on(worker, &item);

	bytes = sizeof worker->result + worker->result.frame_count * sizeof(struct hs_frame);
	place = hs_ring_reserve(worker->queue, bytes, HS_RING_KEPT, 0, 0, &open);
	worker->waiting = place == NULL;
	if (worker->waiting) {
		worker->clock_ns = 0;
		return HS_WORKER_FULL;
	}
	/* The next one, which is as large. */
	hs_ring_fetch(worker->queue, bytes);
	memcpy(place, &worker->result, bytes);
	hs_ring_commit(worker->queue, hs_ring_ticket(open));
	hs_ring_pass(worker->ring);
	return HS_WORKER_DID_ONE;
}
