/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves its environment, as programs do that write their title where it was: goes on reading the
 * vector that it was started with after clearenv(), which frees one that setenv() has made.  Before
 * that it finds the auxiliary vector behind its environment, as the kernel has put it there.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>

extern char **environ;

static int move(char **old)
{
	int count = 0;

	clearenv();
	for (; old[count] != NULL; count++) {
		char *equals = strchr(old[count], '=');

		if (equals == NULL)
			continue;
		*equals = '\0';
		if (setenv(old[count], equals + 1, 1) != 0)
			return 0;
		*equals = '=';
	}
	return count;
}

static int count_auxiliary(char **environment)
{
	const ElfW(auxv_t) *entry;
	int count = 0;

	while (*environment != NULL)
		environment++;
	for (entry = (const void *)(environment + 1); entry->a_type != AT_NULL; entry++)
		count += entry->a_un.a_val == getauxval(entry->a_type);
	return count;
}

int main(void)
{
	int auxiliary = count_auxiliary(environ);
	char **old = environ, *path = getenv("PATH");
	int count = move(old), lost = 0, status;

	for (char **entry = environ; *entry != NULL; entry++)
		count--;
	for (char **entry = old; *entry != NULL; entry++) {
		size_t length = strcspn(*entry, "=");
		char name[1000] = "";
		const char *value;

		memcpy(name, *entry, length < sizeof name ? length : 0);
		value = getenv(name);
		lost += value == NULL || strcmp(value, *entry + length + 1) != 0;
	}
	/* The shell is a child of a profiled program. */
	status = system("exit 3");
	printf("%d too few, %d lost, shell: %d\n", count, lost, WEXITSTATUS(status));
	printf("auxiliary vector: %d\n", auxiliary);
	printf("PATH moved: %d\n", getenv("PATH") != path);
	return environ == old;
}
