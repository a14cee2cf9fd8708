/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbol visibility.  Everything is compiled with -fvisibility=hidden.
 *
 * HS_EXPORT: a function that programs call.  `used`: with link-time optimization nothing else keeps
 * those that are called by no file of this library.
 * HS_HIDDEN: after the `extern` of a variable.  -fvisibility=hidden covers definitions only;
 * without this, other files would read the variable through the global offset table.
 */
#ifndef HS_BASE_VISIBILITY_H
#define HS_BASE_VISIBILITY_H

#define HS_EXPORT __attribute__((visibility("default"), used))
#define HS_HIDDEN __attribute__((visibility("hidden")))

#endif
