/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the process begins and ends (the constructor, the exits), and what it does to itself as a
 * whole (limits, memory protection, libraries).  Thin calls into session/.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/next.h"
#include "sample/capture.h"
#include "sample/reentry.h"
#include "session/session.h"

HS_EXPORT int mprotect(void *start, size_t bytes, int protection);
HS_EXPORT int sigaltstack(const stack_t *stack, stack_t *old);
HS_EXPORT int dlclose(void *handle);
HS_EXPORT void *dlopen(const char *file, int mode);
HS_EXPORT void *dlmopen(Lmid_t namespace, const char *file, int mode);
HS_EXPORT void _exit(int status) __attribute__((noreturn));
HS_EXPORT void _Exit(int status) __attribute__((noreturn));

int __cxa_atexit(void (*function)(void *), void *argument, void *object);

static void finish(void *unused)
{
	(void)unused;
	hs_session_finish();
}

/*
 * ThreadSanitizer takes the profiler's threads for the program's, and LeakSanitizer finds leaked
 * blocks in the profiler's memory.  Linked dynamically, they leave malloc to us.
 */
static bool has_sanitizer(void)
{
	return dlsym(RTLD_DEFAULT, "__tsan_init") != NULL ||
	       dlsym(RTLD_DEFAULT, "__lsan_init") != NULL;
}

/*
 * Valgrind's tools that replace malloc do so in whatever library defines it, and nothing reaches
 * us.  They would report the profiler's threads.  The symbol is of the library that they preload.
 */
static bool has_valgrind(void)
{
	return dlsym(RTLD_DEFAULT, "_vgr10010ZU_VgSoSynsomalloc_malloc") != NULL;
}

/*
 * Whether calls of malloc reach us, directly or through another preloaded library.  They do not if
 * an allocator is preloaded before us, or the executable defines malloc, because it comes before
 * every library.
 */
static bool is_interposed(void)
{
	void *first = dlsym(RTLD_DEFAULT, "malloc");

	if (has_sanitizer() || has_valgrind())
		return false;
	if (first == (void *)malloc)
		return true;
	return !hs_next.is_bypassed &&
	       (!hs_next_same_object(first, (void *)getauxval(AT_ENTRY)) ||
		!hs_next_is_defined_at(first));
}

/*
 * The exit handler is registered here because the loader registers its own later, and they run in
 * reverse: the final profile is written after the destructors of every library.  It belongs to no
 * object (NULL), so that no dlclose() runs it.
 */
static void begin(int argc, char **argv, char **environment)
{
	struct hs_session_next next;
	bool interposed;

	(void)argc, (void)argv;
	hs_next_resolve_all();
	interposed = is_interposed();
	if (interposed)
		hs_next_try_new();
	next.pthread_create = hs_next.pthread_create;
	next.registers_rseq = dlsym(RTLD_DEFAULT, "__rseq_offset") != NULL;
	next.single_threaded[0] = hs_next_symbol("__libc_single_threaded");
	next.single_threaded[1] = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
	/* The program must not see our failures in its dlerror(). */
	(void)dlerror();
	hs_session_start(environment, interposed && hs_next.resolved, &next);
	__cxa_atexit(finish, NULL, NULL);
	(void)at_quick_exit(hs_session_finish);
}

/*
 * The constructor.  Not declared by the attribute: link-time optimization would have it called
 * without its arguments.
 */
__attribute__((used, section(".init_array"))) static void (*at_start)(int, char **,
								       char **) = begin;

/*
 * Under a limit of address space (RLIMIT_AS) the profiler gives back what it has reserved, for it
 * counts.  Only after the call: limit may be an invalid address, or the kernel may refuse.
 */
#define LIMITING(name, parameters, arguments)                                                      \
	HS_EXPORT int name parameters;                                                             \
	int name parameters                                                                        \
	{                                                                                          \
		int result;                                                                        \
												   \
		HS_NEXT_ENSURE(name);                                                              \
		result = hs_next.name arguments;                                                   \
		if (result == 0 && limit != NULL)                                                  \
			hs_session_limit_changed(resource);                                        \
		return result;                                                                     \
	}
LIMITING(setrlimit, (int resource, const void *limit), (resource, limit))
LIMITING(setrlimit64, (int resource, const void *limit), (resource, limit))
LIMITING(prlimit, (pid_t process, int resource, const void *limit, void *old),
	 (process, resource, limit, old))
LIMITING(prlimit64, (pid_t process, int resource, const void *limit, void *old),
	 (process, resource, limit, old))

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

/* LeakSanitizer calls it while it initializes itself: no look-up here, which would allocate. */
static int set_stack(const stack_t *stack, stack_t *old)
{
	long error;

	if (hs_next.sigaltstack != NULL)
		return hs_next.sigaltstack(stack, old);
	error = hs_syscall(SYS_sigaltstack, (long)stack, (long)old, 0, 0, 0, 0);
	if (error == 0)
		return 0;
	errno = (int)-error;
	return -1;
}

/* *stack is read only after the kernel has read it: it may be an invalid address. */
int sigaltstack(const stack_t *stack, stack_t *old)
{
	int result = set_stack(stack, old);

	if (result == 0 && stack != NULL && ((unsigned)stack->ss_flags & SS_AUTODISARM) != 0)
		atomic_store_explicit(&hs_reentry_stacks_disarm, true, memory_order_relaxed);
	return result;
}

/* An allocator may call it before the next one is known: no look-up here, which may allocate. */
static int protect(void *start, size_t bytes, int protection)
{
	int error;

	if (hs_next.mprotect != NULL)
		return hs_next.mprotect(start, bytes, protection);
	error = hs_sys_protect(start, bytes, protection);
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

/*
 * A program may make a page inside a stack unreadable, as a guard page.  Stacks are copied on other
 * threads meanwhile: see sample/capture.h.
 */
int mprotect(void *start, size_t bytes, int protection)
{
	int result;

	if ((protection & PROT_READ) != 0)
		return protect(start, bytes, protection);
	hs_capture_protect_begins();
	result = protect(start, bytes, protection);
	hs_capture_protect_ends();
	return result;
}

/*
 * The next dlopen() looks at its return address to find the RUNPATH of the calling object, so it
 * must be that of the program's call: both functions end in a jump, even if the library is built
 * without optimization.
 */
#if __has_attribute(musttail)
#define JUMPING
#define JUMP_TO __attribute__((musttail)) return
#elif __has_attribute(optimize)
#define JUMPING __attribute__((optimize("O2")))
#define JUMP_TO return
#else
#define JUMPING
#define JUMP_TO return
#endif

JUMPING void *dlopen(const char *file, int mode)
{
	HS_NEXT_ENSURE(dlopen);
	hs_session_library_opens();
	JUMP_TO hs_next.dlopen(file, mode);
}

JUMPING void *dlmopen(Lmid_t namespace, const char *file, int mode)
{
	HS_NEXT_ENSURE(dlmopen);
	hs_session_library_opens();
	JUMP_TO hs_next.dlmopen(namespace, file, mode);
}

/* Called for the first object only: dlpi_subs is the same for all. */
static int read_unloads(struct dl_phdr_info *info, size_t bytes, void *unloads)
{
	(void)bytes;
	*(unsigned long long *)unloads = info->dlpi_subs;
	return 1;
}

static bool count_unloads(unsigned long long *unloads)
{
	return hs_next_iterate_objects(read_unloads, unloads) != 0;
}

int dlclose(void *handle)
{
	unsigned long long before = 0, after = 0;
	bool tells, is_counted;
	int result;

	HS_NEXT_ENSURE(dlclose);
	tells = hs_session_close_begins();
	is_counted = tells && count_unloads(&before);
	result = hs_next.dlclose(handle);
	if (tells)
		hs_session_close_ends(!is_counted || !count_unloads(&after) || after != before);
	return result;
}

static void leave_process(void (*next)(int), int status)
{
	hs_session_finish();
	if (next != NULL)
		next(status);
	for (;;)
		hs_syscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

void _exit(int status)
{
	leave_process(hs_next._exit, status);
	__builtin_unreachable();
}

void _Exit(int status)
{
	leave_process(hs_next._Exit, status);
	__builtin_unreachable();
}
