/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow halves of operator new, and operator new without a next definition.
 *
 * A C program that dlopens a C++ library has libstdc++ in that library's scope only, yet
 * the library's operator new binds to ours, in the global scope.  It is served from
 * malloc.  What that cannot serve goes to the operator new that the library would have had
 * without us: the handlers of std::set_new_handler() and std::bad_alloc are its matter.  So is it
 * where the next operator new is a C++ runtime's.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "preload/slow.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/session.h"

/* Alignment 0: that of malloc. */
static void *serve_new(size_t size, size_t alignment)
{
	hs_next_resolve();
	if (alignment != 0 && hs_next.aligned_alloc == NULL)
		hs_next_resolve_all();
	size += size == 0;
	if (alignment == 0)
		return hs_allocator.malloc(size);
	if ((alignment & (alignment - 1)) != 0 || size > SIZE_MAX - (alignment - 1))
		return NULL;
	return hs_next.aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
}

/* The operator new of the caller's C++ library, or NULL.  pc: of the caller. */
static void *find_new(const char *symbol, uintptr_t pc)
{
	/* Opened for all since the start? */
	void *found = dlsym(RTLD_NEXT, symbol);
	Dl_info caller;

	if (found == NULL && dladdr((void *)pc, &caller) != 0) {
		/* Not closed again: it is loaded anyway, and what is called may not return. */
		void *object = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

		if (object != NULL)
			found = dlsym(object, symbol);
	}
	return hs_next_same_object(found, (void *)serve_new) ? NULL : found;
}

/* Whether malloc serves though there is a next one.  On profiler threads that has the arena. */
static bool is_served(void)
{
	return hs_next.new_mode == HS_NEW_STANDARD && !hs_on_profiler_thread();
}

/*
 * single: the one that an array's passes on to; asked itself, it would do so with a jump, and
 * be a call of ours to us.  What the C++ library's own allocates comes back by way of malloc,
 * which counts it.
 */
#define SLOW_NEW(name, single, alignment, parameters, arguments)                                   \
	void *hs_slow_##name parameters;                                                           \
	void *hs_slow_##name parameters                                                            \
	{                                                                                          \
		__typeof__(hs_next.name) own = NULL;                                               \
		void *block;                                                                       \
												   \
		(void)b, (void)c;                                                                  \
		hs_next_resolve_new();                                                             \
		hs_record_fetch();                                                                 \
		if (hs_next.name != NULL && !is_served())                                          \
			block = hs_next.name arguments;                                            \
		else                                                                               \
			block = serve_new(size, alignment);                                        \
		if (block == NULL && hs_next.name == NULL)                                         \
			*(void **)(void *)&own = find_new(#single, regs->pc);                      \
		else if (block == NULL && is_served())                                             \
			own = hs_next.name;                                                        \
		if (own != NULL)                                                                   \
			return own arguments;                                                      \
		hs_session_record(block, size, regs);                                              \
		return block;                                                                      \
	}

#define PLAIN (size_t size, void *b, void *c, const struct hs_regs *regs)
#define ALIGNED (size_t size, size_t b, void *c, const struct hs_regs *regs)

SLOW_NEW(_Znwm, _Znwm, 0, PLAIN, (size))
SLOW_NEW(_Znam, _Znwm, 0, PLAIN, (size))
SLOW_NEW(_ZnwmRKSt9nothrow_t, _ZnwmRKSt9nothrow_t, 0, PLAIN, (size, b))
SLOW_NEW(_ZnamRKSt9nothrow_t, _ZnwmRKSt9nothrow_t, 0, PLAIN, (size, b))
SLOW_NEW(_ZnwmSt11align_val_t, _ZnwmSt11align_val_t, b, ALIGNED, (size, b))
SLOW_NEW(_ZnamSt11align_val_t, _ZnwmSt11align_val_t, b, ALIGNED, (size, b))
SLOW_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_tRKSt9nothrow_t, b, ALIGNED,
	 (size, b, c))
SLOW_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_tRKSt9nothrow_t, b, ALIGNED,
	 (size, b, c))
