/* SPDX-License-Identifier: BSD-2-Clause */
#include "maps/mapping_table.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/elf_header.h"
#include "base/file_version.h"
#include "base/libraries.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "maps/map_scan.h"

#define PAGE ((size_t)4096)

static struct hs_mapping_table *table;

static void begin_table(void)
{
	table = hs_mapping_table_create();
	CHECK(table != NULL);
	CHECK_INT(hs_mapping_table_generation(table), 0);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	CHECK_INT(hs_mapping_table_generation(table), 1);
}

static void end_table(void)
{
	hs_mapping_table_destroy(table);
}

static void refresh(void)
{
	CHECK_INT(hs_mapping_table_refresh(table), 0);
}

static uint32_t id_of(const void *address)
{
	return hs_mapping_table_find(table, (uintptr_t)address);
}

static const struct hs_mapping *mapping_of(const void *address)
{
	static const struct hs_mapping none = {.path = "none"};
	const struct hs_mapping *mapping = hs_mapping_table_get(table, id_of(address));

	return mapping != NULL ? mapping : &none;
}

/*
 * Three pages of an object with one executable segment; the build id is `letter` eight times, or
 * there is none with '\0'.
 */
static int make_object(char *path, size_t capacity, const char *name, char letter)
{
	static unsigned char page[3 * PAGE];
	ElfW(Ehdr) *header = (ElfW(Ehdr) *)(void *)page;
	ElfW(Phdr) *headers = (ElfW(Phdr) *)(void *)(page + sizeof *header);
	ElfW(Nhdr) *note = (ElfW(Nhdr) *)(void *)(page + 512);
	const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
	int fd;

	memset(page, 0, sizeof page);
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_type = ET_DYN;
	header->e_machine = __ehdr_start.e_machine;
	header->e_phoff = sizeof *header;
	header->e_phentsize = sizeof *headers;
	header->e_phnum = letter != '\0' ? 2 : 1;
	headers[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
				  .p_memsz = sizeof page, .p_filesz = sizeof page};
	headers[1] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_vaddr = 512, .p_memsz = 24, .p_align = 4};
	*note = (ElfW(Nhdr)){ 4, 8, NT_GNU_BUILD_ID };
	memcpy(page + 512 + sizeof *note, "GNU", 4);
	memset(page + 512 + sizeof *note + 4, letter, 8);
	snprintf(path, capacity, "%s/%s-%d", directory, name, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, page, sizeof page) == (ssize_t)sizeof page);
	return fd;
}

static unsigned char *map_at(void *address, int fd, size_t bytes, int protection)
{
	int flags = MAP_PRIVATE | (address != NULL ? MAP_FIXED : 0) | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *mapped = mmap(address, bytes, protection, flags, fd, 0);

	CHECK(mapped != MAP_FAILED);
	return mapped;
}

static void test_program_and_libraries(void)
{
	char exe[4096] = "";
	const struct hs_mapping *own, *libc;

	begin_table();
	CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	own = mapping_of((const void *)(uintptr_t)&test_program_and_libraries);
	CHECK_STR(own->path, exe);
	CHECK_INT(own->flags, HS_MAPPING_MAIN | HS_MAPPING_FILE);
	CHECK(own->eh_frame_hdr > own->load_bias && own->eh_frame_hdr_bytes > 8);
	CHECK_INT(own->start % PAGE, 0);
	libc = mapping_of((const void *)(uintptr_t)&gnu_get_libc_version);
	CHECK(strstr(libc->path, "/libc") != NULL);
	CHECK_INT(libc->flags, HS_MAPPING_FILE);
	CHECK(strlen(libc->build_id) >= 16);
	CHECK_INT(id_of(NULL), HS_MAPPING_NONE);
	CHECK_INT(id_of(exe), HS_MAPPING_NONE);
	CHECK(hs_mapping_table_get(table, HS_MAPPING_NONE) == NULL);
	CHECK(hs_mapping_table_get(table, hs_mapping_table_count(table)) == NULL);
	end_table();
}

static void test_vdso(void)
{
	const unsigned char *base = (const unsigned char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const struct hs_mapping *vdso;

	if (base == NULL)
		return;
	begin_table();
	vdso = mapping_of(base + 64);
	CHECK_STR(vdso->path, "[vdso]");
	CHECK_INT(vdso->flags, 0);
	CHECK(vdso->eh_frame_hdr != 0 && vdso->build_id[0] != '\0');
	CHECK(hs_mapping_table_is_readable(table, vdso->eh_frame_hdr, vdso->eh_frame_hdr_bytes));
	end_table();
}

static void test_nothing_changes_without_changes(void)
{
	uint64_t reads;
	uint32_t count, own;

	begin_table();
	reads = hs_stats_get(map_reads);
	/* The first refresh may have made the allocator map something. */
	refresh();
	count = hs_mapping_table_count(table);
	own = id_of((const void *)(uintptr_t)&refresh);
	for (int i = 0; i < 3; i++)
		refresh();
	CHECK_INT(hs_mapping_table_generation(table), 1);
	CHECK_INT(hs_mapping_table_count(table), count);
	CHECK_INT(id_of((const void *)(uintptr_t)&refresh), own);
	CHECK_INT(hs_stats_get(map_reads), reads + 4);
	CHECK_INT(hs_stats_get(map_lines_skipped), 0);
	end_table();
}

static void test_own_mapping_is_marked(void)
{
	table = hs_mapping_table_create();
	hs_mapping_table_set_own(table, (uintptr_t)&test_own_mapping_is_marked);
	refresh();
	CHECK(mapping_of((const void *)(uintptr_t)&refresh)->flags & HS_MAPPING_OWN);
	CHECK_INT(mapping_of((const void *)(uintptr_t)&gnu_get_libc_version)->flags,
		  HS_MAPPING_FILE);
	end_table();
}

static void test_other_file_at_the_same_address(void)
{
	char path[2][256];
	int fd[2] = { make_object(path[0], sizeof path[0], "hs\ntest a", 'a'),
		      make_object(path[1], sizeof path[1], "hs-test-b", 'b') };
	unsigned char *code = map_at(NULL, fd[0], 3 * PAGE, PROT_READ | PROT_EXEC);
	const struct hs_mapping *mapping[2];
	uint32_t id[2];

	begin_table();
	id[0] = id_of(code);
	mapping[0] = mapping_of(code);
	CHECK_STR(mapping[0]->path, path[0]);
	CHECK_STR(mapping[0]->build_id, "6161616161616161");
	CHECK_INT(mapping[0]->load_bias, (uintptr_t)code);

	map_at(code, fd[1], 3 * PAGE, PROT_READ | PROT_EXEC);
	CHECK_INT(id_of(code), id[0]);
	refresh();
	CHECK_INT(hs_mapping_table_generation(table), 2);
	id[1] = id_of(code);
	mapping[1] = mapping_of(code);
	CHECK(id[1] != id[0]);
	CHECK_STR(mapping[1]->path, path[1]);
	CHECK_STR(mapping[1]->build_id, "6262626262626262");
	CHECK_STR(hs_mapping_table_get(table, id[0])->path, path[0]);

	/* No object there, then the first one again. */
	munmap(code, 3 * PAGE);
	refresh();
	CHECK_INT(hs_mapping_table_generation(table), 3);
	CHECK_INT(id_of(code), HS_MAPPING_NONE);
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)code, 1));
	map_at(code, fd[0], 3 * PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK_INT(hs_mapping_table_generation(table), 4);
	CHECK_INT(id_of(code), id[0]);
	munmap(code, 3 * PAGE);
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		unlink(path[i]);
	}
	end_table();
}

/* The same inode with other contents is recognized by the build id. */
static void test_rewritten_file_at_the_same_address(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-rewritten", 'a');
	unsigned char *code = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	uint32_t id, tag;

	begin_table();
	id = id_of(code);
	tag = hs_mapping_table_page_tag(table, (uintptr_t)code);
	close(make_object(path, sizeof path, "hs-test-rewritten", 'b'));
	refresh();
	CHECK(id_of(code) != id);
	CHECK(hs_mapping_table_page_tag(table, (uintptr_t)code) != tag);
	CHECK_STR(mapping_of(code)->build_id, "6262626262626262");
	CHECK_INT(hs_mapping_table_generation(table), 2);
	munmap(code, 3 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

/* Sets when the file was written, seconds since 1970. */
static void set_time(int fd, long seconds)
{
	struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

	CHECK_INT(futimens(fd, times), 0);
}

/* Without a build id it is recognized by size and time, as long as the file can be looked at. */
static void test_rewritten_file_without_a_build_id(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-no-id", '\0');
	unsigned char *code = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	uint32_t id, tag;

	set_time(fd, 1000000000);
	begin_table();
	id = id_of(code);
	tag = hs_mapping_table_page_tag(table, (uintptr_t)code);
	CHECK_STR(mapping_of(code)->build_id, "");
	refresh();
	CHECK_INT(id_of(code), id);
	set_time(fd, 1000000001);
	refresh();
	CHECK(id_of(code) != id);
	CHECK(mapping_of(code)->version != hs_mapping_table_get(table, id)->version);
	CHECK(hs_mapping_table_page_tag(table, (uintptr_t)code) != tag);
	CHECK_INT(hs_mapping_table_generation(table), 2);
	id = id_of(code);
	unlink(path);
	refresh();
	CHECK_INT(id_of(code), id);
	munmap(code, 3 * PAGE);
	close(fd);
	end_table();
}

/*
 * A file that is not an ELF object has no names or unwind tables, so its versions need not be told
 * apart.  JIT compilers map such a file for perf, a list of functions to which they keep appending.
 */
static void test_file_of_no_object_that_grows(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-jitdump", '\0');
	unsigned char *code;
	uint32_t id;

	CHECK_INT(pwrite(fd, "DTiJ", 4, 0), 4);
	code = map_at(NULL, fd, PAGE, PROT_READ | PROT_EXEC);
	set_time(fd, 1000000000);
	begin_table();
	id = id_of(code);
	set_time(fd, 1000000001);
	refresh();
	CHECK_INT(id_of(code), id);
	CHECK_INT(hs_mapping_table_generation(table), 1);
	munmap(code, PAGE);
	close(fd);
	unlink(path);
	end_table();
}

/* Scans a text that begins with no index; the mappings are those of the store. */
static void scan_text(struct hs_mapping_store *store, struct hs_map_index *index, const char *text)
{
	static const struct hs_map_program program;
	static const struct hs_map_index none;

	hs_mapping_store_init(store);
	memset(index, 0, sizeof *index);
	CHECK_INT(hs_map_scan(index, text, strlen(text), &none, store, &program, 0), 0);
}

/* Each object has the version of its own file, unless another one is at its path by now. */
static void test_versions_of_neighbours(void)
{
	static struct hs_mapping_store store;
	static struct hs_map_index index;
	char path[2][256], text[2048];
	int fd[] = {make_object(path[0], sizeof path[0], "hs-test-neighbour", 'n'),
		    make_object(path[1], sizeof path[1], "hs-test-no-id", '\0')};
	unsigned char *base = map_at(NULL, fd[0], 3 * PAGE, PROT_READ | PROT_EXEC);
	unsigned long long at = (uintptr_t)base, inode;
	uint64_t skipped = hs_stats_get(map_lines_skipped);
	struct stat file;

	CHECK_INT(fstat(fd[1], &file), 0);
	inode = file.st_ino;
	snprintf(text, sizeof text,
		 "1000-2000 r-xp 00000000 00:00 0 \n"
		 "%llx-%llx r-xp 00000000 08:01 1 %s\n"
		 "no line\n"
		 "7fff00000000-7fff00001000 r-xp 00001000 08:01 %llu %s\n"
		 "7fff00002000-7fff00003000 r-xp 00000000 08:01 %llu %s\n",
		 at, at + 3 * PAGE, path[0], inode, path[1], inode + 1, path[1]);
	scan_text(&store, &index, text);
	CHECK_INT(hs_stats_get(map_lines_skipped), skipped + 1);
	CHECK_STR(hs_mapping_store_get(&store, 0)->path, "//anon");
	CHECK_STR(hs_mapping_store_get(&store, 1)->build_id, "6e6e6e6e6e6e6e6e");
	CHECK_INT(hs_mapping_store_get(&store, 1)->version, 0);
	CHECK_INT(hs_mapping_store_get(&store, 2)->version, hs_file_version(&file));
	CHECK_INT(hs_mapping_store_get(&store, 3)->version, 0);
	hs_map_index_fini(&index);
	hs_mapping_store_fini(&store);
	munmap(base, 3 * PAGE);
	for (int i = 0; i < 2; i++) {
		close(fd[i]);
		unlink(path[i]);
	}
}

/* To read a device's memory may have effects; a file of /dev/shm is one like others. */
static void test_devices(void)
{
	static struct hs_mapping_store store;
	static struct hs_map_index index;
	char path[256], text[1024];
	int fd = make_object(path, sizeof path, "hs-test-device", 'v');
	unsigned char *base = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	unsigned long long at = (uintptr_t)base;

	for (int is_device = 0; is_device < 2; is_device++) {
		snprintf(text, sizeof text, "%llx-%llx r-xp 00000000 00:05 7 /dev/%s\n", at,
			 at + 3 * PAGE, is_device ? "fb0" : "shm/code");
		scan_text(&store, &index, text);
		CHECK_STR(hs_mapping_store_get(&store, 0)->build_id,
			  is_device ? "" : "7676767676767676");
		CHECK_INT(hs_mapping_store_get(&store, 0)->flags, is_device ? 0 : HS_MAPPING_FILE);
		CHECK_INT(index.readable.count, !is_device);
		hs_map_index_fini(&index);
		hs_mapping_store_fini(&store);
	}
	munmap(base, 3 * PAGE);
	close(fd);
	unlink(path);
}

/* The program's file cannot change: the kernel refuses to write to it. */
static void test_program_without_a_build_id(void)
{
	static struct hs_map_index index, none;
	static struct hs_mapping_store store;
	struct hs_map_program program = { 0 };
	char path[256], text[512];
	int fd = make_object(path, sizeof path, "hs-test-program", '\0');
	struct stat file;

	CHECK_INT(fstat(fd, &file), 0);
	snprintf(text, sizeof text, "100000-101000 r-xp 00000000 00:00 %llu %s\n",
		 (unsigned long long)file.st_ino, path);
	for (int is_program = 0; is_program < 2; is_program++) {
		program.inode = is_program ? file.st_ino : 0;
		hs_mapping_store_init(&store);
		memset(&index, 0, sizeof index);
		CHECK_INT(hs_map_scan(&index, text, strlen(text), &none, &store, &program, 0), 0);
		CHECK_INT(hs_mapping_store_get(&store, 0)->version != 0, !is_program);
		hs_map_index_fini(&index);
		hs_mapping_store_fini(&store);
	}
	close(fd);
	unlink(path);
}

static void test_deleted_file_and_split_text(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-deleted", 'd');
	unsigned char *code = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	uint32_t id;

	begin_table();
	id = id_of(code);
	unlink(path);
	mprotect(code + PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	refresh();
	CHECK_INT(id_of(code), id);
	CHECK_INT(id_of(code + PAGE), id);
	CHECK_INT(id_of(code + 2 * PAGE), id);
	CHECK_STR(mapping_of(code)->path, path);
	CHECK_INT(hs_mapping_table_generation(table), 1);
	munmap(code, 3 * PAGE);
	close(fd);
	end_table();
}

/* As lld lays out small objects: the first page of the file has the code, and is mapped twice. */
static void test_first_page_mapped_twice(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-twice", 't');
	unsigned char *base = map_at(NULL, -1, 2 * PAGE, PROT_NONE);
	ElfW(Phdr) code = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x5c0,
			   .p_vaddr = PAGE + 0x5c0, .p_memsz = 64, .p_filesz = 64};

	/* The note's header makes room for the second segment's. */
	CHECK_INT(pwrite(fd, &code, sizeof code, sizeof(ElfW(Ehdr)) + sizeof code), sizeof code);
	CHECK_INT(pwrite(fd, &(uint64_t){ 64 }, 8,
			 sizeof(ElfW(Ehdr)) + offsetof(ElfW(Phdr), p_memsz)), 8);
	map_at(base, fd, PAGE, PROT_READ);
	map_at(base + PAGE, fd, PAGE, PROT_READ | PROT_EXEC);
	begin_table();
	CHECK_INT(mapping_of(base + PAGE)->load_bias, (uintptr_t)base);
	CHECK_INT(mapping_of(base + PAGE)->start, (uintptr_t)base + PAGE);
	CHECK_INT(mapping_of(base + PAGE)->offset, 0);
	munmap(base, 2 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

/* As llvm-bolt writes objects: the program headers are in a segment of their own. */
static void test_program_headers_in_another_line(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-headers", 'h'), other;
	unsigned char *base = map_at(NULL, -1, 6 * PAGE, PROT_NONE), *code = base + 4 * PAGE;
	const ElfW(Phdr) headers[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = PAGE, .p_filesz = PAGE},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = PAGE,
		 .p_vaddr = 4 * PAGE,
		 .p_memsz = 2 * PAGE,
		 .p_filesz = 2 * PAGE},
		{.p_type = PT_NOTE, .p_vaddr = 512, .p_memsz = 24, .p_align = 4},
	};

	CHECK_INT(pwrite(fd, headers, sizeof headers, 2 * PAGE), sizeof headers);
	CHECK_INT(pwrite(fd, &(uint64_t){2 * PAGE}, 8, offsetof(ElfW(Ehdr), e_phoff)), 8);
	CHECK_INT(pwrite(fd, &(uint16_t){3}, 2, offsetof(ElfW(Ehdr), e_phnum)), 2);
	/* Between them are lines of the file that are out of reach, and anonymous ones. */
	map_at(base, fd, 3 * PAGE, PROT_NONE);
	mprotect(base, PAGE, PROT_READ);
	CHECK(mmap(code, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, PAGE) !=
	      MAP_FAILED);
	begin_table();
	CHECK_INT(mapping_of(code)->load_bias, (uintptr_t)base);
	CHECK_STR(mapping_of(code)->build_id, "6868686868686868");
	CHECK_INT(mapping_of(code)->flags, HS_MAPPING_FILE);
	/* What is not mapped, or belongs to the next image of the file, is not found. */
	munmap(code + PAGE, PAGE);
	refresh();
	CHECK_INT(mapping_of(code)->flags, HS_MAPPING_FILE | HS_MAPPING_FLAT);
	map_at(base + 3 * PAGE, fd, 3 * PAGE, PROT_READ);
	mprotect(base, PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK_INT(mapping_of(base)->flags, HS_MAPPING_FILE | HS_MAPPING_FLAT);
	/* Nor what another file has there. */
	other = make_object(path + 128, sizeof path - 128, "hs-test-other", 'o');
	CHECK_INT(pwrite(other, headers, sizeof headers, 2 * PAGE), sizeof headers);
	map_at(base + 3 * PAGE, -1, 3 * PAGE, PROT_NONE);
	CHECK(mmap(base + 3 * PAGE, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, other, PAGE) !=
	      MAP_FAILED);
	refresh();
	CHECK_INT(mapping_of(base)->flags, HS_MAPPING_FILE | HS_MAPPING_FLAT);
	munmap(base, 6 * PAGE);
	close(fd);
	close(other);
	unlink(path);
	unlink(path + 128);
	end_table();
}

/* Some programs copy their code to huge pages, which they put in its place. */
static void test_text_moved_to_anonymous_memory(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-moved", 'm');
	unsigned char *code = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	uint32_t id;

	begin_table();
	id = id_of(code);
	map_at(code + PAGE, -1, PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK_INT(id_of(code + PAGE), id);
	CHECK_INT(id_of(code + 2 * PAGE), id);
	CHECK_STR(mapping_of(code + PAGE)->path, path);
	CHECK_INT(mapping_of(code + PAGE)->load_bias, (uintptr_t)code);
	CHECK(hs_mapping_table_is_readable(table, (uintptr_t)code, 3 * PAGE));
	munmap(code, 3 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

/* The same with the file's header first, and with none of the file's code left. */
static void test_all_text_moved(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-all-moved", 'M');
	unsigned char *base = map_at(NULL, fd, 3 * PAGE, PROT_READ);

	map_at(base + PAGE, -1, PAGE, PROT_READ | PROT_EXEC);
	begin_table();
	CHECK_STR(mapping_of(base + PAGE)->path, path);
	CHECK_INT(mapping_of(base + PAGE)->load_bias, (uintptr_t)base);
	CHECK_STR(mapping_of(base + PAGE)->build_id, "4d4d4d4d4d4d4d4d");
	munmap(base, 3 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

/* The same with the file's header among what was moved. */
static void test_text_moved_with_its_header(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-header-moved", 'h');
	unsigned char *base = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);

	map_at(base, -1, 2 * PAGE, PROT_READ | PROT_WRITE);
	CHECK_INT(pread(fd, base, 2 * PAGE, 0), 2 * PAGE);
	mprotect(base, 2 * PAGE, PROT_READ | PROT_EXEC);
	begin_table();
	for (unsigned page = 0; page < 3; page++) {
		CHECK_STR(mapping_of(base + page * PAGE)->path, path);
		CHECK_INT(mapping_of(base + page * PAGE)->load_bias, (uintptr_t)base);
		CHECK_STR(mapping_of(base + page * PAGE)->build_id, "6868686868686868");
	}
	CHECK_INT(id_of(base), id_of(base + 2 * PAGE));
	/* Memory with something else in it stays what it is. */
	mprotect(base, 2 * PAGE, PROT_READ | PROT_WRITE);
	memset(base, 0, PAGE);
	mprotect(base, 2 * PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK_STR(mapping_of(base)->path, "//anon");
	munmap(base, 3 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

static void test_constant(void)
{
	static volatile int variable = 1;
	uintptr_t code = (uintptr_t)test_constant, data = (uintptr_t)&variable;

	begin_table();
	CHECK(hs_mapping_table_is_constant(table, code, 8));
	CHECK(hs_mapping_table_is_readable(table, data, 4));
	CHECK(!hs_mapping_table_is_constant(table, data, 4));
	CHECK(!hs_mapping_table_is_constant(table, 1, 8));
	end_table();
}

/* It matters only which file is the program's, not its kind or path. */
static void test_program_in_a_memfd(void)
{
	static const struct hs_map_program program = {.device = 1, .inode = 4711};
	static struct hs_map_index index, none;
	static struct hs_mapping_store store;
	char path[256], text[1024];
	int fd = make_object(path, sizeof path, "hs-test-memfd", 'p');
	unsigned char *base = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	unsigned long long at = (uintptr_t)base;

	hs_mapping_store_init(&store);
	snprintf(text, sizeof text,
		 "100000-101000 r-xp 00000000 08:01 4711 /memfd:program (deleted)\n"
		 "%llx-%llx r-xp 00000000 00:01 4711 /memfd:program (deleted)\n",
		 at, at + 3 * PAGE);
	CHECK_INT(hs_map_scan(&index, text, strlen(text), &none, &store, &program, 0), 0);
	CHECK_INT(hs_mapping_store_get(&store, 0)->flags, HS_MAPPING_ANONYMOUS);
	CHECK_INT(hs_mapping_store_get(&store, 1)->flags, HS_MAPPING_MAIN);
	CHECK_STR(hs_mapping_store_get(&store, 1)->build_id, "7070707070707070");
	hs_map_index_fini(&index);
	hs_mapping_store_fini(&store);
	munmap(base, 3 * PAGE);
	close(fd);
	unlink(path);
}

/* Such huge pages may have a name of their own, and may be where the file's code begins. */
static void test_text_moved_to_huge_pages(void)
{
	static const struct hs_map_program program;
	static struct hs_map_index index, none;
	static struct hs_mapping_store store;
	char path[256], text[2048];
	int fd = make_object(path, sizeof path, "hs-test-huge", 'H');
	unsigned char *base = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	unsigned long long at = (uintptr_t)base;
	const struct hs_address_range *range;
	const struct hs_mapping *mapping;
	uint64_t skipped = hs_stats_get(map_lines_skipped);

	hs_mapping_store_init(&store);
	snprintf(text, sizeof text,
		 "%llx-%llx r--p 00000000 08:01 4711 %s\n"
		 "%llx-%llx r-xp 00000000 00:0f 99 /anon_hugepage (deleted)\n"
		 "%llx-%llx r-xp 00002000 08:01 4711 %s\n",
		 at, at + PAGE, path, at + PAGE, at + 2 * PAGE, at + 2 * PAGE, at + 3 * PAGE, path);
	CHECK_INT(hs_map_scan(&index, text, strlen(text), &none, &store, &program, 0), 0);
	CHECK_INT(hs_stats_get(map_lines_skipped), skipped);
	for (unsigned page = 1; page < 3; page++) {
		range = hs_address_range_map_find(&index.code, at + page * PAGE);
		CHECK(range != NULL);
		mapping = hs_mapping_store_get(&store, range->value);
		CHECK_STR(mapping->path, path);
		CHECK_INT(mapping->load_bias, at);
		CHECK_STR(mapping->build_id, "4848484848484848");
	}
	hs_map_index_fini(&index);
	hs_mapping_store_fini(&store);
	munmap(base, 3 * PAGE);
	close(fd);
	unlink(path);
}

static bool is_readable(const struct hs_map_index *index, uint64_t start, uint64_t bytes)
{
	return hs_address_range_map_find_containing(&index->readable, start, start + bytes) != NULL;
}

/*
 * Huge pages that do not replace a file's code, and shared memory (of System V, or with a name
 * that the program has given it), hold generated code: it can be read like any code, and there is
 * no file to read.
 */
static void test_code_in_memory_with_a_name(void)
{
	static const struct hs_map_program program;
	static const char text[] = "7f0000000000-7f0000200000 r-xp 00000000 00:0f 99 "
				   "/anon_hugepage (deleted)\n"
				   "7f0000400000-7f0000401000 r-xs 00000000 00:01 25 "
				   "/SYSV00000000 (deleted)\n"
				   "7f0000600000-7f0000601000 r-xp 00000000 08:01 26 "
				   "/SYSV00000000\n"
				   "7f0000800000-7f0000801000 r-xs 00000000 00:01 27 "
				   "[anon_shmem:v8: code]\n";
	static struct hs_map_index index, none;
	static struct hs_mapping_store store;

	hs_mapping_store_init(&store);
	CHECK_INT(hs_map_scan(&index, text, strlen(text), &none, &store, &program, 0), 0);
	CHECK(is_readable(&index, 0x7f0000000000, 0x200000));
	CHECK_INT(hs_mapping_store_get(&store, 0)->flags, HS_MAPPING_ANONYMOUS);
	CHECK(is_readable(&index, 0x7f0000400000, 0x1000));
	CHECK_INT(hs_mapping_store_get(&store, 1)->flags, HS_MAPPING_ANONYMOUS);
	CHECK_INT(hs_mapping_store_get(&store, 2)->flags, HS_MAPPING_FILE | HS_MAPPING_FLAT);
	CHECK_INT(hs_mapping_store_get(&store, 3)->flags, HS_MAPPING_ANONYMOUS);
	hs_map_index_fini(&index);
	hs_mapping_store_fini(&store);
}

/* The library's file is also mapped below it, from where its .bss would reach over the library. */
static void test_file_mapped_below_its_library(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-below", 'B');
	unsigned char *base = map_at(NULL, -1, 8 * PAGE, PROT_NONE), *library = base + 4 * PAGE;

	CHECK_INT(pwrite(fd, &(uint64_t){ 6 * PAGE }, 8,
			 sizeof(ElfW(Ehdr)) + offsetof(ElfW(Phdr), p_memsz)),
		  8);
	map_at(base, fd, 3 * PAGE, PROT_READ);
	map_at(library, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	begin_table();
	CHECK_INT(mapping_of(library)->load_bias, (uintptr_t)library);
	CHECK_STR(mapping_of(library)->build_id, "4242424242424242");
	munmap(base, 8 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

/* Executable memory behind the segments of an object is not part of it. */
static void test_anonymous_code_behind_an_object(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-behind", 'b');
	unsigned char *base = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);

	map_at(base + 2 * PAGE, -1, PAGE, PROT_READ | PROT_EXEC);
	/* The segment ends where the file's pages do. */
	CHECK_INT(pwrite(fd, &(uint64_t){ 2 * PAGE }, 8,
			 sizeof(ElfW(Ehdr)) + offsetof(ElfW(Phdr), p_memsz)),
		  8);
	begin_table();
	CHECK_STR(mapping_of(base)->path, path);
	CHECK_STR(mapping_of(base + 2 * PAGE)->path, "//anon");
	CHECK_INT(mapping_of(base + 2 * PAGE)->flags, HS_MAPPING_ANONYMOUS);
	munmap(base, 3 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

/* As V8 does: it maps its builtins a second time, near the code that it generates. */
static void test_code_mapped_elsewhere_too(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-elsewhere", 'e');
	unsigned char *base = map_at(NULL, -1, 8 * PAGE, PROT_NONE), *copy = base + 6 * PAGE;
	const ElfW(Phdr) headers[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = PAGE, .p_filesz = PAGE},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = PAGE,
		 .p_vaddr = 3 * PAGE,
		 .p_memsz = 2 * PAGE,
		 .p_filesz = 2 * PAGE},
		{.p_type = PT_NOTE, .p_vaddr = 512, .p_memsz = 24, .p_align = 4},
	};
	int other = make_object(path + 128, sizeof path - 128, "hs-test-between", 'b');

	CHECK_INT(pwrite(fd, headers, sizeof headers, sizeof(ElfW(Ehdr))), sizeof headers);
	CHECK_INT(pwrite(fd, &(uint16_t){3}, 2, offsetof(ElfW(Ehdr), e_phnum)), 2);
	map_at(base, fd, PAGE, PROT_READ);
	CHECK(mmap(base + 3 * PAGE, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		   PAGE) != MAP_FAILED);
	map_at(base + 5 * PAGE, other, PAGE, PROT_READ);
	CHECK(mmap(copy, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 2 * PAGE) !=
	      MAP_FAILED);
	begin_table();
	CHECK_INT(mapping_of(base + 3 * PAGE)->load_bias, (uintptr_t)base);
	CHECK(id_of(copy) != id_of(base + 3 * PAGE));
	CHECK_INT(mapping_of(copy)->start, (uintptr_t)copy);
	CHECK_INT(mapping_of(copy)->load_bias, (uintptr_t)copy - 4 * PAGE);
	CHECK_STR(mapping_of(copy)->build_id, "6565656565656565");
	/* What the image does not have is no copy of it. */
	CHECK_INT(ftruncate(fd, 8 * PAGE), 0);
	CHECK(mmap(copy, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 5 * PAGE) !=
	      MAP_FAILED);
	refresh();
	CHECK_INT(mapping_of(copy)->load_bias, (uintptr_t)copy - 5 * PAGE);
	CHECK_STR(mapping_of(copy)->build_id, "");
	munmap(base, 8 * PAGE);
	close(fd);
	close(other);
	unlink(path);
	unlink(path + 128);
	end_table();
}

/* Pieces of a file at the same address; and the image, which tells what a piece is a copy of. */
static void test_pieces_of_a_file(void)
{
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-pieces", '\0');
	unsigned char *base = map_at(NULL, -1, 8 * PAGE, PROT_NONE), *piece = base + 6 * PAGE;
	uint32_t id[3];

	for (unsigned i = 0; i < 3; i++) {
		size_t offset = i % 2 == 0 ? 2 * PAGE : PAGE;

		CHECK(mmap(piece, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			   (off_t)offset) != MAP_FAILED);
		if (i == 0)
			begin_table();
		else
			refresh();
		id[i] = id_of(piece);
		CHECK_INT(mapping_of(piece)->load_bias, (uintptr_t)piece - offset);
		CHECK_INT(mapping_of(piece)->flags, HS_MAPPING_FILE | HS_MAPPING_FLAT);
	}
	CHECK(id[0] != id[1] && id[0] == id[2]);
	map_at(base, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK(id_of(piece) != id[2]);
	CHECK_INT(mapping_of(piece)->load_bias, (uintptr_t)piece - 2 * PAGE);
	CHECK_INT(mapping_of(piece)->flags, HS_MAPPING_FILE);
	munmap(base, 8 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

static void test_anonymous_code(void)
{
	unsigned char *code = map_at(NULL, -1, 8 * PAGE, PROT_NONE);
	const struct hs_mapping *mapping;
	uint32_t id;

	mprotect(code + PAGE, 4 * PAGE, PROT_READ | PROT_EXEC);
	begin_table();
	id = id_of(code + PAGE);
	mapping = mapping_of(code + PAGE);
	CHECK_STR(mapping->path, "//anon");
	CHECK_INT(mapping->flags, HS_MAPPING_ANONYMOUS);
	CHECK_INT(mapping->eh_frame_hdr, 0);
	CHECK(hs_mapping_table_is_readable(table, (uintptr_t)code + PAGE, 4 * PAGE));
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)code + PAGE, 4 * PAGE + 1));
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)code, 1));

	/* While a page is writable it has no id; the rest keeps its id. */
	mprotect(code + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE);
	refresh();
	CHECK_INT(id_of(code + PAGE), id);
	CHECK_INT(id_of(code + 2 * PAGE), HS_MAPPING_NONE);
	CHECK_INT(id_of(code + 3 * PAGE), id);
	mprotect(code + 2 * PAGE, PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK_INT(id_of(code + 2 * PAGE), id);
	CHECK_INT(hs_mapping_table_generation(table), 3);

	/* When it grows it is the same mapping, though its first page be writable just then. */
	mprotect(code + PAGE, 5 * PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK_INT(id_of(code + PAGE), id);
	CHECK_INT(id_of(code + 5 * PAGE), id);
	CHECK_INT(mapping->start, (uintptr_t)code + PAGE);
	CHECK_INT(mapping->end, (uintptr_t)code + 6 * PAGE);
	mprotect(code + PAGE, PAGE, PROT_READ | PROT_WRITE);
	mprotect(code + 6 * PAGE, PAGE, PROT_READ | PROT_EXEC);
	refresh();
	CHECK_INT(id_of(code + 6 * PAGE), id);
	CHECK_INT(mapping->end, (uintptr_t)code + 7 * PAGE);
	/* What begins before it is another one. */
	mprotect(code, 7 * PAGE, PROT_READ | PROT_EXEC);
	mprotect(code + 4 * PAGE, PAGE, PROT_NONE);
	refresh();
	CHECK(id_of(code) != id);
	CHECK_INT(mapping->start, (uintptr_t)code + PAGE);
	munmap(code, 8 * PAGE);
	end_table();
}

/* Of generated code a part is unmapped: that is former code.  Not more than a bound of it is. */
static void test_former_code(void)
{
	const int code = PROT_READ | PROT_EXEC;
	const size_t pieces = 5000;
	unsigned char *base = map_at(NULL, -1, 2 * pieces * PAGE, PROT_NONE);
	uint32_t id;

	mprotect(base, 2 * PAGE, code);
	begin_table();
	id = id_of(base + PAGE);
	CHECK(id != HS_MAPPING_NONE);
	munmap(base + PAGE, PAGE);
	refresh();
	CHECK_INT(id_of(base + PAGE), HS_MAPPING_NONE);
	CHECK_INT(hs_mapping_table_find_former(table, (uintptr_t)base + PAGE), id);
	CHECK_INT(id_of(base), id);

	for (size_t i = 1; i < pieces; i++)
		mprotect(base + 2 * i * PAGE, PAGE, code);
	refresh();
	munmap(base, 2 * pieces * PAGE);
	refresh();
	CHECK(hs_mapping_table_find_former(table, (uintptr_t)base) != HS_MAPPING_NONE);
	refresh();
	CHECK_INT(hs_mapping_table_find_former(table, (uintptr_t)base), HS_MAPPING_NONE);
	end_table();
}

static void test_memfd_code(void)
{
	int fd = memfd_create("jit code", MFD_CLOEXEC);
	unsigned char *code;

	CHECK_INT(ftruncate(fd, 2 * PAGE), 0);
	code = map_at(NULL, fd, 2 * PAGE, PROT_READ | PROT_EXEC);
	begin_table();
	CHECK_STR(mapping_of(code)->path, "/memfd:jit code");
	CHECK_INT(mapping_of(code)->flags, HS_MAPPING_ANONYMOUS);
	/* Truncated under us: no fault. */
	CHECK_INT(ftruncate(fd, 0), 0);
	refresh();
	munmap(code, 2 * PAGE);
	close(fd);
	end_table();
}

static void test_readable(void)
{
	static int data = 1;
	static char zeroed[64 * 4096];
	int on_stack = 1;
	int *on_heap = malloc(sizeof *on_heap);
	char path[256];
	int fd = make_object(path, sizeof path, "hs-test-data", 'd');
	unsigned char *file = map_at(NULL, fd, 3 * PAGE, PROT_READ);

	begin_table();
	CHECK(hs_mapping_table_is_readable(table, (uintptr_t)&test_readable, 8));
	CHECK(hs_mapping_table_is_readable(table, (uintptr_t)&data, sizeof data));
	CHECK(hs_mapping_table_is_readable(table, (uintptr_t)"constant", 8));
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)&on_stack, sizeof on_stack));
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)on_heap, sizeof *on_heap));
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)&zeroed[sizeof zeroed / 2], 1));
	/* A file without code may be anything, so it is not read. */
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)file, 1));
	CHECK(!hs_mapping_table_is_readable(table, 0, 1));
	CHECK(!hs_mapping_table_is_readable(table, UINT64_MAX, 1));
	CHECK(!hs_mapping_table_is_readable(table, (uintptr_t)&test_readable, SIZE_MAX));
	munmap(file, 3 * PAGE);
	close(fd);
	unlink(path);
	free(on_heap);
	end_table();
}

/* Alternating protections: as many lines as pages. */
static void test_many_lines(void)
{
	enum { PAGES = 12000 };
	unsigned char *pages = map_at(NULL, -1, PAGES * PAGE, PROT_NONE);
	uint64_t skipped = hs_stats_get(map_lines_skipped);

	for (size_t i = 0; i < PAGES; i += 2)
		CHECK_INT(mprotect(pages + i * PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
	begin_table();
	for (size_t i = 0; i < PAGES; i++) {
		uint32_t id = id_of(pages + i * PAGE + 5);
		if (i % 2 == 1)
			CHECK_INT(id, HS_MAPPING_NONE);
		else
			CHECK_INT(hs_mapping_table_get(table, id)->start,
				  (uintptr_t)pages + i * PAGE);
	}
	CHECK(hs_mapping_table_count(table) >= PAGES / 2);
	CHECK_INT(hs_stats_get(map_lines_skipped), skipped);
	munmap(pages, PAGES * PAGE);
	refresh();
	CHECK_INT(id_of(pages), HS_MAPPING_NONE);
	end_table();
}

static long failing_call;
static long failure;
static int failures_left;

static long inject(long number)
{
	return number == failing_call && failures_left-- > 0 ? failure : 0;
}

static void fail_next(long number, long error, int times)
{
	failing_call = number;
	failure = error;
	failures_left = times;
	atomic_store(&hs_sys_fault, inject);
}

static void test_failures_keep_the_old_index(void)
{
	const void *here = (const void *)(uintptr_t)&test_failures_keep_the_old_index;
	uint64_t failures = hs_stats_get(map_read_failures);
	uint32_t id;

	begin_table();
	id = id_of(here);
	fail_next(SYS_openat, -EMFILE, 1);
	CHECK_INT(hs_mapping_table_refresh(table), -EMFILE);
	fail_next(SYS_pread64, -EIO, 1);
	CHECK_INT(hs_mapping_table_refresh(table), -EIO);
	CHECK_INT(hs_stats_get(map_read_failures), failures + 2);
	CHECK_INT(id_of(here), id);
	CHECK_INT(hs_mapping_table_generation(table), 1);
	fail_next(SYS_pread64, -EINTR, 3);
	refresh();
	atomic_store(&hs_sys_fault, NULL);
	CHECK_INT(id_of(here), id);
	end_table();
}

static long close_and_open(long number)
{
	if (number == SYS_pread64) {
		hs_close_begins();
		hs_close_ends(true);
		atomic_fetch_add(&hs_library_opens, 1);
	}
	return 0;
}

/* What comes or goes while the maps are read is later than they are. */
static void test_libraries_meanwhile(void)
{
	uint32_t closes;
	uint64_t opens;

	begin_table();
	closes = hs_closes_over(hs_closes_now());
	opens = atomic_load(&hs_library_opens);
	atomic_store(&hs_sys_fault, close_and_open);
	refresh();
	atomic_store(&hs_sys_fault, NULL);
	CHECK(hs_closes_over(hs_closes_now()) > closes && atomic_load(&hs_library_opens) > opens);
	CHECK_INT(hs_mapping_table_closes(table), closes);
	CHECK_INT(hs_mapping_table_opens(table), opens);
	end_table();
}

static int taken;

static long take_descriptor(long number)
{
	if (number == SYS_pread64 && taken == 0) {
		int lowest = dup(STDERR_FILENO);

		for (int fd = 3; fd <= lowest; fd++)
			close(fd);
		taken = open("/dev/null", O_RDONLY);
	}
	return 0;
}

/* The program closes all descriptors, and opens a file under the number that the maps had. */
static void test_descriptor_of_the_program(void)
{
	begin_table();
	taken = 0;
	atomic_store(&hs_sys_fault, take_descriptor);
	CHECK_INT(hs_mapping_table_refresh(table), -EBADF);
	atomic_store(&hs_sys_fault, NULL);
	CHECK_INT(close(taken), 0);
	refresh();
	end_table();
}

/* Objects cannot be read: mappings are known, but not their tables. */
static void test_memory_refused(void)
{
	fail_next(SYS_process_vm_readv, -EFAULT, 1 << 30);
	begin_table();
	atomic_store(&hs_sys_fault, NULL);
	CHECK(id_of((const void *)(uintptr_t)&refresh) != HS_MAPPING_NONE);
	CHECK_INT(mapping_of((const void *)(uintptr_t)&refresh)->eh_frame_hdr, 0);
	end_table();
}

/* A mapping for which there is no memory is left out; all others are there. */
static void test_no_memory_for_a_mapping(void)
{
	const void *here = (const void *)(uintptr_t)&refresh;
	uint64_t skipped = hs_stats_get(mappings_skipped);
	unsigned char *kept = map_at(NULL, -1, PAGE, PROT_READ | PROT_EXEC), *new;
	void *blocks = NULL, *block;
	char path[128];
	int fd = make_object(path, sizeof path, "hs-test-memory", 'm');
	uint32_t id;

	begin_table();
	refresh();
	id = id_of(here);
	new = map_at(NULL, fd, 3 * PAGE, PROT_READ | PROT_EXEC);
	munmap(kept, PAGE);
	for (size_t bytes = 1 << 20; bytes >= 16; bytes /= 2) {
		while ((block = hs_arena_alloc(bytes)) != NULL) {
			*(void **)block = blocks;
			blocks = block;
		}
	}
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	CHECK_INT(hs_stats_get(mappings_skipped), skipped + 1);
	CHECK_INT(id_of(here), id);
	CHECK_INT(id_of(new), HS_MAPPING_NONE);
	while ((block = blocks) != NULL) {
		blocks = *(void **)block;
		hs_arena_free(block);
	}
	refresh();
	CHECK_STR(mapping_of(new)->build_id, "6d6d6d6d6d6d6d6d");
	munmap(new, 3 * PAGE);
	close(fd);
	unlink(path);
	end_table();
}

int main(void)
{
	if (hs_arena_init((size_t)256 << 20) < 0)
		return 99;
	RUN(test_program_and_libraries);
	RUN(test_vdso);
	RUN(test_nothing_changes_without_changes);
	RUN(test_own_mapping_is_marked);
	RUN(test_other_file_at_the_same_address);
	RUN(test_rewritten_file_at_the_same_address);
	RUN(test_rewritten_file_without_a_build_id);
	RUN(test_file_of_no_object_that_grows);
	RUN(test_versions_of_neighbours);
	RUN(test_devices);
	RUN(test_program_without_a_build_id);
	RUN(test_deleted_file_and_split_text);
	RUN(test_first_page_mapped_twice);
	RUN(test_program_headers_in_another_line);
	RUN(test_text_moved_to_anonymous_memory);
	RUN(test_all_text_moved);
	RUN(test_text_moved_with_its_header);
	RUN(test_constant);
	RUN(test_program_in_a_memfd);
	RUN(test_text_moved_to_huge_pages);
	RUN(test_code_in_memory_with_a_name);
	RUN(test_file_mapped_below_its_library);
	RUN(test_anonymous_code_behind_an_object);
	RUN(test_code_mapped_elsewhere_too);
	RUN(test_pieces_of_a_file);
	RUN(test_anonymous_code);
	RUN(test_former_code);
	RUN(test_memfd_code);
	RUN(test_readable);
	RUN(test_many_lines);
	RUN(test_failures_keep_the_old_index);
	RUN(test_libraries_meanwhile);
	RUN(test_descriptor_of_the_program);
	RUN(test_memory_refused);
	RUN(test_no_memory_for_a_mapping);
	return CHECK_RESULT();
}
