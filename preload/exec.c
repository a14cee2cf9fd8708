/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process executes another program: its profile is written before.
 *
 * posix_spawn() and system() do not come here: inside libc they do not call our execve().
 */
#include <alloca.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/next.h"
#include "session/session.h"

/*
 * All of them say so to the session, then go on with the next definition, which returns only if it
 * fails.  path: of the program, or NULL where it has to be looked for.
 */
#define BEGIN(name, path)                                                                          \
	do {                                                                                       \
		HS_NEXT_ENSURE(name);                                                              \
		hs_session_exec_begins(path);                                                      \
	} while (0)

static int failed(int result)
{
	hs_session_exec_failed();
	return result;
}

HS_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	BEGIN(execve, path);
	return failed(hs_next.execve(path, argv, envp));
}

HS_EXPORT int execv(const char *path, char *const argv[])
{
	BEGIN(execv, path);
	return failed(hs_next.execv(path, argv));
}

/* A name with a slash is not searched for. */
static const char *path_of(const char *file)
{
	return strchr(file, '/') != NULL ? file : NULL;
}

HS_EXPORT int execvp(const char *file, char *const argv[])
{
	BEGIN(execvp, path_of(file));
	return failed(hs_next.execvp(file, argv));
}

HS_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	BEGIN(execvpe, path_of(file));
	return failed(hs_next.execvpe(file, argv, envp));
}

HS_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	BEGIN(fexecve, NULL);
	return failed(hs_next.fexecve(fd, argv, envp));
}

/* glibc has it from 2.34 on; before, neither is it declared nor is there a next one. */
HS_EXPORT int execveat(int directory, const char *path, char *const argv[], char *const envp[],
		       int flags);

int execveat(int directory, const char *path, char *const argv[], char *const envp[], int flags)
{
	BEGIN(execve, NULL);
	if (hs_next.execveat == NULL)
		return failed((int)syscall(SYS_execveat, directory, path, argv, envp, flags));
	return failed(hs_next.execveat(directory, path, argv, envp, flags));
}

static size_t count_arguments(va_list from)
{
	va_list arguments;
	size_t count = 1;

	va_copy(arguments, from);
	while (va_arg(arguments, char *) != NULL)
		count++;
	va_end(arguments);
	return count;
}

static void fill_arguments(char **argv, const char *first, va_list *arguments)
{
	*argv = (char *)(uintptr_t)first;
	while (*argv != NULL)
		*++argv = va_arg(*arguments, char *);
}

/* Into the array argv, on the stack as libc does it: these may be called in a vfork child. */
#define COLLECT(argv, first, arguments)                                                            \
	do {                                                                                       \
		va_start(arguments, first);                                                        \
		argv = alloca((count_arguments(arguments) + 1) * sizeof *argv);                    \
		fill_arguments(argv, first, &arguments);                                           \
	} while (0)

HS_EXPORT int execl(const char *path, const char *first, ...)
{
	va_list arguments;
	char **argv;

	COLLECT(argv, first, arguments);
	va_end(arguments);
	return execv(path, argv);
}

HS_EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list arguments;
	char **argv;

	COLLECT(argv, first, arguments);
	va_end(arguments);
	return execvp(file, argv);
}

/* The environment comes after the arguments. */
HS_EXPORT int execle(const char *path, const char *first, ...)
{
	va_list arguments;
	char **argv, **envp;

	COLLECT(argv, first, arguments);
	envp = va_arg(arguments, char **);
	va_end(arguments);
	return execve(path, argv, envp);
}
