/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HS_HIDDEN: for a variable that other files use.  -fvisibility=hidden is for what a file defines;
 * one that it only declares it looks for in the table of addresses, unless it is told.
 */
#ifndef HS_BASE_HIDDEN_H
#define HS_BASE_HIDDEN_H

#define HS_HIDDEN __attribute__((visibility("hidden")))

#endif
