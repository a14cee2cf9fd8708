/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main program of a fuzz target that is not linked with libFuzzer: runs the target once over
 * each file of its corpus ($srcdir/tests/fuzz/corpus/X for the program fuzz_X), or over the files
 * given.  A crash, an input that takes longer than INPUT_SECONDS or a corpus without files is a
 * failure.
 *
 * usage: fuzz_X [FILE...]
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far more than any input takes: only a hang reaches it. */
#define INPUT_SECONDS 60

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The input is in a block of exactly its size, so that a sanitizer sees each read past it. */
static int run_file(const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *data = NULL;
	long bytes;

	printf("%s\n", path);
	fflush(stdout);
	if (file == NULL || fseek(file, 0, SEEK_END) < 0 || (bytes = ftell(file)) < 0) {
		perror(path);
		return 1;
	}
	rewind(file);
	data = malloc((size_t)bytes);
	if (fread(data, 1, (size_t)bytes, file) != (size_t)bytes) {
		perror(path);
		return 1;
	}
	fclose(file);
	alarm(INPUT_SECONDS);
	LLVMFuzzerTestOneInput(data, (size_t)bytes);
	alarm(0);
	free(data);
	return 0;
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int run_corpus(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *name = slash != NULL ? slash + 1 : program;
	const char *source = getenv("srcdir");
	char directory[4096], path[sizeof directory + sizeof((struct dirent *)0)->d_name + 1];
	struct dirent **entries;
	int count, failures = 0;

	if (strncmp(name, "fuzz_", 5) == 0)
		name += 5;
	snprintf(directory, sizeof directory, "%s/tests/fuzz/corpus/%s",
		 source != NULL ? source : ".", name);
	count = scandir(directory, &entries, is_input, alphasort);
	if (count <= 0) {
		fprintf(stderr, "%s: no inputs there\n", directory);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
		failures |= run_file(path);
		free(entries[i]);
	}
	free(entries);
	return failures;
}

int main(int argc, char **argv)
{
	int failures = 0;

	if (argc < 2)
		return run_corpus(argv[0]);
	for (int i = 1; i < argc; i++)
		failures |= run_file(argv[i]);
	return failures;
}
