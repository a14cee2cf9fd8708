/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding the next definitions.  See next_alloc.h.
 */
#include "preload/next_alloc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "arch/syscall.h"
#include "base/hot.h"
#include "sample/thread_state.h"

/* More than any library allocates at its first call. */
#define PRIMING_COUNTDOWN (UINT64_C(1) << 62)

static __thread volatile bool resolving;

static void early_free(void *block)
{
	hs_next_resolve();
	/* Without a next free there is nothing that could have allocated block. */
	if (hs_allocator.free != early_free)
		hs_allocator.free(block);
}

HS_HOT _Alignas(HS_CACHE_LINE_BYTES) struct hs_next_allocator hs_allocator = {.free = early_free};
HS_SAMPLE_DATA struct hs_next hs_next;

/* Set if dlsym() is not libc's. */
static void *(*libc_dlsym)(void *handle, const char *name);

void *hs_next_symbol(const char *name)
{
	return libc_dlsym != NULL ? libc_dlsym(RTLD_NEXT, name) : dlsym(RTLD_NEXT, name);
}

/*
 * The program, or a library that comes before us, may have a dlsym() that calls libc's, as overlays
 * of games have.  To that one RTLD_NEXT is what follows the caller, so it finds us.
 */
static void find_libc_dlsym(void)
{
	if (hs_next_symbol("malloc") == (void *)malloc)
		*(void **)(void *)&libc_dlsym = dlvsym(RTLD_NEXT, "dlsym", HS_ARCH_FIRST_GLIBC);
}

bool hs_next_is_resolving(void)
{
	return resolving;
}

/* A cast from void * to a function pointer, as POSIX has it for dlsym(). */
#define LOOK_UP(table, name) (*(void **)(void *)&(table).name = hs_next_symbol(#name))

void hs_next_resolve(void)
{
	void (*found)(void *);

	if (hs_next.resolved || resolving)
		return;
	resolving = true;
	find_libc_dlsym();
	LOOK_UP(hs_allocator, malloc);
	LOOK_UP(hs_allocator, calloc);
	LOOK_UP(hs_allocator, realloc);
	*(void **)(void *)&found = hs_next_symbol("free");
	if (found != NULL)
		hs_allocator.free = found;
	hs_next.resolved = hs_allocator.malloc != NULL;
	resolving = false;
}

bool hs_next_same_object(const void *one, const void *other)
{
	Dl_info first, second;

	return one != NULL && other != NULL && dladdr(one, &first) != 0 &&
	       dladdr(other, &second) != 0 && first.dli_fbase == second.dli_fbase;
}

bool hs_next_is_defined_at(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info object;

	return dladdr1(address, &object, (void **)(void *)&symbol, RTLD_DL_SYMENT) == 0 ||
	       symbol == NULL || symbol->st_shndx != SHN_UNDEF;
}

/* Whether a file is a C++ runtime: libstdc++, or LLVM's. */
static bool is_cxx_runtime(const char *file)
{
	static const char *const names[] = {"libstdc++.so.", "libc++.so.", "libc++abi.so."};
	const char *slash = strrchr(file, '/'), *name = slash != NULL ? slash + 1 : file;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/* The length of a loaded object, whose ELF header is at base. */
static uintptr_t mapped_bytes(const void *base)
{
	const ElfW(Ehdr) *header = base;
	const ElfW(Phdr) *segment = (const void *)((const char *)base + header->e_phoff);
	uintptr_t bytes = 0;

	for (int i = 0; i < header->e_phnum; i++, segment++) {
		if (segment->p_type == PT_LOAD)
			bytes = segment->p_vaddr + segment->p_memsz;
	}
	return bytes;
}

/*
 * Whether all of these functions that are called are ours: the program, or a library that comes
 * before us, may define some.  If it defines a form of operator new, the runtime's other forms call
 * that one, and ours must call the runtime's.
 */
static bool is_none_before_ours(void)
{
	if (dlsym(RTLD_DEFAULT, "malloc") != (void *)malloc ||
	    dlsym(RTLD_DEFAULT, "free") != (void *)free)
		return false;
#define CHECK_NAMED(name, arguments, names)                                                        \
	if (dlsym(RTLD_DEFAULT, #name) != (void *)name)                                            \
		return false;
	HS_NEXT_PLAIN_NEW(CHECK_NAMED)
	HS_NEXT_PLAIN_DELETE(CHECK_NAMED)
#undef CHECK_NAMED
	return true;
}

/*
 * Whether all of operator new and delete are one C++ runtime's, and its malloc and free are ours.
 * dladdr() is called once only, because it goes through all of the runtime's symbols.
 */
static bool is_new_standard(void)
{
	uintptr_t base, bytes;
	Dl_info runtime;

	if (!is_none_before_ours() ||
	    dladdr(*(void **)(void *)&hs_next._Znwm, &runtime) == 0 ||
	    !is_cxx_runtime(runtime.dli_fname))
		return false;
	base = (uintptr_t)runtime.dli_fbase;
	bytes = mapped_bytes(runtime.dli_fbase);
#define CHECK_NAMED(name, arguments, names)                                                        \
	if ((uintptr_t)hs_next.name - base >= bytes)                                               \
		return false;
	HS_NEXT_PLAIN_NEW(CHECK_NAMED)
	HS_NEXT_PLAIN_DELETE(CHECK_NAMED)
#undef CHECK_NAMED
	return true;
}

static enum hs_new_mode new_mode(void)
{
	if (hs_next._Znwm == NULL)
		return HS_NEW_FALLBACK;
	if (hs_next_same_object(*(void **)(void *)&hs_next._Znwm,
				*(void **)(void *)&hs_allocator.malloc))
		return HS_NEW_SAMPLED;
	return is_new_standard() ? HS_NEW_STANDARD : HS_NEW_PASSES;
}

/*
 * A missing form that C++ libraries make of another one is made of that here too: its blocks may be
 * of another kind than malloc's.
 */
static void complete_new(void)
{
#define MAKE(array, scalar)                                                                        \
	if (hs_next.array == NULL && hs_next.scalar != NULL)                                       \
		hs_next.array = scalar;
	MAKE(_Znam, _Znwm)
	MAKE(_ZnamRKSt9nothrow_t, _ZnwmRKSt9nothrow_t)
	MAKE(_ZnamSt11align_val_t, _ZnwmSt11align_val_t)
	MAKE(_ZnamSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_tRKSt9nothrow_t)
#undef MAKE
}

/* mode: that of _Znwm. */
static enum hs_new_mode form_mode(const void *form, enum hs_new_mode mode)
{
	return form != NULL ? mode : HS_NEW_FALLBACK;
}

static void set_new_modes(enum hs_new_mode mode)
{
	const enum hs_new_mode aligned = mode == HS_NEW_STANDARD ? HS_NEW_PASSES : mode;

#define SET(name, mode) hs_next.modes.name = form_mode(*(void **)(void *)&hs_next.name, mode);
#define SET_PLAIN(name, arguments, names) SET(name, mode)
#define SET_ALIGNED(name, arguments, names) SET(name, aligned)
	HS_NEXT_PLAIN_NEW(SET_PLAIN)
	HS_NEXT_ALIGNED_NEW(SET_ALIGNED)
#undef SET_ALIGNED
#undef SET_PLAIN
#undef SET
	hs_next.new_mode = mode;
}

static void find_foreign_realloc(void)
{
	void *first = dlsym(RTLD_DEFAULT, "realloc");

	if (first != (void *)realloc)
		*(void **)(void *)&hs_next.foreign_realloc = first;
}

/*
 * That of an allocator is its free.  That of glibc is not found, because it is for old programs
 * only.
 */
static void find_foreign_cfree(void)
{
	void *next = hs_next_symbol("cfree");

	if (!hs_next_same_object(next, *(void **)(void *)&hs_allocator.free))
		*(void **)(void *)&hs_next.foreign_cfree = next;
}

/* In glibc before 2.34 threads have a library of their own. */
static bool is_libcs(const void *function)
{
	return hs_next_same_object(function, *(void **)(void *)&hs_next.pthread_create) ||
	       hs_next_same_object(function, *(void **)(void *)&hs_next._exit);
}

/*
 * A preloaded library whose free comes before or after ours may look up the next free at its first
 * call.  If that call came from a dlsym() that frees the message of an earlier failure, the
 * library's own dlsym() would free the same message and call it again, without end.  So it is
 * called here, when there is no message.  With a block: mimalloc 3 crashes if its first call is
 * free(NULL).  The countdown tells whether a library that comes before ours passes the call on to
 * us, or is an allocator of its own.
 */
static void prime_frees(void)
{
	const uint64_t countdown = hs_thread.bytes_until_sample;
	void *(*first_malloc)(size_t);
	void (*first_free)(void *);

	if (hs_next.resolved)
		hs_allocator.free(hs_allocator.malloc(1));
	*(void **)(void *)&first_free = dlsym(RTLD_DEFAULT, "free");
	if (first_free == NULL || first_free == free)
		return;
	*(void **)(void *)&first_malloc = dlsym(RTLD_DEFAULT, "malloc");
	if (first_malloc == NULL)
		return;
	hs_thread.bytes_until_sample = PRIMING_COUNTDOWN;
	first_free(first_malloc(1));
	hs_next.is_bypassed = hs_thread.bytes_until_sample == PRIMING_COUNTDOWN;
	hs_thread.bytes_until_sample = countdown;
}

void hs_next_resolve_all(void)
{
	enum hs_new_mode mode;

	/*
	 * dlsym() allocates a message for a name that it does not find, and frees it at the next
	 * such name.  The free of tcmalloc's debugging variant calls operator new: if that called
	 * this function again, the message would be freed twice.  In this mode it does not.
	 */
	if (hs_next.new_mode == HS_NEW_UNKNOWN)
		hs_next.new_mode = HS_NEW_FALLBACK;
	hs_next_resolve();
	/*
	 * Those that may be missing come last: a message is allocated and freed by functions
	 * that all have to be known by then, as each operator new has its own delete.
	 */
#define LOOK_UP_C(result, name, arguments) LOOK_UP(hs_next, name);
#define LOOK_UP_NAMED(name, arguments, names) LOOK_UP(hs_next, name);
	HS_NEXT_LIBC(LOOK_UP_C)
	prime_frees();
	find_foreign_realloc();
	hs_next.has_own_c11 = !is_libcs(*(void **)(void *)&hs_next.thrd_create);
	HS_NEXT_RIGHTS(LOOK_UP_NAMED)
	HS_NEXT_PLAIN_NEW(LOOK_UP_NAMED)
	HS_NEXT_PLAIN_DELETE(LOOK_UP_NAMED)
	HS_NEXT_ALIGNED_NEW(LOOK_UP_NAMED)
	HS_NEXT_ALIGNED_DELETE(LOOK_UP_NAMED)
	HS_NEXT_OPTIONAL(LOOK_UP_C)
	find_foreign_cfree();
#undef LOOK_UP_NAMED
#undef LOOK_UP_C
	/* The program must not see our failures in its dlerror(). */
	(void)dlerror();
	mode = new_mode();
	complete_new();
	set_new_modes(mode);
}
