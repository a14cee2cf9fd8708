/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next definitions of the functions that we interpose: those of the allocator that the
 * program would use without us, and of the C library.  Found with dlsym(RTLD_NEXT), never by
 * glibc's private names.
 *
 * The allocator's own four are looked up at the first allocation, which may come long
 * before our constructor; the rest in the constructor, or at their first call.
 */
#ifndef HS_PRELOAD_NEXT_H
#define HS_PRELOAD_NEXT_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <threads.h>

#include "base/likely.h"
#include "base/visibility.h"

/* Whether a call comes back to us shows in this countdown: no library's first call ends it. */
#define HS_NEXT_COUNTDOWN (UINT64_C(1) << 62)

/* X(result, name, arguments).  Every allocator has these. */
#define HS_NEXT_ALLOCATOR(X)                                                                       \
	X(void *, malloc, (size_t size))                                                           \
	X(void, free, (void *block))                                                               \
	X(void *, calloc, (size_t count, size_t size))                                             \
	X(void *, realloc, (void *block, size_t size))

/* The C library has these even if the allocator has not. */
#define HS_NEXT_LIBC(X)                                                                            \
	X(int, posix_memalign, (void **out, size_t alignment, size_t size))                        \
	X(void *, aligned_alloc, (size_t alignment, size_t size))                                  \
	X(void *, memalign, (size_t alignment, size_t size))                                       \
	X(void *, valloc, (size_t size))                                                           \
	X(void *, pvalloc, (size_t size))                                                          \
	X(size_t, malloc_usable_size, (void *block))                                               \
	X(int, execve, (const char *path, char *const argv[], char *const envp[]))                 \
	X(int, execv, (const char *path, char *const argv[]))                                      \
	X(int, execvp, (const char *file, char *const argv[]))                                     \
	X(int, execvpe, (const char *file, char *const argv[], char *const envp[]))                \
	X(int, fexecve, (int fd, char *const argv[], char *const envp[]))                          \
	X(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attributes,               \
				void *(*start)(void *), void *argument))                           \
	X(void, pthread_exit, (void *result))                                                      \
	X(int, pthread_cancel, (pthread_t thread))                                                 \
	X(int, thrd_create, (thrd_t *thread, thrd_start_t start, void *argument))                  \
	X(void, thrd_exit, (int result))                                                           \
	X(pid_t, fork, (void))                                                                     \
	X(int, sigaltstack, (const stack_t *stack, stack_t *old))                                  \
	X(int, mprotect, (void *start, size_t bytes, int protection))                              \
	X(int, chroot, (const char *path))                                                         \
	X(int, unshare, (int flags))                                                               \
	X(int, setns, (int fd, int type))                                                          \
	X(int, capset, (void *header, const void *data))                                           \
	X(int, setrlimit, (int resource, const void *limit))                                       \
	X(int, setrlimit64, (int resource, const void *limit))                                     \
	X(int, prlimit, (pid_t process, int resource, const void *limit, void *old))               \
	X(int, prlimit64, (pid_t process, int resource, const void *limit, void *old))             \
	X(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old))     \
	X(sighandler_t, signal, (int number, sighandler_t handler))                                \
	X(sighandler_t, __sysv_signal, (int number, sighandler_t handler))                         \
	X(void *, dlopen, (const char *file, int mode))                                            \
	X(void *, dlmopen, (Lmid_t namespace, const char *file, int mode))                         \
	X(int, dlclose, (void *handle))                                                            \
	X(void, _exit, (int status))                                                               \
	X(void, _Exit, (int status))

/* Those that may be NULL. */
#define HS_NEXT_OPTIONAL(X)                                                                        \
	X(void, free_sized, (void *block, size_t size))                                            \
	X(void, free_aligned_sized, (void *block, size_t alignment, size_t size))                  \
	X(void *, mallocx, (size_t size, int flags))                                               \
	X(void *, rallocx, (void *block, size_t size, int flags))                                  \
	X(size_t, xallocx, (void *block, size_t size, size_t extra, int flags))                    \
	X(void, dallocx, (void *block, int flags))                                                 \
	X(void, sdallocx, (void *block, size_t size, int flags))                                   \
	X(int, close_range, (unsigned first, unsigned last, int flags))                            \
	X(int, execveat, (int directory, const char *path, char *const argv[],                     \
			  char *const envp[], int flags))

#define HS_NEXT_C(X) HS_NEXT_LIBC(X) HS_NEXT_OPTIONAL(X)

/*
 * X(name, arguments, their names).  Each returns int.  They change the whole process, for which
 * libc has every thread make the system call.
 */
#define HS_NEXT_RIGHTS(X)                                                                          \
	X(setuid, (uid_t user), (user))                                                            \
	X(setgid, (gid_t group), (group))                                                          \
	X(seteuid, (uid_t effective), (effective))                                                 \
	X(setegid, (gid_t effective), (effective))                                                 \
	X(setreuid, (uid_t real, uid_t effective), (real, effective))                              \
	X(setregid, (gid_t real, gid_t effective), (real, effective))                              \
	X(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))         \
	X(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))         \
	X(setgroups, (size_t count, const gid_t *groups), (count, groups))                         \
	X(initgroups, (const char *user, gid_t group), (user, group))

/* operator new and delete by their mangled names (size_t is "m" on LP64). */
#define HS_NEXT_PLAIN_NEW(X)                                                                       \
	X(_Znwm, (size_t size), (size))                                                            \
	X(_Znam, (size_t size), (size))                                                            \
	X(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))                \
	X(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))

#define HS_NEXT_ALIGNED_NEW(X)                                                                     \
	X(_ZnwmSt11align_val_t, (size_t size, size_t alignment), (size, alignment))                \
	X(_ZnamSt11align_val_t, (size_t size, size_t alignment), (size, alignment))                \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t,                                                      \
	  (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))        \
	X(_ZnamSt11align_val_tRKSt9nothrow_t,                                                      \
	  (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))

#define HS_NEXT_NEW(X) HS_NEXT_PLAIN_NEW(X) HS_NEXT_ALIGNED_NEW(X)

#define HS_NEXT_PLAIN_DELETE(X)                                                                    \
	X(_ZdlPv, (void *block), (block))                                                          \
	X(_ZdaPv, (void *block), (block))                                                          \
	X(_ZdlPvm, (void *block, size_t size), (block, size))                                      \
	X(_ZdaPvm, (void *block, size_t size), (block, size))                                      \
	X(_ZdlPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))              \
	X(_ZdaPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))

#define HS_NEXT_ALIGNED_DELETE(X)                                                                  \
	X(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))              \
	X(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))              \
	X(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),                    \
	  (block, size, alignment))                                                                \
	X(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment),                    \
	  (block, size, alignment))                                                                \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t,                                                     \
	  (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))       \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t,                                                     \
	  (void *block, size_t alignment, const void *nothrow), (block, alignment, nothrow))

#define HS_NEXT_DELETE(X) HS_NEXT_PLAIN_DELETE(X) HS_NEXT_ALIGNED_DELETE(X)

/* Ours. */
#define HS_PROTOTYPE(name, arguments, names) HS_EXPORT void *name arguments;
HS_NEXT_NEW(HS_PROTOTYPE)
#undef HS_PROTOTYPE
#define HS_PROTOTYPE(name, arguments, names) HS_EXPORT void name arguments;
HS_NEXT_DELETE(HS_PROTOTYPE)
#undef HS_PROTOTYPE

/* Where operator new allocates, and which of our functions samples that. */
enum hs_new_mode {
	/* Before the constructor.  As HS_NEW_FALLBACK if there is no next one. */
	HS_NEW_UNKNOWN,
	/* The next operator new calls our malloc, which samples. */
	HS_NEW_PASSES,
	/*
	 * As HS_NEW_PASSES, and it is a C++ runtime's, which is known to do nothing but call
	 * malloc, except for aligned memory.  So ours calls malloc itself, and samples; the
	 * runtime's is called when malloc fails.
	 */
	HS_NEW_STANDARD,
	/* The allocator's own, which does not call our malloc or the like: ours samples. */
	HS_NEW_SAMPLED,
	/*
	 * There is no next one in the global scope (a C program that has opened a C++ library, or
	 * one with a library that exports some forms only): ours calls the next malloc, and
	 * samples.
	 */
	HS_NEW_FALLBACK,
};

struct hs_new_modes {
#define HS_MODE_FIELD(name, arguments, names) enum hs_new_mode name;
	HS_NEXT_NEW(HS_MODE_FIELD)
#undef HS_MODE_FIELD
};

struct hs_next_allocator {
#define HS_NEXT_FIELD(result, name, arguments) result (*name) arguments;
	HS_NEXT_ALLOCATOR(HS_NEXT_FIELD)
#undef HS_NEXT_FIELD
};

struct hs_next {
	/*
	 * The program's realloc if that is not ours (the executable, or an allocator preloaded
	 * before us, defines its own), else NULL.
	 */
	void *(*foreign_realloc)(void *block, size_t size);
	void (*foreign_cfree)(void *argument); /* it is not the allocator's; else NULL */
	/*
	 * Of operator delete: HS_NEW_SAMPLED if any form of new or delete is the allocator's, so
	 * that a free may not come back to us.
	 */
	enum hs_new_mode new_mode;
	struct hs_new_modes modes; /* of each form of operator new */
	bool resolved;
	bool is_bypassed; /* the malloc that a library preloaded before us has does not call ours */
	bool has_own_c11; /* thrd_create() is not libc's */
#define HS_NEXT_FIELD(result, name, arguments) result (*name) arguments;
	HS_NEXT_C(HS_NEXT_FIELD)
#undef HS_NEXT_FIELD
#define HS_NEXT_FIELD(name, arguments, names) int (*name) arguments;
	HS_NEXT_RIGHTS(HS_NEXT_FIELD)
#undef HS_NEXT_FIELD
#define HS_NEXT_FIELD(name, arguments, names) void *(*name) arguments;
	HS_NEXT_NEW(HS_NEXT_FIELD)
#undef HS_NEXT_FIELD
#define HS_NEXT_FIELD(name, arguments, names) void (*name) arguments;
	HS_NEXT_DELETE(HS_NEXT_FIELD)
#undef HS_NEXT_FIELD
};

/*
 * Written without a lock by the thread that resolves first, in practice the only one then.  Two
 * that resolve at once write the same values.
 */
extern HS_HIDDEN struct hs_next_allocator hs_allocator;
extern HS_HIDDEN struct hs_next hs_next;

/* Looks up malloc, free, calloc and realloc unless that is done.  Any thread. */
void hs_next_resolve(void);

/* The next definition of a symbol, or NULL.  After hs_next_resolve(). */
void *hs_next_symbol(const char *name);

/* Whether this thread is inside hs_next_resolve(), whose dlsym() may allocate. */
bool hs_next_is_resolving(void);

/* A loaded object. */
struct hs_next_object {
	uintptr_t base;
	uintptr_t bytes;  /* from the first segment to the end of the last */
	const char *file; /* the loader's; "" for the executable */
};

/*
 * The object that an address is in; bytes is 0 and file is "" if there is none.  Not by dladdr(),
 * which also goes through all symbols of the object: 25 us for libc's.  Takes the loader's lock.
 */
struct hs_next_object hs_next_object_of(const void *address);

/*
 * dl_iterate_phdr(), by the next definition: a program may have its own, which may not be ready in
 * a constructor, or tell of a list that it has kept.  0: there is none.
 */
int hs_next_iterate_objects(int (*call)(struct dl_phdr_info *, size_t, void *), void *argument);

static inline bool hs_next_object_has(const struct hs_next_object *object, uintptr_t address)
{
	return address - object->base < object->bytes;
}

/* Whether two addresses belong to the same object.  Takes the loader's lock. */
bool hs_next_same_object(const void *one, const void *other);

/*
 * Whether a function is defined at its address.  In an executable that is not position-independent
 * the address may be that of a PLT entry: the symbol is undefined there and yet has an address.
 */
bool hs_next_is_defined_at(const void *address);

/* Sets the modes of operator new, once all next definitions are known. */
void hs_next_find_new_modes(void);

/*
 * Tries what the allocator has, and sets the modes by that.  The constructor only: allocators call
 * functions of ours while they initialize themselves, when their operator new may not be called.
 */
void hs_next_try_new(void);

/* Looks up everything.  The constructor, or whoever needs one of the others before. */
void hs_next_resolve_all(void);

/* Before a call of one of HS_NEXT_LIBC or HS_NEXT_RIGHTS: our constructor may be yet to run. */
#define HS_NEXT_ENSURE(name)                                                                       \
	do {                                                                                       \
		if (hs_next.name == NULL)                                                          \
			hs_next_resolve_all();                                                     \
	} while (0)

/*
 * Before the first use of operator new or delete, or of a function that may not exist: a
 * constructor that runs before ours may be the caller.
 */
static inline void hs_next_resolve_new(void)
{
	if (hs_unlikely(hs_next.new_mode == HS_NEW_UNKNOWN) && !hs_next_is_resolving())
		hs_next_resolve_all();
}

#endif
