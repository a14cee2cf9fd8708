/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets the signal mask.  See signal_mask.h. */
#include "base/signal_mask.h"

#include <sys/syscall.h>

#include "arch/syscall.h"
#include "base/sys.h"

bool hs_signal_mask_block(uint64_t signals, uint64_t *before)
{
	return hs_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&signals, (long)before,
			  sizeof signals, 0, 0) == 0;
}

void hs_signal_mask_set(uint64_t mask)
{
	/* Not hs_syscall(): tests make calls fail that can. */
	hs_arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
}
