/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that the process starts.  See started.h. */
#include "session/started.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/options.h"
#include "base/sys.h"
#include "sample/heap.h"
#include "session/epoch.h"
#include "session/session_state.h"
#include "session/unlocked.h"

/*
 * How many children have executed a program, in a page that forked ones share with the process.
 * NULL: there is none, or this is a child's child, which is not counted.
 */
static _Atomic uint32_t *started;

void hs_started_init(void)
{
	long address = hs_syscall(SYS_mmap, 0, sizeof *started, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	started = address < 0 && address > -4096 ? NULL : (_Atomic uint32_t *)address;
}

void hs_started_after_fork(void)
{
	if (hs_session.forked)
		started = NULL;
}

/* A forked one, or one that runs in the process's memory or for which no fork handler has run. */
static bool is_child(void)
{
	return hs_session.forked == hs_fork_is_own_process();
}

void hs_started_exec_begins(void)
{
	if (started != NULL && is_child())
		atomic_fetch_add(started, 1);
}

void hs_started_exec_failed(void)
{
	if (started != NULL && is_child())
		atomic_fetch_sub(started, 1);
}

bool hs_started_is_wrapper(void)
{
	return started != NULL && atomic_load(started) != 0 && hs_heap_total(samples) == 0 &&
	       hs_epoch_was_always_on() && hs_heaps[HS_HEAP_MALLOC].asked_bytes != 0 &&
	       (hs_options.children & HS_CHILDREN_EXEC) == 0 && hs_options.programs[0] == '\0';
}

void hs_started_tell(void)
{
	if (hs_started_is_wrapper())
		hs_unlocked_log(HS_LOG_INFO,
				"%s allocated too little for a sample, and the programs that it "
				"started were not profiled: see HEAPSAMPLE_PROGRAMS and "
				"HEAPSAMPLE_CHILDREN", hs_session.program);
}
