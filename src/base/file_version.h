/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells whether a file still has the contents that it had: how many bytes, written when.
 * Threads: any.
 */
#ifndef HS_BASE_FILE_VERSION_H
#define HS_BASE_FILE_VERSION_H

#include <stdint.h>
#include <sys/stat.h>

/* A number for these contents; never 0. */
uint64_t hs_file_version(const struct stat *file);

#endif
