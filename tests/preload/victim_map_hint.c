/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies the code of objects into its memory, allocates from there, and gives map hints for it.
 *
 * usage: victim_map_hint COMMAND...
 *
 *     copy OBJECT ADDRESS      copies the code of a .o or .so to ADDRESS (0: anywhere)
 *     map OBJECT FILE          copies it into FILE, and maps that
 *     hint OBJECT              heapsample_map_hint() for the code copied last
 *     unhint                   heapsample_unmap_hint() for it
 *     file HINTS OBJECT        appends a hint for it to the file HINTS
 *     run FUNCTION SIZE COUNT  calls FUNCTION of it, which allocates, and frees the block
 *     starve                   from here on no file can be opened
 *     feed                     asks for a profile, in vain; from here on files can be opened
 *     write OBJECT FROM        writes OBJECT anew, in place, with what FROM holds
 *     dump                     heapsample_dump()
 *     wait FILE                waits until FILE exists
 *     fork                     parent and child both do the rest
 *     exec                     executes itself, to do the rest
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <heapsample/heapsample.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *allocate_function(size_t size);
typedef void *code_function(allocate_function *allocate, size_t size);

static struct code {
	unsigned char *file; /* the object, read */
	unsigned char *start;
	size_t length;
	uint64_t offset; /* the hint's */
	uint64_t file_offset;
	uint64_t address; /* ELF address of start */
} code;

static void die(const char *what)
{
	fprintf(stderr, "victim_map_hint: %s: %s\n", what, strerror(errno));
	exit(99);
}

/* Never unmapped: code.file points to it. */
static unsigned char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	unsigned char *bytes;

	if (fd < 0 || fstat(fd, &status) < 0)
		die(path);
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		die(path);
	return bytes;
}

static const Elf64_Shdr *section(size_t index)
{
	const Elf64_Ehdr *header = (const void *)code.file;

	return (const Elf64_Shdr *)(const void *)(code.file + header->e_shoff) + index;
}

/* The section called name or name.mine, or NULL. */
static const Elf64_Shdr *section_named(const char *name)
{
	size_t bytes = strlen(name);
	const Elf64_Ehdr *header = (const void *)code.file;
	const char *names = (const char *)code.file + section(header->e_shstrndx)->sh_offset;

	for (size_t i = 1; i < header->e_shnum; i++) {
		const char *own = names + section(i)->sh_name;

		if (strncmp(own, name, bytes) == 0 &&
		    (own[bytes] == '\0' || strcmp(own + bytes, ".mine") == 0))
			return section(i);
	}
	return NULL;
}

/* Finds the object's code. */
static void look_at(const char *object)
{
	const Elf64_Ehdr *header;
	const Elf64_Phdr *segment;
	const Elf64_Shdr *text;

	code.file = read_file(object);
	header = (const void *)code.file;
	if (header->e_type == ET_REL) {
		text = section_named(".text");
		code.offset = 0;
		code.file_offset = text->sh_offset;
		code.length = text->sh_size;
		code.address = 0;
		return;
	}
	segment = (const void *)(code.file + header->e_phoff);
	while (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
		segment++;
	code.offset = code.file_offset = segment->p_offset;
	code.length = segment->p_filesz;
	code.address = segment->p_vaddr;
}

/* Resolves the calls between the functions of a .o. */
static void relocate(unsigned char *to)
{
	const Elf64_Shdr *relocations = section_named(".rela.text");
	const Elf64_Shdr *symbols = section_named(".symtab");

	if (((const Elf64_Ehdr *)(const void *)code.file)->e_type != ET_REL || relocations == NULL)
		return;
	for (size_t i = 0; i < relocations->sh_size / sizeof(Elf64_Rela); i++) {
		const Elf64_Rela *entry =
			(const Elf64_Rela *)(const void *)(code.file + relocations->sh_offset) + i;
		const Elf64_Sym *symbol =
			(const Elf64_Sym *)(const void *)(code.file + symbols->sh_offset) +
			ELF64_R_SYM(entry->r_info);
		int32_t value = (int32_t)((int64_t)symbol->st_value + entry->r_addend -
					  (int64_t)entry->r_offset);

		memcpy(to + entry->r_offset, &value, sizeof value);
	}
}

static void copy(const char *object, const char *address)
{
	void *wanted = (void *)(uintptr_t)strtoull(address, NULL, 0);

	look_at(object);
	code.start = mmap(wanted, code.length, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | (wanted != NULL ? MAP_FIXED : 0), -1, 0);
	if (code.start == MAP_FAILED)
		die("mmap");
	memcpy(code.start, code.file + code.file_offset, code.length);
	relocate(code.start);
	if (mprotect(code.start, code.length, PROT_READ | PROT_EXEC) < 0)
		die("mprotect");
}

static void map(const char *object, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);

	look_at(object);
	relocate(code.file + code.file_offset);
	if (fd < 0 || write(fd, code.file + code.file_offset, code.length) != (ssize_t)code.length)
		die(path);
	code.start = mmap(NULL, code.length, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code.start == MAP_FAILED)
		die("mmap");
	close(fd);
}

static code_function *find(const char *name)
{
	const Elf64_Shdr *table = section_named(".symtab");
	const Elf64_Sym *symbol;
	const char *names;
	void *address = NULL;
	code_function *function;

	symbol = (const Elf64_Sym *)(const void *)(code.file + table->sh_offset);
	names = (const char *)code.file + section(table->sh_link)->sh_offset;
	for (size_t i = 0; i < table->sh_size / sizeof *symbol; i++) {
		if (strcmp(names + symbol[i].st_name, name) == 0)
			address = code.start + (symbol[i].st_value - code.address);
	}
	if (address == NULL)
		die(name);
	memcpy(&function, &address, sizeof function);
	return function;
}

static __attribute__((noinline)) void *allocate_for_code(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static __attribute__((noinline)) void run_code(const char *name, size_t size, int count)
{
	code_function *function = find(name);

	for (int i = 0; i < count; i++)
		free(function(allocate_for_code, size));
}

static void limit_files(rlim_t most)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		die("getrlimit");
	files.rlim_cur = most < files.rlim_max ? most : files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static void write_hint(const char *path, const char *object)
{
	FILE *file = fopen(path, "a");

	if (file == NULL)
		die(path);
	fprintf(file, "# %s\n%s,%p,%zu,0x%llx\n", object, object, (void *)code.start, code.length,
		(unsigned long long)code.offset);
	if (fclose(file) != 0)
		die(path);
}

static void write_anew(const char *object, const char *from)
{
	struct stat status;
	unsigned char *bytes = read_file(from);
	int fd = open(object, O_WRONLY | O_TRUNC);

	if (fd < 0 || stat(from, &status) < 0 ||
	    write(fd, bytes, (size_t)status.st_size) != status.st_size)
		die(object);
	close(fd);
}

static void wait_for(const char *path)
{
	while (access(path, F_OK) != 0)
		usleep(1000);
}

static void expect(int result)
{
	if (result != 0) {
		errno = -result;
		die("heapsample");
	}
}

int main(int count, char **words)
{
	pid_t child = 0;
	int status = 0;

	for (int i = 1; i < count; i++) {
		const char *command = words[i];

		if (strcmp(command, "copy") == 0) {
			copy(words[i + 1], words[i + 2]);
			i += 2;
		} else if (strcmp(command, "map") == 0) {
			map(words[i + 1], words[i + 2]);
			i += 2;
		} else if (strcmp(command, "hint") == 0) {
			expect(heapsample_map_hint(words[i + 1], code.start, code.length,
						   code.offset));
			i += 1;
		} else if (strcmp(command, "unhint") == 0) {
			expect(heapsample_unmap_hint(code.start, code.length));
		} else if (strcmp(command, "file") == 0) {
			write_hint(words[i + 1], words[i + 2]);
			i += 2;
		} else if (strcmp(command, "run") == 0) {
			run_code(words[i + 1], (size_t)atol(words[i + 2]), atoi(words[i + 3]));
			i += 3;
		} else if (strcmp(command, "starve") == 0) {
			limit_files(0);
		} else if (strcmp(command, "feed") == 0) {
			if (heapsample_dump(NULL, 0) == 0)
				die("feed");
			limit_files(1024);
		} else if (strcmp(command, "write") == 0) {
			write_anew(words[i + 1], words[i + 2]);
			i += 2;
		} else if (strcmp(command, "dump") == 0) {
			expect(heapsample_dump(NULL, 0));
		} else if (strcmp(command, "wait") == 0) {
			wait_for(words[i + 1]);
			i += 1;
		} else if (strcmp(command, "fork") == 0) {
			child = fork();
		} else if (strcmp(command, "exec") == 0) {
			words[i] = words[0];
			execv(words[0], words + i);
			die(words[0]);
		} else {
			die(command);
		}
	}
	if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
		die("child");
	return 0;
}
