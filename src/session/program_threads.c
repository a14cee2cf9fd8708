/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's threads, which are counted here.  See session.h.  Runs on them. */
#include "base/alone.h"
#include "base/sys.h"
#include "sample/capture.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/libc_threads.h"
#include "session/session_state.h"
#include "session/threads.h"

void hs_session_thread_begins(size_t stack_bytes, uintptr_t caller_sp, uintptr_t caller_pc)
{
	hs_thread.tid = (uint32_t)hs_sys_gettid();
	hs_capture_init_thread(&hs_thread, stack_bytes, caller_sp, caller_pc);
}

void hs_session_thread_create_begins(void)
{
	atomic_fetch_add(&hs_session.more_threads, 1);
}

void hs_session_thread_create_failed(void)
{
	atomic_fetch_sub(&hs_session.more_threads, 1);
}

void hs_session_thread_ends(void)
{
	hs_record_settle();
	/* For as long as exit() would wait, which glibc calls on the last thread. */
	if (atomic_fetch_sub(&hs_session.more_threads, 1) == 0)
		hs_threads_stop(HS_PROFILE_LIMIT_NS);
}

bool hs_session_is_single_threaded(void)
{
	return atomic_load(&hs_session.more_threads) <= 0;
}

bool hs_threads_is_deserted(void)
{
	return atomic_load(&hs_session.more_threads) < 0 && atomic_load(&hs_session.finishing) == 0;
}

void hs_session_single_threaded_ends(void)
{
	hs_alone_end();
	hs_libc_hide_no_more();
}
