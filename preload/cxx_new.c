/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow halves of operator new, and operator new without a next definition.
 *
 * A C program that opens a C++ library with dlopen() has libstdc++ in that library's scope only;
 * the library's calls of operator new still bind to ours, which is in the global scope.  Ours then
 * allocates with malloc.  Only when malloc fails does it call the operator new that the library
 * would have used without us, which knows the handlers of std::set_new_handler() and throws
 * std::bad_alloc.  The same is done where the next operator new is a C++ runtime's.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "preload/slow.h"
#include "sample/recorder.h"
#include "sample/thread_state.h"
#include "session/session.h"

/* Alignment 0: that of malloc. */
static void *new_from_malloc(size_t size, size_t alignment)
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

/* The operator new of the C++ library that the code at pc belongs to, or NULL. */
static void *find_library_new(const char *symbol, uintptr_t pc)
{
	/* It may have been opened with RTLD_GLOBAL since the start. */
	void *found = hs_next_symbol(symbol);

	if (found == NULL) {
		/*
		 * Never closed: the caller keeps it loaded anyway, and operator new may throw past
		 * a dlclose().
		 */
		void *object = dlopen(hs_next_object_of((void *)pc).file, RTLD_LAZY | RTLD_NOLOAD);

		if (object != NULL)
			found = dlsym(object, symbol);
	}
	return hs_next_same_object(found, (void *)new_from_malloc) ? NULL : found;
}

/*
 * Whether malloc is asked before the next operator new.  Not on profiler threads: there the next
 * one gets arena memory by way of our malloc().
 */
static bool is_malloc_first(void)
{
	return hs_next.new_mode == HS_NEW_STANDARD && !hs_on_profiler_thread();
}

/*
 * scalar: what the library is asked for in place of name.  Its operator new[] jumps to operator
 * new, which would be ours again.  What the library allocates comes to our malloc, which samples
 * it: it is not recorded here.
 */
#define SLOW_NEW(name, scalar, alignment, parameters, arguments)                                   \
	void *hs_slow_##name parameters;                                                           \
	void *hs_slow_##name parameters                                                            \
	{                                                                                          \
		__typeof__(hs_next.name) last_resort = NULL;                                       \
		void *block;                                                                       \
												   \
		(void)b, (void)c;                                                                  \
		hs_next_resolve_new();                                                             \
		hs_record_fetch();                                                                 \
		if (hs_next.name != NULL && !is_malloc_first())                                    \
			block = hs_next.name arguments;                                            \
		else                                                                               \
			block = new_from_malloc(size, alignment);                                  \
		if (block == NULL && hs_next.name == NULL)                                         \
			*(void **)(void *)&last_resort = find_library_new(#scalar, regs->pc);      \
		else if (block == NULL && is_malloc_first())                                       \
			last_resort = hs_next.name;                                                \
		if (last_resort != NULL)                                                           \
			return last_resort arguments;                                              \
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
