/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding the next definitions.  See next.h.
 */
#include "preload/next.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdlib.h>

#include "arch/syscall.h"
#include "base/hot.h"
#include "sample/thread_state.h"

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

/* As LOOK_UP, but what is there stays, if nothing is found. */
#define LOOK_UP_MORE(table, name)                                                                  \
	do {                                                                                       \
		void *found = hs_next_symbol(#name);                                               \
		if (found != NULL)                                                                 \
			*(void **)(void *)&(table).name = found;                                   \
	} while (0)

void hs_next_resolve(void)
{
	if (hs_next.resolved || resolving)
		return;
	resolving = true;
	find_libc_dlsym();
	LOOK_UP(hs_allocator, malloc);
	LOOK_UP(hs_allocator, calloc);
	LOOK_UP(hs_allocator, realloc);
	LOOK_UP_MORE(hs_allocator, free);
	hs_next.resolved = hs_allocator.malloc != NULL;
	resolving = false;
}

/* What is looked for, and what has been found. */
struct search {
	const void *address;
	struct hs_next_object found;
};

/* Segments are in the order of their addresses. */
static int look_into(struct dl_phdr_info *info, size_t bytes, void *of_search)
{
	struct hs_next_object object = {.file = info->dlpi_name};
	struct search *search = of_search;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (object.bytes == 0)
			object.base = start;
		object.bytes = start + segment->p_memsz - object.base;
	}
	if (!hs_next_object_has(&object, (uintptr_t)search->address))
		return 0;
	search->found = object;
	return 1;
}

int hs_next_iterate_objects(int (*call)(struct dl_phdr_info *, size_t, void *), void *argument)
{
	/* Looked up once, in the constructor: a later dlsym() would end the program's dlerror(). */
	static int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

	if (iterate == NULL)
		*(void **)(void *)&iterate = hs_next_symbol("dl_iterate_phdr");
	return iterate != NULL ? iterate(call, argument) : 0;
}

struct hs_next_object hs_next_object_of(const void *address)
{
	struct search search = {.address = address, .found.file = ""};

	hs_next_iterate_objects(look_into, &search);
	return search.found;
}

bool hs_next_same_object(const void *one, const void *other)
{
	struct hs_next_object object;

	if (one == NULL || other == NULL)
		return false;
	object = hs_next_object_of(one);
	return hs_next_object_has(&object, (uintptr_t)other);
}

bool hs_next_is_defined_at(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info object;

	return dladdr1(address, &object, (void **)(void *)&symbol, RTLD_DL_SYMENT) == 0 ||
	       symbol == NULL || symbol->st_shndx != SHN_UNDEF;
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
	return hs_next_same_object(function, (const void *)gnu_get_libc_version) ||
	       hs_next_same_object(function, *(void **)(void *)&hs_next.pthread_create);
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
	hs_thread.bytes_until_sample = HS_NEXT_COUNTDOWN;
	first_free(first_malloc(1));
	hs_next.is_bypassed = hs_thread.bytes_until_sample == HS_NEXT_COUNTDOWN;
	hs_thread.bytes_until_sample = countdown;
}

void hs_next_resolve_all(void)
{
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
	/* The second time, other threads may be calling a form that was made of another one. */
#define LOOK_UP_NEW(name, arguments, names) LOOK_UP_MORE(hs_next, name);
	HS_NEXT_LIBC(LOOK_UP_C)
	prime_frees();
	find_foreign_realloc();
	hs_next.has_own_c11 = !is_libcs(*(void **)(void *)&hs_next.thrd_create);
	HS_NEXT_RIGHTS(LOOK_UP_NAMED)
	HS_NEXT_PLAIN_NEW(LOOK_UP_NEW)
	HS_NEXT_PLAIN_DELETE(LOOK_UP_NAMED)
	HS_NEXT_ALIGNED_NEW(LOOK_UP_NEW)
	HS_NEXT_ALIGNED_DELETE(LOOK_UP_NAMED)
	HS_NEXT_OPTIONAL(LOOK_UP_C)
	find_foreign_cfree();
#undef LOOK_UP_NEW
#undef LOOK_UP_NAMED
#undef LOOK_UP_C
	/* The program must not see our failures in its dlerror(). */
	(void)dlerror();
	hs_next_find_new_modes();
}
