/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of signals, for HEAPSAMPLE_SIGNAL.  Runs during start-up, single-threaded.
 */
#include "base/options_table.h"

#include <signal.h>

#include "base/digits.h"
#include "base/format.h"
#include "base/options.h"

#define SIGNAL_LAST 64

static const struct hs_option_word names[] = {
	{ "HUP", SIGHUP },     { "INT", SIGINT },       { "QUIT", SIGQUIT },   { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 },   { "PIPE", SIGPIPE },     { "ALRM", SIGALRM },   { "TERM", SIGTERM },
	{ "CONT", SIGCONT },   { "STKFLT", SIGSTKFLT }, { "TSTP", SIGTSTP },   { "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU },   { "URG", SIGURG },       { "XCPU", SIGXCPU },   { "XFSZ", SIGXFSZ },
	{ "VTALRM", SIGVTALRM }, { "PROF", SIGPROF },   { "WINCH", SIGWINCH }, { "IO", SIGIO },
	{ "POLL", SIGIO },     { "PWR", SIGPWR },       { "SYS", SIGSYS },     { NULL, 0 },
};

/*
 * Those that cannot be caught, that tell of a fault of the program, or that a
 * program waiting for its children depends on; and glibc's own two, 32 and 33.
 */
static bool is_usable(uint64_t number)
{
	switch (number) {
	case 0:
	case SIGKILL:
	case SIGSTOP:
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGCHLD:
		return false;
	default:
		return number < 32 || (number >= (uint64_t)SIGRTMIN && number <= SIGNAL_LAST);
	}
}

/* Returns what follows prefix in text, NULL if text does not start with it. */
static const char *skip_prefix(const char *text, const char *prefix)
{
	for (; *prefix != '\0'; text++, prefix++) {
		if (hs_option_upper(*text) != *prefix)
			return NULL;
	}
	return text;
}

/* "RTMIN", "RTMIN+n", "RTMAX", "RTMAX-n".  0 if it is none of these. */
static uint64_t parse_real_time(const char *text)
{
	const char *from_min = skip_prefix(text, "RTMIN"), *from_max = skip_prefix(text, "RTMAX");
	const char *rest = from_min != NULL ? from_min : from_max;
	uint64_t distance = 0;

	if (rest == NULL)
		return 0;
	if (*rest != '\0') {
		if (*rest != (from_min != NULL ? '+' : '-'))
			return 0;
		rest = hs_parse_digits(rest + 1, NULL, 10, &distance);
		if (rest == NULL || *rest != '\0' || distance > (uint64_t)(SIGRTMAX - SIGRTMIN))
			return 0;
	}
	return from_min != NULL ? (uint64_t)SIGRTMIN + distance : (uint64_t)SIGRTMAX - distance;
}

static uint64_t parse_name(const char *text)
{
	const char *bare = skip_prefix(text, "SIG");

	if (bare == NULL)
		bare = text;
	for (const struct hs_option_word *name = names; name->name != NULL; name++) {
		const char *rest = skip_prefix(bare, name->name);

		if (rest != NULL && *rest == '\0')
			return name->value;
	}
	return parse_real_time(bare);
}

bool hs_option_parse_signal(const struct hs_option *option, void *field, const char *text)
{
	uint64_t number = 0;
	const char *end;

	if (*text == '\0') {
		hs_option_store(option, field, 0);
		return true;
	}
	end = hs_parse_digits(text, NULL, 10, &number);
	if (end == NULL || *end != '\0')
		number = parse_name(text);
	if (!is_usable(number))
		return false;
	hs_option_store(option, field, number);
	return true;
}

size_t hs_signal_name(int number, char *buffer, size_t capacity)
{
	for (const struct hs_option_word *name = names; name->name != NULL; name++) {
		if (name->value == (uint64_t)number)
			return hs_format(buffer, capacity, "%s", name->name);
	}
	if (number == SIGRTMIN)
		return hs_format(buffer, capacity, "RTMIN");
	return hs_format(buffer, capacity, "RTMIN+%d", number - SIGRTMIN);
}

size_t hs_option_print_signal(const struct hs_option *option, const void *field, char *buffer,
			      size_t capacity)
{
	uint64_t number = hs_option_load(option, field);

	if (number == 0)
		return hs_format(buffer, capacity, "%s", "");
	return hs_signal_name((int)number, buffer, capacity);
}
