/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of labels: numbers, limits, a full table, threads, handlers anywhere. */
#include "sample/labels.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/stats.h"
#include "check.h"
#include "single_step.h"

#define MIB ((size_t)1 << 20)

static _Atomic uint32_t labels;

static int set(const char *key, const char *value)
{
	return hs_labels_set(&labels, key, value);
}

/* A set as "key=value key=value", until the next call. */
static const char *text_of(uint32_t number)
{
	static char out[2 * HS_LABELS_BYTES];
	const char *text = hs_labels_text(number);
	size_t used = 0;

	out[0] = '\0';
	while (text != NULL && *text != '\0') {
		const char *value = text + strlen(text) + 1;

		used += (size_t)snprintf(out + used, sizeof out - used, "%s%s=%s",
					 used > 0 ? " " : "", text, value);
		text = value + strlen(value) + 1;
	}
	return out;
}

static const char *now(void)
{
	return text_of(labels);
}

/* A case in a child, with a table of its own: they are small. */
static void in_child(void (*run)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		check_failures = 0;
		run();
		_exit(CHECK_RESULT());
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

/* No memory is used before the first label; without memory nothing breaks. */
static void memory_is_taken_with_the_first_label(void)
{
	uint64_t refused = hs_stats_get(labels_refused);
	size_t used;

	CHECK_INT(set("a", "1"), -ENOSPC);
	used = hs_arena_used();
	hs_labels_init();
	CHECK_INT(set(NULL, NULL), 0);
	CHECK_INT(set("a", NULL), 0);
	CHECK_INT(set("", "1"), -EINVAL);
	CHECK_INT(hs_arena_used(), used);
	/* Not that of a set: a damaged record has it. */
	CHECK(hs_labels_has_number(0) && !hs_labels_has_number(1));
	hs_arena_set_budget(used + MIB - 1);
	CHECK_INT(set("a", "1"), -ENOSPC);
	CHECK_INT(labels, 0);
	CHECK_INT(hs_arena_used(), used);
	CHECK_INT(hs_stats_get(labels_refused), refused + 2);
	hs_arena_set_budget(64 * MIB);
	CHECK_INT(set("a", "1"), 0);
	CHECK_INT(set("a", "2"), 0);
	CHECK(hs_labels_has_number(2) && hs_labels_has_number(HS_LABEL_SETS) &&
	      !hs_labels_has_number(HS_LABEL_SETS + 1));
	CHECK_INT(hs_arena_used(), used + MIB);
	CHECK_INT(hs_stats_get(labels_refused), refused + 2);
	CHECK_INT(set(NULL, NULL), 0);
}

static void equal_sets_have_one_number(void)
{
	uint32_t ab, number;

	CHECK(hs_labels_text(0) == NULL);
	CHECK_INT(set("b", "2"), 0);
	CHECK_INT(set("a", "1"), 0);
	ab = labels;
	CHECK_STR(now(), "a=1 b=2");
	CHECK_INT(set("a", "1"), 0);
	CHECK_INT(labels, ab);
	CHECK_INT(set(NULL, "ignored"), 0);
	CHECK_INT(labels, 0);
	CHECK_STR(now(), "");

	CHECK_INT(set("a", "1"), 0);
	CHECK_INT(set("b", "3"), 0);
	CHECK_INT(set("ab", "4"), 0);
	CHECK_STR(now(), "a=1 ab=4 b=3");
	number = labels;
	CHECK_INT(set("b", "2"), 0);
	CHECK_INT(set("c", NULL), 0); /* it has none */
	CHECK_INT(set("ab", NULL), 0);
	CHECK_INT(labels, ab);
	CHECK_INT(set("b", ""), 0);
	CHECK_STR(now(), "a=1");
	CHECK_INT(set("a", NULL), 0);
	CHECK_INT(labels, 0);
	CHECK_STR(text_of(number), "a=1 ab=4 b=3");

	/* The same letters, split in another way. */
	CHECK_INT(set("a", "bc"), 0);
	number = labels;
	CHECK_INT(set("ab", "c"), 0);
	CHECK_INT(set("a", NULL), 0);
	CHECK(labels != number);
	CHECK_INT(set(NULL, NULL), 0);
}

static void what_is_no_label_is_refused(void)
{
	static const char *const wrong[][2] = {
		{"", "1"},     {"bytes", "1"},       {"thread", NULL}, {"tid", "1"},
		{"heap", ""},  {"pprof::base", "1"}, {"caf\xe9", "1"}, {"k", "caf\xe9"},
		{"k", "\xc3"}, {"\xc0\x80", NULL},
	};
	static const char *const right[] = {"byte", "heaps", "pprof:", "caf\xc3\xa9", " ", "=,\n"};
	uint32_t before;

	CHECK_INT(set("kept", "1"), 0);
	before = labels;
	errno = 4242;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_INT(set(wrong[i][0], wrong[i][1]), -EINVAL);
	CHECK_INT(errno, 4242);
	CHECK_INT(labels, before);
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		CHECK_INT(set(right[i], right[i]), 0);
		CHECK_INT(set(right[i], NULL), 0);
	}
	CHECK_INT(labels, before);
	CHECK_INT(set(NULL, NULL), 0);
}

static const char *repeated(char *text, char letter, size_t count)
{
	memset(text, letter, count);
	text[count] = '\0';
	return text;
}

static void lengths_are_limited(void)
{
	char key[100], value[300], name[] = "0";

	CHECK_INT(set(repeated(key, 'k', 64), "1"), -ENAMETOOLONG);
	CHECK_INT(set(repeated(key, 'k', 64), NULL), -ENAMETOOLONG);
	CHECK_INT(set(repeated(key, 'k', 63), repeated(value, 'v', 256)), -ENAMETOOLONG);
	CHECK_INT(labels, 0);
	CHECK_INT(set(repeated(key, 'k', 63), repeated(value, 'v', 255)), 0);
	CHECK_INT(strlen(now()), 63 + 1 + 255);
	CHECK_INT(set(repeated(key, 'k', 63), NULL), 0);
	CHECK_INT(labels, 0);

	for (; name[0] < '8'; name[0]++)
		CHECK_INT(set(name, "x"), 0);
	CHECK_INT(set(name, "x"), -E2BIG);
	CHECK_STR(now(), "0=x 1=x 2=x 3=x 4=x 5=x 6=x 7=x");
	CHECK_INT(set("3", "other"), 0);
	CHECK_INT(set(NULL, NULL), 0);

	/* Each is 258 bytes, with its NULs; the fourth may have 226. */
	for (name[0] = '0'; name[0] < '3'; name[0]++)
		CHECK_INT(set(name, repeated(value, 'v', 255)), 0);
	CHECK_INT(set(name, repeated(value, 'v', 1000 - 3 * 258 - 3 + 1)), -E2BIG);
	CHECK_INT(set(name, repeated(value, 'v', 1000 - 3 * 258 - 3)), 0);
	CHECK_INT(set("4", "x"), -E2BIG);
	CHECK_INT(set("0", "x"), 0);
	CHECK_INT(set("4", "x"), 0);
	CHECK_INT(set(NULL, NULL), 0);
}

/* A known set is found even if the table is full. */
static void full_table(void)
{
	uint64_t refused = hs_stats_get(labels_refused);
	char value[300];
	int sets = 0, error = 0;
	uint32_t last;

	while (error == 0 && sets <= HS_LABEL_SETS) {
		snprintf(value, sizeof value, "%d", sets);
		last = labels;
		error = set("n", value);
		sets += error == 0;
	}
	CHECK_INT(error, -ENOSPC);
	/* The cases before have not used much. */
	CHECK(sets > HS_LABEL_SETS - 100);
	CHECK_INT(labels, last);
	CHECK_INT(hs_stats_get(labels_refused), refused + 1);
	for (int i = 0; i < sets; i++) {
		char wanted[20];

		snprintf(value, sizeof value, "%d", i);
		snprintf(wanted, sizeof wanted, "n=%d", i);
		CHECK_INT(set("n", value), 0);
		CHECK_STR(now(), wanted);
	}
	CHECK_INT(set("m", "1"), -ENOSPC);
	CHECK_INT(set(NULL, NULL), 0);
	CHECK_INT(set("m", "1"), -ENOSPC);
	CHECK_INT(hs_stats_get(labels_refused), refused + 3);
}

/* Long texts fill the table before the number of sets does; short ones still fit then. */
static void full_of_text(void)
{
	char value[300];
	int sets = 0, error;

	for (char name[] = "0"; name[0] < '3'; name[0]++)
		CHECK_INT(set(name, repeated(value, 'v', 255)), 0);
	do {
		repeated(value, 'v', 200);
		value[snprintf(value, 10, "%d", sets)] = 'v';
		error = set("3", value);
		sets += error == 0;
	} while (error == 0 && sets < HS_LABEL_SETS);
	CHECK_INT(error, -ENOSPC);
	CHECK(sets > 900 && sets < 1100);
	CHECK_INT(set(NULL, NULL), 0);
	CHECK_INT(set("m", "1"), 0);
	CHECK_STR(now(), "m=1");
}

enum { THREADS = 6, ROUNDS = 20, SHARED = 150 };

static pthread_barrier_t barrier;
static uint32_t numbers[THREADS][SHARED];

/* All threads make the same sets at once, each in its own order, and also sets of their own. */
static void *hammer(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument;
	_Atomic uint32_t mine = 0;
	bool equal = true;
	char value[20], own[20];

	pthread_barrier_wait(&barrier);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < SHARED; i++) {
			/* In the first round all in the same order. */
			unsigned n = round == 0 ? i : (i * 7 + thread * 31) % SHARED;

			snprintf(value, sizeof value, "%u", n);
			snprintf(own, sizeof own, "%u.%u", thread, n);
			equal = equal && hs_labels_set(&mine, "own", own) == 0 &&
				hs_labels_set(&mine, n % 2 ? "x" : "y", value) == 0 &&
				hs_labels_set(&mine, "own", NULL) == 0 &&
				hs_labels_set(&mine, n % 2 ? "y" : "x", "both") == 0;
			equal = equal && (round == 0 || numbers[thread][n] == mine);
			numbers[thread][n] = mine;
			equal = equal && hs_labels_set(&mine, NULL, NULL) == 0;
		}
	}
	CHECK(equal);
	return NULL;
}

static void threads_add_the_same_sets(void)
{
	pthread_t threads[THREADS];
	char wanted[40];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned n = 0; n < SHARED; n++) {
		snprintf(wanted, sizeof wanted, n % 2 ? "x=%u y=both" : "x=both y=%u", n);
		CHECK_STR(text_of(numbers[0][n]), wanted);
		for (int i = 1; i < THREADS; i++)
			CHECK_INT(numbers[i][n], numbers[0][n]);
	}
}

#if MAY_STEP
static char value_now[21]; /* any long */
static int result_now;

/* The work: the program changes the value that is being set. */
static void lengthen(void)
{
	value_now[strlen(value_now)] = 'x';
}

static void set_value(void)
{
	result_now = set("k", value_now);
}

static _Atomic uint32_t of_handler;

/* The work: adds the set that is being added, and another one for the thread. */
static void add_sets(void)
{
	CHECK_INT(hs_labels_set(&of_handler, "k", value_now), 0);
	CHECK_INT(set("h", "1"), 0);
}

/* Interrupts at every stride-th step, each time with another value. */
static void interrupt_everywhere(long stride, void (*work)(void), void (*check)(const char *wanted))
{
	bool is_running = true;
	char wanted[30];
	long step;

	for (step = 1; is_running && step < 1500; step += stride) {
		CHECK_INT(set(NULL, NULL), 0);
		snprintf(value_now, sizeof value_now, "%ld", step);
		snprintf(wanted, sizeof wanted, "k=%ld", step);
		result_now = 0;
		is_running = call_interrupted(set_value, step, work);
		CHECK(result_now == 0 || (result_now == -EINVAL && work == lengthen));
		if (is_running)
			check(wanted);
	}
	CHECK(!is_running);
	CHECK(step > 50);
}

/* The work: adds the set that is being added. */
static void add_same_set(void)
{
	CHECK_INT(hs_labels_set(&of_handler, "k", value_now), 0);
}

static void check_same(const char *wanted)
{
	CHECK_STR(now(), wanted);
	CHECK_INT(labels, of_handler);
}

/* Either of the two may have been first. */
static void check_both(const char *wanted)
{
	CHECK(strncmp(now(), "h=1 ", 4) == 0);
	CHECK_STR(now() + 4, wanted);
	CHECK_STR(text_of(of_handler), wanted);
	CHECK_INT(set("h", NULL), 0);
	CHECK_INT(labels, of_handler);
}

static void check_after_leaving(const char *wanted)
{
	CHECK(labels == 0 || strcmp(now(), wanted) == 0);
	CHECK_INT(set("k", value_now), 0);
	CHECK_STR(now(), wanted);
}

/* It is the value of before or after, or refused: not one that goes on with another set's text. */
static void check_lengthened(const char *wanted)
{
	uint32_t number = labels;
	char longer[31];

	snprintf(longer, sizeof longer, "%sx", wanted);
	CHECK_INT(set("next", "1"), 0);
	CHECK(number == 0 || strcmp(text_of(number), wanted) == 0 ||
	      strcmp(text_of(number), longer) == 0);
}

static void handler_adds_sets(void)
{
	interrupt_everywhere(1, add_sets, check_both);
}

static void handler_adds_same_set(void)
{
	interrupt_everywhere(1, add_same_set, check_same);
}

static void handler_jumps_out(void)
{
	interrupt_everywhere(3, leave, check_after_leaving);
}

static void handler_lengthens(void)
{
	interrupt_everywhere(1, lengthen, check_lengthened);
}

static void handlers_may_come_anywhere(void)
{
	in_child(handler_adds_sets);
	in_child(handler_adds_same_set);
	in_child(handler_jumps_out);
	in_child(handler_lengthens);
}
#else
static void handlers_may_come_anywhere(void)
{
	printf("   not here: single steps\n");
}
#endif

static void tables_become_full(void)
{
	in_child(full_table);
	in_child(full_of_text);
}

int main(void)
{
	CHECK_INT(hs_arena_init(64 * MIB), 0);
	RUN(memory_is_taken_with_the_first_label);
	RUN(equal_sets_have_one_number);
	RUN(what_is_no_label_is_refused);
	RUN(lengths_are_limited);
	RUN(tables_become_full);
	RUN(handlers_may_come_anywhere);
	RUN(threads_add_the_same_sets);
	return CHECK_RESULT();
}
