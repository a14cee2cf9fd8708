/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses /proc/self/maps.  Run by the unwinding worker. */
#include "maps/proc_maps.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/digits.h"

static const char deleted_suffix[] = " (deleted)";

/* What is left of one line. */
struct cursor {
	const char *next;
	const char *end;
};

static bool parse_number(struct cursor *text, unsigned base, uint64_t *out)
{
	const char *behind = hs_parse_digits(text->next, text->end, base, out);

	if (behind == NULL)
		return false;
	text->next = behind;
	return true;
}

static bool parse_char(struct cursor *text, char c)
{
	if (text->next >= text->end || *text->next != c)
		return false;
	text->next++;
	return true;
}

static bool parse_permissions(struct cursor *text, unsigned *out)
{
	static const char letters[] = "rwxs";
	unsigned permissions = 0;

	if (text->end - text->next < 4)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		char c = *text->next++;
		if (c == letters[i])
			permissions |= 1u << i;
		else if (c != '-' && !(i == 3 && c == 'p'))
			return false;
	}
	*out = permissions;
	return true;
}

static void parse_name(struct cursor *text, struct hs_proc_maps_line *line)
{
	size_t suffix = sizeof deleted_suffix - 1;

	while (text->next < text->end && *text->next == ' ')
		text->next++;
	line->name = text->next;
	line->name_bytes = (size_t)(text->end - text->next);
	line->deleted = line->inode != 0 && line->name_bytes > suffix &&
			memcmp(text->end - suffix, deleted_suffix, suffix) == 0;
	if (line->deleted)
		line->name_bytes -= suffix;
}

/* "START-END PERM OFFSET MAJOR:MINOR INODE   NAME" */
static bool parse_line(struct cursor text, struct hs_proc_maps_line *line)
{
	uint64_t major, minor;

	if (!parse_number(&text, 16, &line->start) || !parse_char(&text, '-') ||
	    !parse_number(&text, 16, &line->end) || !parse_char(&text, ' ') ||
	    !parse_permissions(&text, &line->permissions) || !parse_char(&text, ' ') ||
	    !parse_number(&text, 16, &line->offset) || !parse_char(&text, ' ') ||
	    !parse_number(&text, 16, &major) || !parse_char(&text, ':') ||
	    !parse_number(&text, 16, &minor) || !parse_char(&text, ' ') ||
	    !parse_number(&text, 10, &line->inode))
		return false;
	if (text.next < text.end && *text.next != ' ')
		return false;
	if (line->start >= line->end || line->offset > UINT64_MAX - (line->end - line->start) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	line->device = makedev((unsigned)major, (unsigned)minor);
	parse_name(&text, line);
	return true;
}

void hs_proc_maps_begin(struct hs_proc_maps *maps, const char *text, size_t bytes)
{
	const char *end = text;

	if (bytes > 0) {
		end = memchr(text, '\0', bytes);
		if (end == NULL)
			end = text + bytes;
	}
	*maps = (struct hs_proc_maps){.next = text, .end = end};
}

bool hs_proc_maps_next(struct hs_proc_maps *maps, struct hs_proc_maps_line *line)
{
	while (maps->next < maps->end) {
		size_t left = (size_t)(maps->end - maps->next);
		const char *newline = memchr(maps->next, '\n', left);
		struct cursor text = { maps->next, newline != NULL ? newline : maps->end };

		maps->next = newline != NULL ? newline + 1 : maps->end;
		if (parse_line(text, line))
			return true;
		maps->skipped++;
	}
	return false;
}

size_t hs_proc_maps_copy_name(const struct hs_proc_maps_line *line, char *buffer, size_t capacity)
{
	size_t used = 0;

	for (size_t i = 0; i < line->name_bytes && used + 1 < capacity; i++) {
		char c = line->name[i];
		if (line->name_bytes - i >= 4 && memcmp(line->name + i, "\\012", 4) == 0) {
			c = '\n';
			i += 3;
		}
		buffer[used++] = c;
	}
	buffer[used] = '\0';
	return used;
}
