/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entries of sampled calls; the macro is in src/arch.
 */
#include "arch/entry.h"

/* Those that most programs need, in the two pages of a sample's code (base/hot.h). */
#define HS_ENTRY_SECTION .text.hot

HS_ENTRY(hs_entry_malloc, hs_slow_malloc)
HS_ENTRY(hs_entry_calloc, hs_slow_calloc)
HS_ENTRY(hs_entry_realloc, hs_slow_realloc)
HS_ENTRY(hs_entry__Znwm, hs_slow__Znwm)
HS_ENTRY(hs_entry__Znam, hs_slow__Znam)

#undef HS_ENTRY_SECTION
#define HS_ENTRY_SECTION .text

HS_ENTRY(hs_entry_posix_memalign, hs_slow_posix_memalign)
HS_ENTRY(hs_entry_aligned_alloc, hs_slow_aligned_alloc)
HS_ENTRY(hs_entry_memalign, hs_slow_memalign)
HS_ENTRY(hs_entry_valloc, hs_slow_valloc)
HS_ENTRY(hs_entry_pvalloc, hs_slow_pvalloc)
HS_ENTRY(hs_entry_mallocx, hs_slow_mallocx)
HS_ENTRY(hs_entry_rallocx, hs_slow_rallocx)
HS_ENTRY_4(hs_entry_xallocx, hs_slow_xallocx)

HS_ENTRY(hs_entry__ZnwmRKSt9nothrow_t, hs_slow__ZnwmRKSt9nothrow_t)
HS_ENTRY(hs_entry__ZnamRKSt9nothrow_t, hs_slow__ZnamRKSt9nothrow_t)
HS_ENTRY(hs_entry__ZnwmSt11align_val_t, hs_slow__ZnwmSt11align_val_t)
HS_ENTRY(hs_entry__ZnamSt11align_val_t, hs_slow__ZnamSt11align_val_t)
HS_ENTRY(hs_entry__ZnwmSt11align_val_tRKSt9nothrow_t, hs_slow__ZnwmSt11align_val_tRKSt9nothrow_t)
HS_ENTRY(hs_entry__ZnamSt11align_val_tRKSt9nothrow_t, hs_slow__ZnamSt11align_val_tRKSt9nothrow_t)

	.section .note.GNU-stack, "", @progbits
