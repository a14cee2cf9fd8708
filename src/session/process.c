/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which process this is, and whether it is to be profiled: HEAPSAMPLE_PROGRAMS,
 * HEAPSAMPLE_CHILDREN, privileged programs.
 *
 * A profiled process has HEAPSAMPLE_ROOT=PID in its environment.  A program that finds it with
 * another pid was started by a profiled process.  One that finds its own pid was exec'd by a
 * profiled program in place (env, nice, a shell's exec), and is the same process.
 *
 * Start-up, on the main thread.
 */
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/format.h"
#include "base/options.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/utf8.h"
#include "session/session_state.h"

#define ROOT_VARIABLE "HEAPSAMPLE_ROOT"

/* More than the auxiliary vector has, with zeros at its end. */
#define AUXILIARY_BYTES 2048

#define ROOT_PREFIX_BYTES (sizeof ROOT_VARIABLE "=" - 1)

/* Where ROOT_VARIABLE is, or else the end; NULL if there is no environment. */
static char **find_root(char **environment)
{
	char **entry = environment;

	while (entry != NULL && *entry != NULL &&
	       strncmp(*entry, ROOT_VARIABLE "=", ROOT_PREFIX_BYTES) != 0)
		entry++;
	return entry;
}

/* The value of ROOT_VARIABLE as a pid; 0 = not set, or not ours. */
static int64_t root_of(char **environment)
{
	char **entry = find_root(environment);
	const char *end;
	uint64_t pid;

	if (entry == NULL || *entry == NULL)
		return 0;
	end = hs_parse_digits(*entry + ROOT_PREFIX_BYTES, NULL, 10, &pid);
	return end != NULL && *end == '\0' && pid <= INT32_MAX ? (int64_t)pid : 0;
}

const char *hs_process_given(void)
{
	const char *given = (const char *)getauxval(AT_EXECFN);

	return given != NULL ? given : "unknown";
}

const char *hs_process_file(void)
{
	static char path[1024];
	ssize_t length = hs_sys_readlink("/proc/self/exe", path, sizeof path - 1);

	if (length <= 0)
		return hs_process_given();
	path[length] = '\0';
	return path;
}

static bool program_is_wanted(void)
{
	return hs_glob_list_matches(hs_options.programs, hs_process_given()) ||
	       hs_glob_list_matches(hs_options.programs, hs_process_file());
}

/* Removes the variables whose names, with what follows, begin like that. */
static void forget_in(char **environment, const char *prefix)
{
	char **kept = environment;

	if (environment == NULL)
		return;
	for (char **entry = environment; *entry != NULL; entry++) {
		char *text = *entry;

		*entry = NULL;
		if (strncmp(text, prefix, strlen(prefix)) != 0)
			*kept++ = text;
	}
}

static void forget(char **environment, const char *prefix)
{
	forget_in(environment, prefix);
	/* A copy, if a library that was there before us has called setenv(). */
	forget_in(__environ, prefix);
}

static void take_name(const char *name)
{
	size_t length = hs_utf8_fitting_bytes(name, sizeof hs_session.program - 1);

	hs_format(hs_session.program, length + 1, "%s", name);
}

bool hs_process_decide(char **environment)
{
	bool is_privileged = getauxval(AT_SECURE) != 0;
	int64_t root = root_of(environment);
	bool is_wanted = program_is_wanted();

	/*
	 * The user of a privileged program must not choose either, and must not hand settings on to
	 * what it executes, which may have all its rights and not count as privileged.
	 */
	if (is_privileged)
		forget(environment, "HEAPSAMPLE");
	/* The program that was profiled has given way to this one. */
	else if (root == hs_sys_getpid() && !is_wanted)
		forget(environment, ROOT_VARIABLE "=");
	take_name(hs_path_last(hs_process_given()));
	atomic_store_explicit(&hs_session.process_id, hs_sys_getpid(), memory_order_relaxed);
	hs_session.descendant = root != 0 && root != hs_sys_getpid();
	return !is_privileged && hs_options.mode != HS_MODE_OFF && is_wanted &&
	       (!hs_session.descendant || (hs_options.children & HS_CHILDREN_EXEC) != 0);
}

/*
 * Not by setenv(): clearenv() frees a vector that setenv() has made, and programs that write their
 * title over their environment (redis-server before 6.2) go on reading the one they began with.
 * Besides, some (bash) have a setenv() of their own.
 */
void hs_process_mark_root(void)
{
	static char mark[sizeof ROOT_VARIABLE + sizeof "=-2147483648"];
	char **old = __environ, **entry = find_root(old), **vector;
	size_t count = entry != NULL ? (size_t)(entry - old) : 0;

	hs_format(mark, sizeof mark, ROOT_VARIABLE "=%d", (int)hs_sys_getpid());
	if (entry != NULL && *entry != NULL) {
		*entry = mark;
		return;
	}
	vector = hs_sys_map((count + 2) * sizeof *vector + AUXILIARY_BYTES, PROT_READ | PROT_WRITE);
	if (vector == NULL)
		return;
	if (count != 0)
		memcpy(vector, old, count * sizeof *vector);
	vector[count] = mark;
	/* Programs look for it there, where the kernel puts it. */
	(void)hs_sys_read_file("/proc/self/auxv", (char *)(vector + count + 2), AUXILIARY_BYTES);
	__environ = vector;
}
