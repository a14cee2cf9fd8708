/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the text of map hints. */
#include "maps/map_hint_text.h"

#include <string.h>

#include "base/digits.h"

static const char number_form[] = "a number, decimal or hexadecimal after 0x";

/* A part of a hint, or what is left of one. */
struct part {
	const char *start;
	const char *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The end of the hint at text: a separator, or a comment behind a blank. */
static const char *end_of_hint(const char *text)
{
	const char *end = text + strcspn(text, ";\n#");

	while (*end == '#' && !is_blank(end[-1]))
		end += 1 + strcspn(end + 1, ";\n#");
	return end;
}

void hs_map_hint_list_begin(struct hs_map_hint_list *list, const char *text)
{
	*list = (struct hs_map_hint_list){.next = text, .line = 1};
}

bool hs_map_hint_list_next(struct hs_map_hint_list *list, struct hs_map_hint_item *item)
{
	const char *next = list->next, *end;

	for (; is_blank(*next) || *next == ';' || *next == '\n' || *next == '#'; next++) {
		if (*next == '#')
			next += strcspn(next, "\n");
		if (*next == '\n')
			list->line++;
		else if (*next == '\0')
			break;
	}
	end = end_of_hint(next);
	list->next = end;
	if (end == next)
		return false;
	while (is_blank(end[-1]))
		end--;
	*item = (struct hs_map_hint_item){
		.text = next,
		.bytes = (size_t)(end - next),
		.number = ++list->number,
		.line = list->line,
	};
	return true;
}

static bool fail(struct hs_map_hint_problem *problem, const char *name, struct part part,
		 const char *expected)
{
	*problem = (struct hs_map_hint_problem){
		.part = name,
		.text = part.start,
		.text_bytes = (size_t)(part.end - part.start),
		.expected = expected,
	};
	return false;
}

/* All of a part, which ends before a comma, a separator, a blank or a NUL. */
static bool parse_number(struct part part, uint64_t *value)
{
	const char *digits = part.start;
	unsigned base = 10;

	if (part.end - digits > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
		digits += 2;
		base = 16;
	}
	return digits < part.end && hs_parse_digits(digits, part.end, base, value) == part.end;
}

/* Splits the part up to the next comma off rest. */
static struct part cut(struct part *rest)
{
	size_t left = (size_t)(rest->end - rest->start);
	const char *comma = left > 0 ? memchr(rest->start, ',', left) : NULL;
	struct part part = {rest->start, comma != NULL ? comma : rest->end};

	rest->start = comma != NULL ? comma + 1 : rest->end;
	return part;
}

/* The digits of the last "@DIGITS,"; empty if there is none. */
static struct part find_pid(struct part text)
{
	for (const char *at = text.end; at-- > text.start;) {
		const char *end = at + 1;

		if (*at != '@')
			continue;
		while (end < text.end && *end >= '0' && *end <= '9')
			end++;
		if (end > at + 1 && end < text.end && *end == ',')
			return (struct part){at + 1, end};
	}
	return (struct part){text.end, text.end};
}

bool hs_map_hint_check_range(uint64_t start, uint64_t length, uint64_t offset,
			     struct hs_map_hint_problem *problem)
{
	struct part none = {NULL, NULL};

	if (length == 0 || length > HS_MAP_HINT_MAX_LENGTH)
		return fail(problem, "length", none, "1 to 4294967296 bytes");
	if (start > UINT64_MAX - length)
		return fail(problem, "length", none, "a range that ends below 2^64");
	if (offset > INT64_MAX - length)
		return fail(problem, "offset", none, "an end in the file below 2^63");
	return true;
}

static bool parse_range(struct part rest, struct hs_map_hint *hint,
			struct hs_map_hint_problem *problem)
{
	struct part part = cut(&rest);
	bool has_offset;

	if (!parse_number(part, &hint->start))
		return fail(problem, "start", part, number_form);
	has_offset = memchr(rest.start, ',', (size_t)(rest.end - rest.start)) != NULL;
	part = cut(&rest);
	if (!parse_number(part, &hint->length))
		return fail(problem, "length", part, number_form);
	if (has_offset && !parse_number(rest, &hint->offset))
		return fail(problem, "offset", rest, number_form);
	if (hs_map_hint_check_range(hint->start, hint->length, hint->offset, problem))
		return true;
	return fail(problem, problem->part, problem->part[0] == 'o' ? rest : part,
		    problem->expected);
}

bool hs_map_hint_parse(const struct hs_map_hint_item *item, struct hs_map_hint *hint,
		       struct hs_map_hint_problem *problem)
{
	struct part text = {item->text, item->text + item->bytes}, rest = text;
	struct part pid = find_pid(text), path;

	*hint = (struct hs_map_hint){.path = text.start};
	if (pid.start < pid.end) {
		path = (struct part){text.start, pid.start - 1};
		rest.start = pid.end + 1;
		if (!parse_number(pid, &hint->pid) || hint->pid == 0 || hint->pid > INT32_MAX)
			return fail(problem, "pid", pid, "a process id");
	} else {
		path = cut(&rest);
	}
	hint->path_bytes = (size_t)(path.end - path.start);
	if (hint->path_bytes == 0)
		return fail(problem, "objfile", path, "the name of a file");
	return parse_range(rest, hint, problem);
}
