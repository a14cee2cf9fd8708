/* SPDX-License-Identifier: BSD-2-Clause */
#include "sample/sequence.h"

struct hs_sequence hs_sequence = {.next = 1};
