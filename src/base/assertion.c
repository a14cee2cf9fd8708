/* SPDX-License-Identifier: BSD-2-Clause */
/* Assertions of linked libraries.  See assertion.h for the contract. */
#include "base/assertion.h"

#include <errno.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/sys.h"
#include "base/visibility.h"

/* Where to go on, for the call of hs_assertion_catch() that is the innermost. */
static __thread jmp_buf *catcher;

/* As assert.h declares it, but hidden: the archives bind to it, the program does not. */
HS_HIDDEN _Noreturn void __assert_fail(const char *assertion, const char *file, unsigned line,
				       const char *function);

void __assert_fail(const char *assertion, const char *file, unsigned line, const char *function)
{
	static _Atomic uint32_t never;

	(void)function;
	hs_log(HS_LOG_WARN, "internal failure: assertion '%s' at %s:%u; %s", assertion, file, line,
	       catcher != NULL ? "what was being read is left out"
			       : "no more profiles are written");
	if (catcher != NULL)
		longjmp(*catcher, 1);
	for (;;)
		hs_sys_futex_wait(&never, 0, -1);
}

int hs_assertion_catch(int (*function)(void *context), void *context)
{
	jmp_buf *outer = catcher;
	jmp_buf here;
	int result = -ENOTRECOVERABLE;

	if (setjmp(here) == 0) {
		catcher = &here;
		result = function(context);
	}
	catcher = outer;
	return result;
}
