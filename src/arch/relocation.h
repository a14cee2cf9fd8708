/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the architecture's relocations of .eh_frame sections in ET_REL objects. */
#ifndef HS_ARCH_RELOCATION_H
#define HS_ARCH_RELOCATION_H

#if defined(__x86_64__) && !defined(__ILP32__)
#include "arch/x86_64/relocation.h"
#else
#error "libheapsample: src/arch/ has no port for this architecture (x86-64 is supported)"
#endif

#endif
