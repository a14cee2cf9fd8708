/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a name.  See jit_name.h. */
#include "symbolize/jit_name.h"

#include <stdbool.h>
#include <string.h>

#define ANONYMOUS "(anonymous)"
#define FILE_SCHEME "file://"

/* Without them, what is left of text; NULL if it begins otherwise. */
static const char *after_prefix(const char *text, const char *prefix)
{
	size_t bytes = strlen(prefix);

	return strncmp(text, prefix, bytes) == 0 ? text + bytes : NULL;
}

static const char *after_category(const char *text)
{
	static const char *const categories[] = {
		"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};

	for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
		const char *rest = after_prefix(text, categories[i]);
		if (rest != NULL)
			return rest;
	}
	return NULL;
}

/*
 * Where FILE begins.  Names of methods may have blanks in them, and so may paths; but few
 * names have one before a slash.
 */
static const char *find_file(const char *text)
{
	static const char *const beginnings[] = {"/", FILE_SCHEME, "node:"};

	for (const char *blank = strchr(text, ' '); blank != NULL; blank = strchr(blank + 1, ' ')) {
		for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
			if (after_prefix(blank + 1, beginnings[i]) != NULL)
				return blank + 1;
		}
	}
	text = strrchr(text, ' ');
	return text != NULL ? text + 1 : NULL;
}

/* Cuts ":NUMBER" off the end of [start, *end).  Numbers of more than 9 digits are none. */
static bool cut_number(const char *start, const char **end, uint32_t *number)
{
	const char *digits = *end;

	while (digits > start && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (digits == *end || *end - digits > 9 || digits == start || digits[-1] != ':')
		return false;
	*number = 0;
	for (const char *next = digits; next < *end; next++)
		*number = *number * 10 + (uint32_t)(*next - '0');
	*end = digits - 1;
	return true;
}

/* Behind the mark of the compiler tier, if there is one: ~ ^ [o]+['] [o]*['] */
static const char *after_mark(const char *text)
{
	if (*text == '~' || *text == '^')
		return text + 1;
	if (*text == 'o' && (text[1] == '+' || text[1] == '*'))
		text++;
	if (*text != '+' && *text != '*')
		return text;
	text++;
	return *text == '\'' ? text + 1 : text;
}

/* text: behind the category. */
static void split_v8(const char *text, struct hs_jit_name_parts *parts)
{
	const char *file, *end;
	uint32_t last, line;

	text = after_mark(text);
	file = find_file(text);
	if (file == NULL)
		return;
	end = file + strlen(file);
	if (!cut_number(file, &end, &last))
		return;
	if (!cut_number(file, &end, &line))
		line = last; /* without a column */
	parts->name = text;
	parts->name_bytes = (size_t)(file - 1 - text);
	if (parts->name_bytes == 0) {
		parts->name = ANONYMOUS;
		parts->name_bytes = sizeof ANONYMOUS - 1;
	}
	if (after_prefix(file, FILE_SCHEME) != NULL)
		file += sizeof FILE_SCHEME - 1;
	parts->file = file;
	parts->file_bytes = end > file ? (size_t)(end - file) : 0;
	parts->start_line = line;
}

/* text: behind "py::". */
static void split_python(const char *text, struct hs_jit_name_parts *parts)
{
	const char *colon = strchr(text, ':');

	if (colon == NULL || colon == text || colon[1] == '\0')
		return;
	parts->name = text;
	parts->name_bytes = (size_t)(colon - text);
	parts->file = colon + 1;
	parts->file_bytes = strlen(colon + 1);
}

void hs_jit_name_split(const char *text, struct hs_jit_name_parts *parts)
{
	const char *v8 = after_category(text), *python = after_prefix(text, "py::");

	/* What is of neither form stays whole. */
	*parts = (struct hs_jit_name_parts){.name = text, .name_bytes = strlen(text)};
	if (v8 != NULL)
		split_v8(v8, parts);
	else if (python != NULL)
		split_python(python, parts);
}
