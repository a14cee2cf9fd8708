/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clocks.  See sys.h for the contract.
 *
 * Not clock_gettime(): the program, or a library preloaded into it, may have one of its own that
 * takes a lock, and libc may think that there is one thread (see session/libc_threads.c).
 */
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch/syscall.h"
#include "base/sys.h"

/* A clock that cannot be read advances by this with each call: every wait ends. */
#define UNREAD_NS 1000000

/* Returns 0 or -errno. */
typedef int hs_clock_fn(clockid_t clock, struct timespec *now);

static int read_by_call(clockid_t clock, struct timespec *now)
{
	return (int)hs_syscall(SYS_clock_gettime, clock, (long)now, 0, 0, 0, 0);
}

/* Becomes the vDSO's, if there is one.  Relaxed: the kernel has put its code there before. */
static _Atomic(hs_clock_fn *) read_clock = read_by_call;

/* The tables of dynamic symbols and their names. */
struct dynamic {
	uintptr_t symbols, names;
	size_t names_bytes;
};

static struct dynamic read_dynamic(const Elf64_Dyn *entry, uintptr_t bias)
{
	struct dynamic dynamic = {0};

	for (; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			dynamic.symbols = bias + entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRTAB)
			dynamic.names = bias + entry->d_un.d_ptr;
		else if (entry->d_tag == DT_STRSZ)
			dynamic.names_bytes = entry->d_un.d_val;
	}
	return dynamic;
}

/*
 * The address of a defined symbol, 0 if there is none.  The table's length is not said; in the
 * kernel's linker script for the vDSO the names come next.
 */
static uintptr_t find_symbol(const struct dynamic *dynamic, uintptr_t bias, const char *name)
{
	size_t bytes = strlen(name) + 1;
	const Elf64_Sym *symbol = (const Elf64_Sym *)dynamic->symbols;

	if (symbol == NULL)
		return 0;
	for (; (uintptr_t)(symbol + 1) <= dynamic->names; symbol++) {
		if (symbol->st_shndx != SHN_UNDEF && symbol->st_name < dynamic->names_bytes &&
		    bytes <= dynamic->names_bytes - symbol->st_name &&
		    memcmp((const char *)dynamic->names + symbol->st_name, name, bytes) == 0)
			return bias + symbol->st_value;
	}
	return 0;
}

void hs_sys_clock_start(void)
{
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR), bias = 0, found;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
	const Elf64_Phdr *segment, *end, *table = NULL;
	struct dynamic dynamic;

	if (header == NULL)
		return;
	segment = (const Elf64_Phdr *)(vdso + header->e_phoff);
	for (end = segment + header->e_phnum; segment < end; segment++) {
		if (segment->p_type == PT_LOAD)
			bias = vdso + segment->p_offset - segment->p_vaddr;
		else if (segment->p_type == PT_DYNAMIC)
			table = segment;
	}
	if (table == NULL)
		return;
	dynamic = read_dynamic((const Elf64_Dyn *)(vdso + table->p_offset), bias);
	found = find_symbol(&dynamic, bias, HS_ARCH_VDSO_CLOCK);
	if (found != 0)
		atomic_store_explicit(&read_clock, (hs_clock_fn *)found, memory_order_relaxed);
}

uint64_t hs_sys_clock_ns(clockid_t clock)
{
	hs_clock_fn *read = atomic_load_explicit(&read_clock, memory_order_relaxed);
	struct timespec now = {0, 0};

	if (read(clock, &now) != 0)
		return 0;
	return (uint64_t)hs_sys_time_ns(now);
}

uint64_t hs_sys_monotonic_ns(void)
{
	static _Atomic uint64_t last_ns, behind_ns;
	/* Acquire: the clock is read later than for this. */
	uint64_t before_ns = atomic_load_explicit(&last_ns, memory_order_acquire);
	uint64_t behind = atomic_load_explicit(&behind_ns, memory_order_relaxed);
	uint64_t now_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);

	if (now_ns == 0)
		return atomic_fetch_add_explicit(&last_ns, UNREAD_NS, memory_order_relaxed) +
		       UNREAD_NS;
	now_ns += behind;
	if (now_ns < before_ns) {
		/* It went on without being read, or this process is in another time namespace. */
		if (before_ns - now_ns >= UNREAD_NS)
			atomic_compare_exchange_strong_explicit(
				&behind_ns, &behind, behind + before_ns - now_ns,
				memory_order_relaxed, memory_order_relaxed);
		return before_ns;
	}
	/* Release: with what was added to it. */
	atomic_store_explicit(&last_ns, now_ns, memory_order_release);
	return now_ns;
}

uint64_t hs_sys_realtime_ns(void)
{
	return hs_sys_clock_ns(CLOCK_REALTIME);
}
