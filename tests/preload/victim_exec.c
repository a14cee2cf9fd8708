/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * victim_exec CHAIN: executes itself in place by each function of CHAIN in turn, a letter
 * each; in each image site_image makes 10 blocks of 1,000 bytes.  Before that, executions
 * that fail, of a file that is no program and of files that are not there, and one each in a
 * forked and a vfork child, which allocate nothing.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "victim_truth.h"

extern char **environ;

static SITE void site_image(void)
{
	for (int i = 0; i < 10; i++) {
		void *block = malloc(1000);
		USE(block);
	}
}

/* Not linked: glibc has it from 2.34 on, the library always. */
static void execute_at(char *self, char **argv)
{
	int (*function)(int, const char *, char *const[], char *const[], int);

	*(void **)(void *)&function = dlsym(RTLD_DEFAULT, "execveat");
	if (function != NULL)
		function(AT_FDCWD, self, argv, environ, 0);
}

static void execute(char *self, char *chain)
{
	char *argv[] = {self, chain + 1, NULL};

	switch (*chain) {
	case 'e':
		execve(self, argv, environ);
		break;
	case 'v':
		execv(self, argv);
		break;
	case 'p':
		execvp(self, argv);
		break;
	case 'P':
		execvpe(self, argv, environ);
		break;
	case 'l':
		execl(self, self, chain + 1, NULL);
		break;
	case 'L':
		execlp(self, self, chain + 1, NULL);
		break;
	case 'E':
		execle(self, self, chain + 1, NULL, environ);
		break;
	case 'f':
		fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ);
		break;
	case 'a':
		execute_at(self, argv);
		break;
	default:
		return;
	}
	check(0, chain);
}

static void execute_in_child(pid_t child)
{
	int result = 0;

	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	check(child > 0 && waitpid(child, &result, 0) == child && result == 0, "child");
}

int main(int argc, char **argv)
{
	char *nothing[] = {argv[0], NULL};

	if (argc != 2)
		return 2;
	for (int i = 0; i < 3; i++) {
		free(malloc(100));
		check(execv("/nonexistent/program", nothing) == -1, "execution");
		check(execve("/dev/null/program", nothing, environ) == -1, "execution");
		check(execvp("/nonexistent/program", nothing) == -1, "execution");
		check(execvpe("/nonexistent/program", nothing, environ) == -1, "execution");
		check(execlp("/nonexistent/program", "program", NULL) == -1, "execution");
	}
	check(execv("/dev/null", nothing) == -1, "execution");
	check(execv("/dev/null", nothing) == -1, "execution");
	execute_in_child(fork());
	execute_in_child(vfork());
	site_image();
	execute(argv[0], argv[1]);
	return 5;
}
