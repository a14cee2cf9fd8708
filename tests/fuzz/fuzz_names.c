/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions, threads and code, which come from outside: they are demangled, split into
 * parts, matched, and made UTF-8.  The input up to its first NUL is the name; the rest is a list
 * of globs and prefixes.
 */
#include "fuzz.h"

#include "base/options.h"
#include "base/utf8.h"
#include "profile/symbol_filter.h"
#include "symbolize/demangle.h"
#include "symbolize/jit_name.h"

static void demangle(const char *name)
{
	char *text = malloc(HS_DEMANGLED_BYTES);
	size_t length;

	memset(text, '#', HS_DEMANGLED_BYTES);
	length = hs_demangle(name, text);
	MUST(length < HS_DEMANGLED_BYTES);
	MUST(length == 0 || strlen(text) == length);
	free(text);
}

static void split(const char *name)
{
	const char *end = name + strlen(name);
	struct hs_jit_name_parts parts;

	hs_jit_name_split(name, &parts);
	MUST(parts.name_bytes == 0 || parts.name == NULL || parts.name + parts.name_bytes <= end ||
	     parts.name < name || parts.name > end); /* or a text of our own */
	MUST(parts.file_bytes == 0 || (parts.file >= name && parts.file + parts.file_bytes <= end));
}

static void count_characters(const char *name)
{
	while (*name != '\0') {
		size_t bytes = hs_utf8_character_bytes(name);

		MUST(bytes <= 4 && bytes <= strlen(name));
		name += bytes > 0 ? bytes : 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *name = malloc(bytes + 1), *list;

	hs_arena_init(FUZZ_BUDGET);
	memcpy(name, data, bytes);
	name[bytes] = '\0';
	list = strdup(strlen(name) < bytes ? name + strlen(name) + 1 : "");
	name = realloc(name, strlen(name) + 1);
	demangle(name);
	split(name);
	count_characters(name);
	hs_glob_list_matches(list, name);
	hs_symbol_filter_hides_name(list, name);
	hs_symbol_filter_hides_path(list, name);
	MUST(hs_arena_used() == 0);
	free(list);
	free(name);
	return 0;
}
