/* SPDX-License-Identifier: BSD-2-Clause */
/* Guards what is loaded against another root directory.  See root.h. */
#include "base/root.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/sys.h"

/* As long as a fork would wait for the worker, twice. */
#define LOADING_LIMIT_NS 100000000u
#define LOOK_NS 1000000

enum { IS_LOADING = 1, HAS_LEFT = 2 };
static _Atomic uint32_t state;

/* Each is zero if it could not be found out. */
struct place {
	struct stat root;
	struct stat mounts; /* the namespace: another may have the same directory as root */
};
static struct place first;
static bool is_noted;

static void find(struct place *place)
{
	*place = (struct place){.root.st_ino = 0};
	(void)hs_sys_stat("/", &place->root);
	/* Not self: the main thread may have left. */
	(void)hs_sys_stat("/proc/thread-self/ns/mnt", &place->mounts);
}

void hs_root_note(void)
{
	find(&first);
	is_noted = true;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool hs_root_begin_loading(void)
{
	uint32_t nothing = 0;
	struct place now;

	if (!atomic_compare_exchange_strong(&state, &nothing, IS_LOADING))
		return false;
	find(&now);
	if (!is_noted || (is_same(&now.root, &first.root) && is_same(&now.mounts, &first.mounts)))
		return true;
	hs_root_end_loading();
	return false;
}

void hs_root_end_loading(void)
{
	if ((atomic_fetch_and(&state, ~(uint32_t)IS_LOADING) & HAS_LEFT) != 0)
		hs_sys_futex_wake(&state, INT32_MAX);
}

bool hs_root_leaves(void)
{
	uint32_t now = atomic_fetch_or(&state, HAS_LEFT);
	bool is_first = (now & HAS_LEFT) == 0;
	uint64_t end_ns;

	if ((now & IS_LOADING) == 0)
		return is_first;
	end_ns = hs_sys_monotonic_ns() + LOADING_LIMIT_NS;
	while (((now = atomic_load(&state)) & IS_LOADING) != 0 && hs_sys_monotonic_ns() < end_ns)
		hs_sys_futex_wait(&state, now, LOOK_NS);
	return is_first;
}

void hs_root_stays(void)
{
	atomic_fetch_and(&state, ~(uint32_t)HAS_LEFT);
}

void hs_root_after_fork(void)
{
	atomic_fetch_and(&state, ~(uint32_t)IS_LOADING);
}
