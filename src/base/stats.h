/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of what happened.  Nothing is lost without being counted here, and every profile
 * contains the counts.
 *
 * Written by: any thread, relaxed adds on slow paths only (nothing is published by
 * them).  Read by: the producer when it writes a profile, relaxed; a count may lag
 * behind an event of another thread, never the other way round.
 */
#ifndef HS_BASE_STATS_H
#define HS_BASE_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/visibility.h"

/*
 * X(name): also its name in the profile's comments.  First what is counted for each heap
 * (sample/heap.h), then what is counted for the process.
 */
#define HS_HEAP_COUNTS(X) \
	X(samples) /* allocations chosen by the sampler */ \
	X(sampled_bytes) /* their sizes, as requested */ \
	X(frees) /* frees of sampled allocations */ \
	X(stackless) /* recorded with the return address only: ring full */ \
	X(lost_ring) /* to [lost]: no ring space even for that */ \
	X(lost_live_set) /* to [lost]: live set full */ \
	X(lost_memory) /* to [lost]: the books are out of memory */ \
	X(stale) /* samples dropped: their epoch, or heap, had ended */

/* Counted by the program's threads, so in cache lines of their own. */
#define HS_STATS_OF_THREADS(X) \
	X(allocated_bytes) /* see sample/sampler.h */ \
	X(superseded) /* samples whose address was allocated again, unfreed */ \
	X(abandoned) /* reservations closed for their writer */ \
	X(blocked) /* waits of a program's thread for ring space */ \
	X(block_expired) /* such waits that ended without space */ \
	X(blocked_ns) /* the time of all these waits */ \
	X(stack_unknown) /* copied by process_vm_readv: bounds unknown */ \
	X(close_waits_expired) /* waits at dlclose() given up */ \
	X(labels_refused) /* calls refused: too many distinct sets */

#define HS_STATS_OF_PROFILER(X) \
	X(sequence_gaps) /* numbers waited for in vain */ \
	X(records_damaged) /* dropped: the program has overwritten them */ \
	X(stack_truncated) /* unwound to the end of the copy */ \
	X(depth_truncated) /* more frames than HEAPSAMPLE_DEPTH */ \
	X(walked) /* stacks walked in place, by the program's thread */ \
	X(unwound) /* stacks unwound, by the profiler's */ \
	X(unwind_rows_hit) /* frames unwound by a cached row */ \
	X(unwind_rows_made) /* rows computed from unwind tables */ \
	X(unwind_rows_fallback) /* frames left to libunwind */ \
	X(unwind_no_engine) /* libunwind missing or not usable */ \
	X(unwind_no_mapping) /* pc in no known mapping */ \
	X(unwind_no_info) /* no unwind information for a pc */ \
	X(unwind_bad_frame) /* other failures of a step */ \
	X(empty_stacks) /* no frame of the program */ \
	X(unwind_late) /* pc whose library may have been replaced since */ \
	X(map_reads) /* /proc/self/maps read */ \
	X(map_lines_skipped) /* its lines that could not be parsed */ \
	X(mappings_skipped) /* executable, but no memory to note them */ \
	X(map_read_failures) /* it could not be read */ \
	X(maps_made_up) /* nor ever before: one mapping stands for all */ \
	X(names_missing) /* locations in objects, without a symbol */ \
	X(jit_unknown_frames) /* locations in generated code, unnamed */ \
	X(jit_skipped) /* JIT compilers' entries: not understood, or no memory */ \
	X(map_hints) /* map hints applied, again after a change of the file */ \
	X(map_hints_malformed) /* not understood */ \
	X(map_hints_refused) /* calls refused: no room */ \
	X(hint_tables_missing) /* hinted code without unwind tables */ \
	X(filtered) /* addresses that HEAPSAMPLE_SKIP_SYMBOL_PREFIX hides */ \
	X(starts_refused) /* sampling was on already */ \
	X(resets) /* of the books */ \
	X(interval_raises) /* memory, room or processor time */ \
	X(interval_lowers) /* and back again */ \
	X(worker_cpu_ns) /* processor time of the profiler's threads */ \
	X(producer_cpu_ns) \
	X(unwinding_ns) /* time spent on it */ \
	X(bookkeeping_ns) /* in the books, with names read for them */ \
	X(dump_ns) /* writing profiles, without the bookkeeping meanwhile */ \
	X(dumps) /* profiles written */ \
	X(dump_failures) /* profiles that could not be written */

#define HS_STATS(X) HS_STATS_OF_THREADS(X) HS_STATS_OF_PROFILER(X)

struct hs_stats {
#define HS_STATS_FIELD(name) _Atomic uint64_t name;
	struct {
		HS_STATS_OF_THREADS(HS_STATS_FIELD)
	} __attribute__((aligned(64)));
	struct {
		HS_STATS_OF_PROFILER(HS_STATS_FIELD)
	} __attribute__((aligned(64)));
#undef HS_STATS_FIELD
};

extern HS_HIDDEN struct hs_stats hs_stats;

#define hs_stats_get(name) atomic_load_explicit(&hs_stats.name, memory_order_relaxed)
#define hs_stats_add(name, n) \
	atomic_fetch_add_explicit(&hs_stats.name, (uint64_t)(n), memory_order_relaxed)

/* Adds to a counter that no other thread writes: no locked instruction. */
static inline void hs_count_unshared(_Atomic uint64_t *count, uint64_t n)
{
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n,
			      memory_order_relaxed);
}
#define hs_stats_add_unshared(name, n) hs_count_unshared(&hs_stats.name, (uint64_t)(n))

/*
 * A histogram of the time that unwinding a stack takes: bucket i counts those of less than 2^i
 * microseconds that no bucket before it counts, the last one all others.
 */
#define HS_TIME_BUCKETS 20
extern HS_HIDDEN _Atomic uint64_t hs_unwinding_times[HS_TIME_BUCKETS];

/* Counts a stack's time in its bucket and in unwinding_ns.  The worker. */
void hs_stats_add_unwinding(uint64_t ns);

#endif
