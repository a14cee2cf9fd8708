/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangling.  See demangle.h for the contract.
 *
 * libiberty's variants with a callback allocate nothing (the others build the text in
 * malloc()ed memory however long it becomes).  A name of some hundred bytes can stand for
 * a text of 2^100, so the callback leaves by longjmp() when it has enough.
 */
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/digits.h"
#include "symbolize/cut_name.h"

static const char plt_mark[] = "@plt";

struct output {
	char *text;
	size_t used;
	jmp_buf full;
};

static void append(const char *part, size_t bytes, void *context)
{
	struct output *output = context;
	size_t room = HS_DEMANGLED_BYTES - output->used;

	if (bytes > room)
		bytes = room;
	/* An empty part may be NULL. */
	if (bytes == 0)
		return;
	memcpy(output->text + output->used, part, bytes);
	output->used += bytes;
	if (output->used == HS_DEMANGLED_BYTES)
		longjmp(output->full, 1);
}

/* Rust's v0 names, which begin with _R, only if libiberty can: see configure.ac. */
static bool is_mangled(const char *name)
{
#ifdef HS_DEMANGLES_RUST_V0
	if (name[0] == '_' && name[1] == 'R')
		return true;
#endif
	return name[0] == '_' && name[1] == 'Z';
}

/* The mark that a name ends with, or its NUL. */
static const char *mark_of(const char *name)
{
	size_t length = strlen(name), bytes = sizeof plt_mark - 1;

	if (length > bytes && strcmp(name + length - bytes, plt_mark) == 0)
		return name + length - bytes;
	return name + length;
}

/* Puts the mark behind a text of so many bytes, and returns its length then. */
static size_t append_mark(char *text, size_t length, const char *mark)
{
	size_t bytes = strlen(mark);

	memcpy(text + length, mark, bytes + 1);
	return length + bytes;
}

size_t hs_demangle(const char *linkage_name, char text[HS_DEMANGLED_BYTES])
{
	struct output output = {.text = text};
	const char *mark = mark_of(linkage_name);

	if (!is_mangled(linkage_name))
		return 0;
	if (setjmp(output.full) == 0) {
		/* What is Rust's is a C++ name too, of less sense; what fails may have begun. */
		if (!rust_demangle_callback(linkage_name, 0, append, &output)) {
			output.used = 0;
			if (!cplus_demangle_v3_callback(linkage_name, 0, append, &output))
				return 0;
		}
	}
	if (output.used > HS_DEMANGLED_BYTES - sizeof plt_mark)
		output.used = hs_cut_name(text, HS_DEMANGLED_BYTES - sizeof plt_mark - HS_CUT_BYTES,
					  linkage_name, (size_t)(mark - linkage_name));
	return output.used > 0 ? append_mark(text, output.used, mark) : 0;
}

/* A part of a nested name.  Whether there was room for it. */
static bool add_part(char text[HS_DEMANGLED_BYTES], size_t *used, const char *part, size_t bytes)
{
	size_t room = HS_DEMANGLED_BYTES - 1 - *used;
	size_t between = *used > 0 ? strlen("::") : 0;

	if (room < between || room - between < bytes)
		return false;
	memcpy(text + *used, "::", between);
	*used += between;
	memcpy(text + *used, part, bytes);
	*used += bytes;
	return true;
}

size_t hs_demangle_scope(const char *linkage_name, char text[HS_DEMANGLED_BYTES])
{
	const char *next = linkage_name + 2, *part;
	uint64_t bytes;
	size_t used = 0;

	if (strncmp(linkage_name, "_Z", 2) != 0)
		return 0;
	if (*next == 'N')
		next += 1 + strspn(next + 1, "rVKRO");
	if (strncmp(next, "St", 2) == 0 && add_part(text, &used, "std", 3))
		next += 2;
	while ((part = hs_parse_digits(next, NULL, 10, &bytes)) != NULL && bytes > 0 &&
	       strnlen(part, bytes) == bytes && add_part(text, &used, part, bytes))
		next = part + bytes;
	text[used] = '\0';
	return used;
}

const char *hs_cut_linkage_name(const char *linkage_name, char text[HS_DEMANGLED_BYTES])
{
	const char *mark = mark_of(linkage_name);
	size_t end = HS_DEMANGLED_BYTES - 1 - strlen(mark) - HS_CUT_BYTES;

	if (strlen(linkage_name) < HS_DEMANGLED_BYTES)
		return linkage_name;
	memcpy(text, linkage_name, HS_DEMANGLED_BYTES);
	end = hs_cut_name(text, end, linkage_name, (size_t)(mark - linkage_name));
	append_mark(text, end, mark);
	return text;
}
