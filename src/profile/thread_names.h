/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of threads, for the label "thread": as /proc has them when a sample is taken;
 * of a thread that is gone the last that was read.
 * Threads: the producer.  Memory: the arena.
 */
#ifndef HS_PROFILE_THREAD_NAMES_H
#define HS_PROFILE_THREAD_NAMES_H

#include "base/interner.h"

struct hs_thread_names {
	struct hs_interner names; /* number 0: not known */
	struct hs_interner tids;  /* tid -> the name last read */
};

/* Returns 0 or -ENOMEM. */
int hs_thread_names_init(struct hs_thread_names *names);
void hs_thread_names_fini(struct hs_thread_names *names);

/* The number of the name of thread tid; 0: not known, or out of memory. */
uint32_t hs_thread_names_read(struct hs_thread_names *names, uint32_t tid);

/* The text of a number: never "", NULL for 0.  Stays for ever. */
const char *hs_thread_names_text(const struct hs_thread_names *names, uint32_t number);

#endif
