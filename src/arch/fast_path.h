/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the architecture's instructions for the paths that every call takes. */
#ifndef HS_ARCH_FAST_PATH_H
#define HS_ARCH_FAST_PATH_H

#if defined(__x86_64__) && !defined(__ILP32__)
#include "arch/x86_64/fast_path.h"
#else
#error "libheapsample: src/arch/ has no port for this architecture (x86-64 is supported)"
#endif

#endif
