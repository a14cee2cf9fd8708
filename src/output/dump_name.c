/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of profiles.  See dump_name.h. */
#include "output/dump_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/format.h"
#include "base/options.h"
#include "base/path.h"
#include "base/sys.h"

static const char temporary_suffix[] = ".tmp";

/* A text that is being made.  full: something did not fit. */
struct text {
	char *bytes;
	size_t capacity;
	size_t length;
	bool full;
};

static void put(struct text *text, const char *bytes, size_t count)
{
	if (text->full || count >= text->capacity - text->length) {
		text->full = true;
		return;
	}
	memcpy(text->bytes + text->length, bytes, count);
	text->length += count;
	text->bytes[text->length] = '\0';
}

static void put_number(struct text *text, uint64_t number, bool four_digits)
{
	char digits[24];
	size_t length = hs_format(digits, sizeof digits, four_digits ? "%04lu" : "%lu",
				  (unsigned long)number);

	put(text, digits, length);
}

/* A text from outside the pattern, which must not leave the directory, or upset a terminal. */
static void put_name(struct text *text, const char *name)
{
	for (; *name != '\0'; name++) {
		unsigned char byte = (unsigned char)*name;
		bool harmless = byte >= 0x20 && byte != 0x7f && byte != '/';

		put(text, harmless ? name : "_", 1);
	}
}

static void put_host(struct text *text)
{
	struct utsname system;

	if (hs_syscall(SYS_uname, (long)&system, 0, 0, 0, 0, 0) == 0)
		put_name(text, system.nodename);
	else
		put_name(text, "unknown");
}

static void put_pid(struct text *text, pid_t pid)
{
	put_number(text, (uint64_t)pid, false);
}

static void put_reason(struct text *text, const struct hs_dump_name *name)
{
	put_name(text, name->reason);
	if (name->copy > 0) {
		put(text, ".", 1);
		put_number(text, (uint64_t)name->copy + 1, false);
	}
}

/* letter: one that hs_pattern_is_valid() allows. */
static void put_letter(struct text *text, char letter, const struct hs_dump_name *name)
{
	switch (letter) {
	case 'p':
		put_pid(text, name->pid);
		break;
	case 'e':
		put_name(text, name->program);
		break;
	case 'h':
		put_host(text);
		break;
	case 't':
		put_number(text, name->time_s, false);
		break;
	case 'n':
		if (name->number == 0)
			put_reason(text, name);
		else
			put_number(text, name->number, true);
		break;
	case 'r':
		put_reason(text, name);
		break;
	default:
		put(text, "%", 1);
		break;
	}
}

/* pattern: one that hs_pattern_is_valid() allows. */
static bool has_letter(const char *pattern, char letter)
{
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '%' && *++pattern == letter)
			return true;
	}
	return false;
}

/* What is missing in the pattern to tell files apart: see struct hs_dump_name. */
static void put_additions(struct text *text, const char *pattern, const struct hs_dump_name *name)
{
	if (name->inherited && !has_letter(pattern, 'p')) {
		put(text, ".", 1);
		put_pid(text, name->pid);
	}
	if (name->number == 0 && !has_letter(pattern, 'n') && !has_letter(pattern, 'r')) {
		put(text, ".", 1);
		put_reason(text, name);
	}
}

int hs_dump_name_expand(const char *pattern, const struct hs_dump_name *name, char *path,
			size_t capacity)
{
	struct text text = {.bytes = path, .capacity = capacity};
	const char *last = hs_path_last(pattern), *additions_at = last + strcspn(last, ".");

	if (!hs_pattern_is_valid(pattern))
		return -EINVAL;
	for (const char *next = pattern;; next++) {
		if (next == additions_at)
			put_additions(&text, pattern, name);
		if (*next == '\0')
			break;
		if (*next != '%')
			put(&text, next, 1);
		else
			put_letter(&text, *++next, name);
	}
	return text.full ? -ENAMETOOLONG : 0;
}

bool hs_dump_name_is_new(const char *pattern, const struct hs_dump_name *name)
{
	return name->number == 0 || has_letter(pattern, 'n');
}

bool hs_dump_name_advance(const char *pattern, struct hs_dump_name *name)
{
	if (!hs_dump_name_is_new(pattern, name))
		return false;
	if (name->number == 0)
		name->copy++;
	else
		name->number++;
	return true;
}

int hs_dump_name_expand_free(const char *pattern, struct hs_dump_name *name, char *path,
			     size_t capacity)
{
	struct stat file;
	int error;

	do
		error = hs_dump_name_expand(pattern, name, path, capacity);
	while (error == 0 && hs_sys_lstat(AT_FDCWD, path, &file) == 0 &&
	       hs_dump_name_advance(pattern, name));
	return error;
}

/* With a '/' at its end; nothing if it has no name. */
static void put_working_directory(struct text *text)
{
	text->length = hs_sys_working_directory(text->bytes, text->capacity);
	if (text->length > 0 && text->bytes[text->length - 1] != '/')
		put(text, "/", 1);
}

/* The end of a name that is as long as file systems allow, for which the temporary one has room. */
static const char *fitting_end(const char *name)
{
	size_t length = strlen(name), most = NAME_MAX - sizeof temporary_suffix;

	if (length > most)
		name += length - most;
	/* Whole characters: some file systems want UTF-8. */
	while (length > most && ((unsigned char)*name & 0xc0) == 0x80)
		name++;
	return name;
}

int hs_dump_name_complete(const char *path, char *absolute, char *temporary_path)
{
	struct text full = {.bytes = absolute, .capacity = HS_PATH_BYTES};
	struct text temporary = {.bytes = temporary_path, .capacity = HS_PATH_BYTES};
	const char *last;

	if (path[0] != '/')
		put_working_directory(&full);
	put(&full, path, strlen(path));
	if (full.full)
		return -ENAMETOOLONG;
	last = hs_path_last(absolute);
	if (*last == '\0')
		return -EISDIR;
	if (strlen(last) > NAME_MAX)
		return -ENAMETOOLONG;
	put(&temporary, absolute, (size_t)(last - absolute));
	put(&temporary, ".", 1);
	last = fitting_end(last);
	put(&temporary, last, strlen(last));
	put(&temporary, temporary_suffix, sizeof temporary_suffix - 1);
	return temporary.full ? -ENAMETOOLONG : 0;
}
