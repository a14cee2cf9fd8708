/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one of the program's threads has the producer do, and waits for: one thing at a time.
 */
#ifndef HS_SESSION_ASK_H
#define HS_SESSION_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_ask_kind {
	HS_ASK_DUMP,  /* write a profile with all that was sampled up to now */
	HS_ASK_START, /* see session/epoch.h */
	HS_ASK_STOP,
	HS_ASK_RESET,
	HS_ASK_CLOSE_HEAP, /* free in the books what is in use of a heap */
};

struct hs_ask {
	enum hs_ask_kind kind;
	const char *reason; /* of a profile; static */
	uint32_t heap;      /* to be closed */
};

/*
 * Called on: the program's threads, when the profiler threads run.  Waits, bounded, for the
 * producer, and for others that ask.  path: of the profile written; may be NULL.
 *
 * Returns what came of it: 0 or -errno; -ETIMEDOUT: it did not come in time, and may be done
 * later; -EBUSY: something else is still being done; -ENAMETOOLONG: path does not fit (the
 * profile was written).
 */
int hs_ask(const struct hs_ask *ask, char *path, size_t capacity);

/* Do what was asked, if anything was.  The producer's thread, producer_batch held. */
void hs_ask_serve(void);

/* Whether there is something to do.  The producer's thread. */
bool hs_ask_is_waiting(void);

/* In a forked child: nothing is asked. */
void hs_ask_after_fork(void);

#endif
