/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the architecture's procedure linkage table. */
#ifndef HS_ARCH_PLT_H
#define HS_ARCH_PLT_H

#if defined(__x86_64__) && !defined(__ILP32__)
#include "arch/x86_64/plt.h"
#else
#error "libheapsample: src/arch/ has no port for this architecture (x86-64 is supported)"
#endif

#endif
