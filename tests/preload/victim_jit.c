/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A JIT compiler: puts functions that allocate into anonymous memory, names them in its perf map or
 * by GDB's JIT interface, moves one, and reuses its memory.
 *
 * usage: victim_jit PIPE | gone | starved
 *
 * Each step allocates ALLOCATIONS times a size of its own.  Then it prints "step" and reads a line
 * of PIPE, so that the profiler can process the samples before the memory changes; or it asks for a
 * profile.
 *
 * gone: it removes its file first.  starved: when the profiler first meets its code, no file can be
 * opened.
 */
#include <heapsample/heapsample.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../unit/elf_writer.h"

#if defined(__x86_64__)

enum { ALLOCATIONS = 10, PAGE = 4096, FUNCTION_BYTES = 18 };

typedef void *(*allocator)(size_t size);

static FILE *steps; /* NULL: profiles */

static void check(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(3);
	}
}

/* Writes to code a function with a frame pointer that passes its arguments on to next. */
static void compile(unsigned char *code, allocator next)
{
	unsigned char bytes[FUNCTION_BYTES] = {
		0x55,                          /* push %rbp */
		0x48, 0x89, 0xe5,              /* mov %rsp, %rbp */
		0x48, 0xb8, [14] = 0xff, 0xd0, /* mov $next, %rax; call *%rax */
		0x5d,                          /* pop %rbp */
		0xc3,                          /* ret */
	};
	uintptr_t address = (uintptr_t)next;

	memcpy(bytes + 6, &address, sizeof address);
	check(mprotect(code, PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
	memcpy(code, bytes, sizeof bytes);
	check(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0, "mprotect");
}

static void say(const unsigned char *code, const char *name)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "a");
	check(map != NULL, path);
	fprintf(map, "%lx %x %s\n", (unsigned long)(uintptr_t)code, FUNCTION_BYTES, name);
	fclose(map);
}

/* GDB's JIT interface. */
struct jit_code_entry {
	struct jit_code_entry *next;
	struct jit_code_entry *previous;
	const void *object;
	uint64_t object_bytes;
};

struct {
	uint32_t version;
	uint32_t action;
	struct jit_code_entry *relevant;
	struct jit_code_entry *first;
} __jit_debug_descriptor = {.version = 1};

/* Registers the function as the only entry of the list. */
static void tell_debuggers(const unsigned char *code, const char *name)
{
	static struct elf_image image;
	static struct jit_code_entry entry;
	struct elf_symbol symbol = {
		name, (uintptr_t)code, FUNCTION_BYTES, STB_GLOBAL, STT_FUNC, ELF_TEXT,
	};

	elf_write(&image, &(struct elf_spec){.symbols = &symbol, .count = 1});
	entry = (struct jit_code_entry){.object = image.data, .object_bytes = image.bytes};
	__jit_debug_descriptor.relevant = &entry;
	__jit_debug_descriptor.first = &entry;
	__jit_debug_descriptor.action = 1;
}

static void tell_debuggers_that_it_is_gone(void)
{
	__jit_debug_descriptor.first = NULL;
	__jit_debug_descriptor.action = 2;
}

static void run(const unsigned char *code, size_t size)
{
	allocator function = (allocator)(uintptr_t)code;

	for (int i = 0; i < ALLOCATIONS; i++)
		check(function(size) != NULL, "allocate");
}

static void end_step(void)
{
	char line[16];

	if (steps == NULL) {
		check(heapsample_dump(NULL, 0) == 0, "dump");
		return;
	}
	puts("step");
	fflush(stdout);
	check(fgets(line, sizeof line, steps) != NULL, "pipe");
}

/* Has the profiler meet generated code, and mapped objects, while it can open nothing. */
static void starve(const unsigned char *code)
{
	struct rlimit files, none;

	run((const unsigned char *)(uintptr_t)malloc, 3073); /* the maps are read */
	end_step();
	check(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	none = (struct rlimit){0, files.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	run(code, 3072);
	check(heapsample_dump(NULL, 0) != 0, "dump");
	setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	unsigned char *pages =
		mmap(NULL, 8 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *a = pages, *b = pages + 2 * PAGE, *c = pages + 4 * PAGE;
	unsigned char *caller = pages + 6 * PAGE, *d = pages + 7 * PAGE;

	check(argc == 2 && pages != MAP_FAILED, "usage");
	if (strcmp(argv[1], "gone") == 0) {
		check(unlink(argv[0]) == 0, argv[0]);
	} else if (strcmp(argv[1], "starved") != 0) {
		steps = fopen(argv[1], "r");
		check(steps != NULL, argv[1]);
	}

	compile(a, malloc);
	if (strcmp(argv[1], "starved") == 0)
		starve(a);
	say(a, "JS:*first /srv/app.js:3:7");
	compile(caller, (allocator)(uintptr_t)a);
	say(caller, "JS:~caller of first /srv/app.js:1:1");
	run(caller, 1024);
	end_step();

	compile(b, malloc); /* moves the first function */
	say(b, "JS:*first /srv/app.js:3:7");
	run(b, 1280);
	end_step();

	compile(a, malloc); /* another function in its old place */
	say(a, "JS:^second /srv/app.js:20:7");
	run(caller, 1536);
	end_step();

	compile(c, malloc);
	run(c, 1792);
	end_step();
	say(c, "py::Late.named:/srv/late.py");

	compile(d, malloc);
	tell_debuggers(d, "debugged");
	run(d, 2048);
	end_step();

	tell_debuggers_that_it_is_gone();
	run(d, 2560);
	end_step();
	return 0;
}

#else

int main(void)
{
	return 77;
}

#endif
