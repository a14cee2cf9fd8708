/* SPDX-License-Identifier: BSD-2-Clause */
/* test_live_set_stress.c with a journal, and all samples in the live set's index. */
#define JOURNAL 512

#include "test_live_set_stress.c"
