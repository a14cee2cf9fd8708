/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/stats.h"

struct hs_stats hs_stats;
