/* SPDX-License-Identifier: BSD-2-Clause */
/* Start-up: where the books have names from, and which names they hide. */
#include <errno.h>

#include "base/options.h"
#include "profile/symbol_filter.h"
#include "session/session_state.h"
#include "session/unlocked.h"

/* The table of generated code, and symbols that are kept, may each take one part of the memory. */
#define JIT_SHARE 8
#define SYMBOLS_SHARE 8

/* With the producer's lock released, from BEGINS to ENDS. */
static void at_file(enum hs_at_file what)
{
	switch (what) {
	case HS_AT_FILE_BEGINS:
		hs_unlocked_file_begins();
		break;
	case HS_AT_FILE_OPENS:
		hs_lock_acquire(&hs_session.opening);
		break;
	case HS_AT_FILE_OPENED:
		hs_lock_release(&hs_session.opening);
		break;
	case HS_AT_FILE_ENDS:
		hs_unlocked_file_ends();
		break;
	}
}

int hs_session_make_names(void)
{
	struct hs_session *session = &hs_session;
	const char *hidden = hs_options.skip_symbol_prefix;
	bool named =
		hs_options.symbolize != HS_SYMBOLIZE_NONE || hs_symbol_filter_has_names(hidden);

	hs_producer_pause_at_files(session->producer, at_file);
	if (hidden[0] != '\0' &&
	    !hs_producer_filter(session->producer, hidden,
				hs_session_memory_bytes() / SYMBOLS_SHARE))
		return -ENOMEM;
	if (named && hs_options.jit != 0 &&
	    !hs_producer_follow_code(session->producer, hs_options.jit,
				     hs_session_memory_bytes() / JIT_SHARE))
		return -ENOMEM;
	if (hs_options.map[0] != '\0' &&
	    !hs_producer_follow_hints(session->producer, hs_options.map))
		return -ENOMEM;
	return 0;
}
