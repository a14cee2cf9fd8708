/* SPDX-License-Identifier: BSD-2-Clause */
/* Gets libunwind ready.  Run by the unwinding worker. */
#include "unwind/engine_start.h"

#include <errno.h>

#include "base/libraries.h"
#include "base/log.h"
#include "base/root.h"
#include "unwind/engine_check.h"

#define CHECK_TRIES 100

void hs_engine_log_unused(const char *problem, int error)
{
	hs_log(HS_LOG_WARN, "libunwind is not used: %s (%d); stacks end at frames that need it",
	       problem, -error);
}

static bool check_once(struct hs_libunwind_engine *engine)
{
	for (int layout = 0; layout < HS_LIBUNWIND_LAYOUTS; layout++) {
		hs_libunwind_engine_set_layout(engine, (enum hs_libunwind_layout)layout);
		hs_libunwind_engine_flush(engine);
		if (hs_engine_check(engine))
			return true;
	}
	return false;
}

/* A check during which a dlclose() happened proves nothing. */
static bool check(const struct hs_engine *engine)
{
	for (int tries = 0; tries < CHECK_TRIES; tries++) {
		hs_closes closes = hs_closes_now();

		hs_memory_cache_drop_stale(engine->memory);
		if (check_once(engine->libunwind))
			return true;
		if (hs_closes_over(hs_closes_now()) == hs_closes_over(closes))
			return false;
	}
	return false;
}

int hs_engine_load(struct hs_engine *engine)
{
	const char *problem = "the program has another root than at its start";
	int error = -EPERM;

	if (hs_root_begin_loading()) {
		problem = "it is not installed, cannot be opened or lacks functions";
		error = hs_libunwind_engine_load(engine->libunwind);
		hs_root_end_loading();
	}
	if (error < 0)
		hs_engine_log_unused(problem, error);
	engine->is = error == 0 ? HS_ENGINE_LOADED : HS_ENGINE_UNUSABLE;
	return error;
}

/* Of a loaded one. */
static void start(struct hs_engine *engine)
{
	const char *problem = "there is no memory for it";
	int error = hs_libunwind_engine_start(engine->libunwind);

	if (error == 0) {
		/* Even if the table was read before: libunwind itself is new. */
		problem = "/proc/self/maps cannot be read";
		error = hs_mapping_table_refresh(engine->table);
	}
	if (error == 0 && !check(engine)) {
		problem = "it fails on a known stack";
		error = -ENOTSUP;
	}
	if (error < 0)
		hs_engine_log_unused(problem, error);
	engine->is = error == 0 ? HS_ENGINE_READY : HS_ENGINE_UNUSABLE;
}

bool hs_engine_may_be_used(struct hs_engine *engine)
{
	enum hs_leave leave = HS_LEAVE_GIVEN;

	if (engine->is == HS_ENGINE_UNUSABLE)
		return false;
	if (engine->before_use != NULL)
		leave = engine->before_use(engine->is != HS_ENGINE_READY);
	if (leave == HS_LEAVE_NEVER)
		engine->is = HS_ENGINE_UNUSABLE;
	if (leave != HS_LEAVE_GIVEN)
		return false;
	if (engine->is == HS_ENGINE_NOT_LOADED)
		hs_engine_load(engine);
	if (engine->is == HS_ENGINE_LOADED)
		start(engine);
	return engine->is == HS_ENGINE_READY;
}
