/* SPDX-License-Identifier: BSD-2-Clause */
/* The relocations of .eh_frame sections in ET_REL objects. */
#ifndef HS_ARCH_RELOCATION_H
#define HS_ARCH_RELOCATION_H

#if defined(__x86_64__)
#include "arch/x86_64/relocation.h"
#else
#error "no relocations for this machine"
#endif

#endif
