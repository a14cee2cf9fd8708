/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of C++ (Itanium ABI) and Rust (legacy and v0) functions as their source has them,
 * by libiberty: with template arguments, without parameters and return type.
 *
 * A name is untrusted and may stand for a text of any length: work ends with the text that
 * fits.  libiberty refuses what nests too deeply, and names longer than some 1000 bytes.
 * Before 2022 it did not in v0 names: they are no mangled names here then.
 *
 * Stack: up to 1 MiB, for names that were made to that end.  Threads: profiler threads.
 * Memory: none, but for Rust identifiers that are not ASCII (a moment, the arena).
 */
#ifndef HS_SYMBOLIZE_DEMANGLE_H
#define HS_SYMBOLIZE_DEMANGLE_H

#include <stddef.h>

/* The longest text with its NUL.  A longer one is cut, with a hash of the whole linkage name. */
#define HS_DEMANGLED_BYTES 4096

/*
 * Writes the demangled name, with a NUL, and returns its length; 0 if it is not a mangled
 * name, or cannot be demangled.  The mark of a PLT entry, "@plt", is kept.
 */
size_t hs_demangle(const char *linkage_name, char text[HS_DEMANGLED_BYTES]);

/*
 * The same for what a C++ name begins with, up to its first template arguments, such as
 * "std::vector", even of names that libiberty refuses.
 */
size_t hs_demangle_scope(const char *linkage_name, char text[HS_DEMANGLED_BYTES]);

/* A linkage name as profiles have it: itself or, if it does not fit, cut, in text. */
const char *hs_cut_linkage_name(const char *linkage_name, char text[HS_DEMANGLED_BYTES]);

#endif
