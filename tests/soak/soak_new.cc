/* SPDX-License-Identifier: BSD-2-Clause */
/* The call sites of operator new. */
#include <new>

#include "soak.h"

#define SITE __attribute__((noinline))
#define USE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

static const std::align_val_t alignment{64};

#define NEW_SITE(name, call)                                                                       \
	extern "C" SITE void *site_##name(size_t size);                                            \
	extern "C" SITE void *site_##name(size_t size)                                             \
	{                                                                                          \
		void *address = call;                                                              \
		USE(address);                                                                      \
		return address;                                                                    \
	}

NEW_SITE(new, ::operator new(size))
NEW_SITE(new_array, ::operator new[](size))
NEW_SITE(new_nothrow, ::operator new(size, std::nothrow))
NEW_SITE(new_aligned, ::operator new(size, alignment))

void *soak_new(enum soak_site site, size_t size)
{
	switch (site) {
	case SOAK_new:
		return site_new(size);
	case SOAK_new_array:
		return site_new_array(size);
	case SOAK_new_nothrow:
		return site_new_nothrow(size);
	default:
		return site_new_aligned(size);
	}
}

void soak_delete(enum soak_site site, void *address)
{
	switch (site) {
	case SOAK_new_array:
		::operator delete[](address);
		break;
	case SOAK_new_aligned:
		::operator delete(address, alignment);
		break;
	default:
		::operator delete(address);
		break;
	}
}
