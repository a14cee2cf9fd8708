/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow halves of operator new, and operator new without a next definition.
 *
 * A C program that dlopens a C++ library has libstdc++ in that library's scope only, yet
 * the library's operator new binds to ours, in the global scope.  It is served from
 * malloc; when that fails, std::__throw_bad_alloc is looked for where the caller is.
 */
#include <dlfcn.h>

#include "preload/slow.h"
#include "sample/thread_state.h"
#include "session/session.h"

/* Throw std::bad_alloc for a caller at pc; returns if its C++ library is not found. */
static void throw_bad_alloc(uintptr_t pc)
{
	static const char symbol[] = "_ZSt17__throw_bad_allocv";
	void (*throw_it)(void);
	void *found = dlsym(RTLD_DEFAULT, symbol);
	Dl_info caller;

	if (found == NULL && dladdr((void *)pc, &caller) != 0) {
		/* Not closed again: it is loaded anyway, and we may not return. */
		void *object = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

		if (object != NULL)
			found = dlsym(object, symbol);
	}
	if (found == NULL)
		return;
	*(void **)(void *)&throw_it = found;
	throw_it();
}

void *hs_new_fallback(size_t size, size_t alignment, bool nothrow, const struct hs_regs *regs)
{
	void *block;

	hs_next_resolve();
	if (alignment != 0 && hs_next.aligned_alloc == NULL)
		hs_next_resolve_all();
	size += size == 0;
	if (alignment == 0)
		block = hs_next.malloc(size);
	else if (size > SIZE_MAX - (alignment - 1))
		block = NULL;
	else
		block = hs_next.aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
	if (block == NULL && !nothrow)
		throw_bad_alloc(regs->pc);
	return block;
}

#define SLOW_NEW(name, alignment, nothrow_flag, parameters, arguments)                             \
	void *hs_slow_##name parameters;                                                           \
	void *hs_slow_##name parameters                                                            \
	{                                                                                          \
		void *block;                                                                       \
												   \
		(void)b, (void)c;                                                                  \
		hs_next_resolve_new();                                                             \
		if (hs_next.name != NULL)                                                          \
			block = hs_next.name arguments;                                            \
		else                                                                               \
			block = hs_new_fallback(size, alignment, nothrow_flag, regs);              \
		hs_session_record(block, size, regs);                                              \
		return block;                                                                      \
	}

#define PLAIN (size_t size, void *b, void *c, const struct hs_regs *regs)
#define ALIGNED (size_t size, size_t b, void *c, const struct hs_regs *regs)

SLOW_NEW(_Znwm, 0, false, PLAIN, (size))
SLOW_NEW(_Znam, 0, false, PLAIN, (size))
SLOW_NEW(_ZnwmRKSt9nothrow_t, 0, true, PLAIN, (size, b))
SLOW_NEW(_ZnamRKSt9nothrow_t, 0, true, PLAIN, (size, b))
SLOW_NEW(_ZnwmSt11align_val_t, b, false, ALIGNED, (size, b))
SLOW_NEW(_ZnamSt11align_val_t, b, false, ALIGNED, (size, b))
SLOW_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, b, true, ALIGNED, (size, b, c))
SLOW_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, b, true, ALIGNED, (size, b, c))
