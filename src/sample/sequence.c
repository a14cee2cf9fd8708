/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers of events.  See sequence.h. */
#include "sample/sequence.h"

#include "base/hot.h"

HS_EACH_SAMPLE struct hs_sequence hs_sequence = {.next = 1};
