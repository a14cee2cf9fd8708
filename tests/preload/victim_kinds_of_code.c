/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function that allocates, between two that are never called, in every kind of code.
 *
 * usage: victim_kinds_of_code KIND [ARGUMENT...]
 *
 *	self			in the program
 *	deleted			in the program, whose file is removed first
 *	execute			in the program, which executes itself again from a memfd
 *	open LIBRARY		in a library
 *	close LIBRARY		in a library that is closed afterwards
 *	turns LIBRARY LIBRARY	in one library, then in another in its place
 *	memfd LIBRARY		in a library that is loaded from a memfd
 *	jit			in generated code, named by /tmp/perf-PID.map
 *	mapped LIBRARY OFFSET	in a library of which only the function's code is mapped
 *	copied TEXT OFFSET	in code copied to COPY_ADDRESS
 *
 * The macro LEAF is the function's name, OFFSET its offset in the file.  LIBRARY is this file built
 * with -DLIBRARY, TEXT a file with the contents of its .text section.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMES 64
#define SIZE 100000

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

typedef void *allocate_fn(size_t size);

/* Position-independent and needs only .text, because it is copied too. */
#define FUNCTION(name)                                                                             \
	__attribute__((noinline, visibility("default"))) void name(allocate_fn *allocate,          \
								   size_t size);                   \
	void name(allocate_fn *allocate, size_t size)                                              \
	{                                                                                          \
		allocate(size);                                                                    \
		__asm__ volatile("");                                                              \
	}

FUNCTION(PASTE(before_, LEAF))
FUNCTION(LEAF)
FUNCTION(PASTE(after_, LEAF))

#ifdef LIBRARY

__attribute__((visibility("default"))) void library_call(allocate_fn *allocate);
void library_call(allocate_fn *allocate)
{
	for (int i = 0; i < TIMES; i++)
		LEAF(allocate, SIZE);
}

#else

/* Free on every machine.  test_kinds_of_code.sh uses it too. */
#define COPY_ADDRESS ((unsigned char *)0x510000000000)
#define COPY_BYTES 65536

static void check(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(3);
	}
}

static void *open_and_call(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*call)(allocate_fn *);

	check(handle != NULL, path);
	*(void **)&call = dlsym(handle, "library_call");
	call(malloc);
	return handle;
}

static int copy_to_memfd(const char *path)
{
	static char contents[1 << 20];
	int fd = memfd_create("copy", MFD_CLOEXEC);
	FILE *file = fopen(path, "r");
	size_t bytes;

	check(fd >= 0 && file != NULL, path);
	bytes = fread(contents, 1, sizeof contents, file);
	check(bytes < sizeof contents && write(fd, contents, bytes) == (ssize_t)bytes, path);
	fclose(file);
	return fd;
}

static void call_memfd(const char *path)
{
	int fd = copy_to_memfd(path);
	char name[64];

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	open_and_call(name);
	close(fd);
}

static unsigned char *map_code(unsigned char *address)
{
	unsigned char *code = mmap(address, COPY_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS |
					   (address != NULL ? MAP_FIXED_NOREPLACE : 0),
				   -1, 0);

	check(code != MAP_FAILED, "mmap");
	return code;
}

static void call_code(const unsigned char *code)
{
	void (*call)(allocate_fn *, size_t);

	*(const void **)&call = code;
	for (int i = 0; i < TIMES; i++)
		call(malloc, SIZE);
}

#ifdef __x86_64__
static void call_generated(void)
{
	/* push %rbp; mov %rsp, %rbp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; pop %rbp; ret */
	static const unsigned char instructions[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
						      0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 };
	unsigned char *code = map_code(NULL);
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	file = fopen(path, "w");
	check(file != NULL, path);
	fprintf(file, "%lx 40 before_jit_leaf\n%lx 40 jit_leaf\n%lx 40 after_jit_leaf\n",
		(unsigned long)code, (unsigned long)code + 64, (unsigned long)code + 128);
	fclose(file);
	memcpy(code + 64, instructions, sizeof instructions);
	call_code(code + 64);
}
#endif

static void call_mapped(const char *path, size_t offset)
{
	int fd = open(path, O_RDONLY);
	size_t in_page = offset % 4096;
	unsigned char *code = mmap(NULL, 4096 * 2, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				   (off_t)(offset - in_page));

	check(code != MAP_FAILED && close(fd) == 0, path);
	call_code(code + in_page);
}

static void call_copied(const char *path, size_t offset)
{
	unsigned char *code = map_code(COPY_ADDRESS);
	FILE *file = fopen(path, "r");

	check(file != NULL && fread(code, 1, COPY_BYTES, file) > offset, path);
	fclose(file);
	call_code(code + offset);
}

static void call_self(void)
{
	for (int i = 0; i < TIMES; i++)
		LEAF(malloc, SIZE);
}

static void execute(char *name)
{
	char *arguments[] = { name, "self", NULL };

	fexecve(copy_to_memfd(name), arguments, environ);
	check(0, "fexecve");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "self") == 0) {
		call_self();
	} else if (strcmp(what, "deleted") == 0) {
		check(unlink(argv[0]) == 0, argv[0]);
		call_self();
	} else if (strcmp(what, "execute") == 0) {
		execute(argv[0]);
	} else if (strcmp(what, "open") == 0) {
		open_and_call(argv[2]);
	} else if (strcmp(what, "close") == 0) {
		check(dlclose(open_and_call(argv[2])) == 0, argv[2]);
	} else if (strcmp(what, "turns") == 0) {
		check(dlclose(open_and_call(argv[2])) == 0, argv[2]);
		open_and_call(argv[3]);
	} else if (strcmp(what, "memfd") == 0) {
		call_memfd(argv[2]);
#ifdef __x86_64__
	} else if (strcmp(what, "jit") == 0) {
		call_generated();
#endif
	} else if (strcmp(what, "mapped") == 0) {
		call_mapped(argv[2], strtoul(argv[3], NULL, 0));
	} else if (strcmp(what, "copied") == 0) {
		call_copied(argv[2], strtoul(argv[3], NULL, 0));
	} else {
		return 2;
	}
	return 0;
}

#endif
