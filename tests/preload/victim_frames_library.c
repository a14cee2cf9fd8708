/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that allocates while it is opened. */
#include <stdlib.h>

/* Not through the PLT, whose entries are not all set when the resolver runs. */
static void *(*const volatile allocate)(size_t) = malloc;

void *library_kept[2];
void site_library_constructor(void);
void site_ifunc(void);
void chosen(void);
void call_chosen(void);

void __attribute__((noinline)) site_library_constructor(void)
{
	library_kept[0] = allocate(100);
}

void __attribute__((noinline, visibility("hidden"))) site_ifunc(void)
{
	library_kept[1] = allocate(100);
}

__attribute__((constructor)) static void construct_library(void)
{
	site_library_constructor();
}

static void choice(void)
{
}

static void (*resolve_chosen(void))(void)
{
	site_ifunc();
	return choice;
}

void chosen(void) __attribute__((ifunc("resolve_chosen")));

void call_chosen(void)
{
	chosen();
}
