/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Heaps of the program: what it calls by way of heapsample.h.
 *
 * The reports' fast paths are here; where they do not suffice they jump to the entries of
 * entries.S, which save the caller's registers and call hs_slow_NAME.
 */
#include <heapsample/heapsample.h>

#include "base/visibility.h"
#include "sample/report.h"
#include "session/session.h"

int hs_entry_report_allocation(int heap, uint64_t id, uint64_t size);
int hs_entry_report_sample(int heap, uint64_t id, uint64_t size, uint64_t stands_for);

HS_EXPORT int heapsample_heap_register(const char *name, const struct heapsample_heap_calls *calls)
{
	return hs_session_heap_register(name, calls);
}

HS_EXPORT int heapsample_heap_unregister(int heap)
{
	return hs_session_heap_unregister((uint32_t)heap);
}

HS_EXPORT int heapsample_report_allocation(int heap, uint64_t id, uint64_t size)
{
	return hs_report_passes((uint32_t)heap, size) ? 0
						      : hs_entry_report_allocation(heap, id, size);
}

int hs_slow_report_allocation(int heap, uint64_t id, uint64_t size, const struct hs_regs *regs);
int hs_slow_report_allocation(int heap, uint64_t id, uint64_t size, const struct hs_regs *regs)
{
	bool chosen = hs_report_allocation((uint32_t)heap, id, size, regs);

	if (chosen)
		hs_session_recorded(regs);
	return chosen;
}

HS_EXPORT int heapsample_report_sample(int heap, uint64_t id, uint64_t size, uint64_t stands_for)
{
	return hs_entry_report_sample(heap, id, size, stands_for);
}

int hs_slow_report_sample(int heap, uint64_t id, uint64_t size, uint64_t stands_for,
			  const struct hs_regs *regs);
int hs_slow_report_sample(int heap, uint64_t id, uint64_t size, uint64_t stands_for,
			  const struct hs_regs *regs)
{
	bool recorded = hs_report_sample((uint32_t)heap, id, size, stands_for, regs);

	if (recorded)
		hs_session_recorded(regs);
	return recorded;
}

HS_EXPORT void heapsample_report_free(int heap, uint64_t id)
{
	hs_report_free((uint32_t)heap, id);
}
