/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libheapsample: a sampling heap profiler that is preloaded into a program.
 *
 * The profiler needs nothing of the program.  This header is for programs that
 * want to know whether it is there.  The functions are declared weak: include
 * the header, link nothing, and compare with NULL before the call.
 *
 *     if (heapsample_version)
 *         printf("profiled by libheapsample %s\n", heapsample_version());
 */
#ifndef HEAPSAMPLE_HEAPSAMPLE_H
#define HEAPSAMPLE_HEAPSAMPLE_H

/* The version, here and nowhere else: configure.ac and the library read it. */
#define HEAPSAMPLE_VERSION_MAJOR 0
#define HEAPSAMPLE_VERSION_MINOR 1
#define HEAPSAMPLE_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Return the version of the preloaded library as "MAJOR.MINOR.PATCH".
 *
 * The string is static.  Any thread may call it, in a signal handler too; it
 * does not allocate, block or touch errno.
 */
extern const char *heapsample_version(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
