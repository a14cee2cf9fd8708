/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests by the program's threads to the producer, which they wait for: one at a time.
 */
#ifndef HS_SESSION_ASK_H
#define HS_SESSION_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_ask_kind {
	HS_ASK_DUMP,       /* write a profile of all that was sampled up to now */
	HS_ASK_START,      /* see session/epoch.h */
	HS_ASK_STOP,       /* the same */
	HS_ASK_RESET,      /* the same */
	HS_ASK_CLOSE_HEAP, /* free in the books what is in use of a heap */
};

struct hs_ask {
	enum hs_ask_kind kind;
	const char *reason; /* HS_ASK_DUMP: for the profile; a literal */
	uint32_t heap;      /* HS_ASK_CLOSE_HEAP */
};

/*
 * Called on: the program's threads, when the profiler threads run.  Waits, bounded, for the
 * producer, and for others that ask.  path: of the profile written; may be NULL.
 *
 * Returns 0 or -errno of what was asked; -ETIMEDOUT: it was not done in time, and may be later;
 * -EBUSY: another request is still being served; -ENAMETOOLONG: path does not fit (the profile was
 * written).
 */
int hs_ask(const struct hs_ask *ask, char *path, size_t capacity);

/* Serves the request, if there is one.  The producer's thread, producer_batch held. */
void hs_ask_serve(void);

/* Whether there is a request.  The producer's thread. */
bool hs_ask_is_waiting(void);

/* In a forked child: drops the parent's request. */
void hs_ask_after_fork(void);

#endif
