/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the slots of procedure linkage tables (.plt, .plt.sec, .plt.got), which no
 * symbol has: that of the function which a slot jumps to, with "@plt".  Each slot's jump is
 * decoded for its place in the GOT, and the relocation of that place names the function.
 *
 * Threads: profiler threads.  Memory: the arena.
 */
#ifndef HS_SYMBOLIZE_PLT_H
#define HS_SYMBOLIZE_PLT_H

#include "symbolize/symbol_list.h"

/*
 * Adds the slots of an object to a list of its dynamic symbols (table).  Damaged ones are left out.
 * Returns 0 or -ENOMEM; the list is usable in either case.
 */
int hs_plt_read(struct hs_symbol_list *list, const struct hs_symbol_table *table);

#endif
