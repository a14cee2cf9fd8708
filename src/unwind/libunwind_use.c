/* SPDX-License-Identifier: BSD-2-Clause */
/* Gets libunwind ready.  Run by the unwinding worker. */
#include "unwind/libunwind_use.h"

#include <errno.h>

#include "base/libraries.h"
#include "base/log.h"
#include "base/root.h"
#include "unwind/libunwind_check.h"

#define CHECK_TRIES 100

void hs_libunwind_log_unused(const char *problem, int error)
{
	hs_log(HS_LOG_WARN, "libunwind is not used: %s (%d); stacks end at frames that need it",
	       problem, -error);
}

static bool check_once(struct hs_libunwind_engine *engine)
{
	for (int layout = 0; layout < HS_LIBUNWIND_LAYOUTS; layout++) {
		hs_libunwind_engine_set_layout(engine, (enum hs_libunwind_layout)layout);
		hs_libunwind_engine_flush(engine);
		if (hs_libunwind_check(engine))
			return true;
	}
	return false;
}

/* A check during which a dlclose() happened proves nothing. */
static bool check(const struct hs_libunwind_use *use)
{
	for (int tries = 0; tries < CHECK_TRIES; tries++) {
		hs_closes closes = hs_closes_now();

		hs_memory_cache_drop_stale(use->memory);
		if (check_once(use->engine))
			return true;
		if (hs_closes_over(hs_closes_now()) == hs_closes_over(closes))
			return false;
	}
	return false;
}

int hs_libunwind_load(struct hs_libunwind_use *use)
{
	const char *problem = "the program has another root than at its start";
	int error = -EPERM;

	if (hs_root_begin_loading()) {
		problem = "it is not installed, cannot be opened or lacks functions";
		error = hs_libunwind_engine_load(use->engine);
		hs_root_end_loading();
	}
	if (error < 0)
		hs_libunwind_log_unused(problem, error);
	use->is = error == 0 ? HS_LIBUNWIND_LOADED : HS_LIBUNWIND_UNUSABLE;
	return error;
}

/* Of a loaded one. */
static void start(struct hs_libunwind_use *use)
{
	const char *problem = "there is no memory for it";
	int error = hs_libunwind_engine_start(use->engine);

	if (error == 0) {
		/* Even if the table was read before: libunwind itself is new. */
		problem = "/proc/self/maps cannot be read";
		error = hs_mapping_table_refresh(use->table);
	}
	if (error == 0 && !check(use)) {
		problem = "it fails on a known stack";
		error = -ENOTSUP;
	}
	if (error < 0)
		hs_libunwind_log_unused(problem, error);
	use->is = error == 0 ? HS_LIBUNWIND_READY : HS_LIBUNWIND_UNUSABLE;
}

bool hs_libunwind_may_be_used(struct hs_libunwind_use *use)
{
	enum hs_leave leave = HS_LEAVE_GIVEN;

	if (use->is == HS_LIBUNWIND_UNUSABLE)
		return false;
	if (use->before_use != NULL)
		leave = use->before_use(use->is != HS_LIBUNWIND_READY);
	if (leave == HS_LEAVE_NEVER)
		use->is = HS_LIBUNWIND_UNUSABLE;
	if (leave != HS_LEAVE_GIVEN)
		return false;
	if (use->is == HS_LIBUNWIND_NOT_LOADED)
		hs_libunwind_load(use);
	if (use->is == HS_LIBUNWIND_LOADED)
		start(use);
	return use->is == HS_LIBUNWIND_READY;
}
