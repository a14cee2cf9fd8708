/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What symbols are read from has been read ahead, and that is done between the right calls.  The
 * reads of both are seen: see the linker's flags.
 */
#include "symbolize/read_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"
#include "object_directory.h"
#include "symbolize/symbols.h"

enum { FILES = 8, PAGES = 4096 };

/* The pages that have been read ahead. */
static struct {
	ino_t inode;
	bool pages[PAGES];
} files[FILES];

static bool is_ahead;
static unsigned pages_missing, pages_read, pages_ahead;
static bool reads_fail;
static enum hs_at_file now;
static struct hs_read_ahead ahead;
static struct hs_read_ahead_files known;

static void note_page(ino_t inode, uint64_t page)
{
	size_t i = 0;

	while (i < FILES - 1 && files[i].inode != inode && files[i].inode != 0)
		i++;
	files[i].inode = inode;
	CHECK(page < PAGES);
	pages_missing += !is_ahead && !files[i].pages[page % PAGES];
	pages_read += !is_ahead;
	pages_ahead += is_ahead;
	files[i].pages[page % PAGES] |= is_ahead;
}

static void note_read(int fd, size_t bytes, uint64_t offset)
{
	struct stat file;

	CHECK(fstat(fd, &file) == 0);
	/* What is behind the end is in no page. */
	for (uint64_t page = offset / HS_PAGE_BYTES;
	     page * HS_PAGE_BYTES < offset + bytes && page * HS_PAGE_BYTES < (uint64_t)file.st_size;
	     page++)
		note_page(file.st_ino, page);
}

ssize_t __real_hs_sys_pread(int fd, void *buffer, size_t bytes, uint64_t offset);
ssize_t __wrap_hs_sys_pread(int fd, void *buffer, size_t bytes, uint64_t offset);
int __real_hs_sys_pread_all(int fd, void *buffer, size_t bytes, uint64_t offset);
int __wrap_hs_sys_pread_all(int fd, void *buffer, size_t bytes, uint64_t offset);

ssize_t __wrap_hs_sys_pread(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	note_read(fd, bytes, offset);
	return reads_fail ? -EIO : __real_hs_sys_pread(fd, buffer, bytes, offset);
}

int __wrap_hs_sys_pread_all(int fd, void *buffer, size_t bytes, uint64_t offset)
{
	note_read(fd, bytes, offset);
	return __real_hs_sys_pread_all(fd, buffer, bytes, offset);
}

/* The order of calls, and that a fork would know what is open. */
static void at_file(enum hs_at_file what)
{
	switch (what) {
	case HS_AT_FILE_BEGINS:
		CHECK(now == HS_AT_FILE_ENDS && !ahead.file.is_open);
		break;
	case HS_AT_FILE_OPENS:
		CHECK(now == HS_AT_FILE_BEGINS || now == HS_AT_FILE_OPENED);
		break;
	case HS_AT_FILE_OPENED:
		CHECK(now == HS_AT_FILE_OPENS);
		break;
	case HS_AT_FILE_ENDS:
		CHECK(now != HS_AT_FILE_OPENS && !ahead.file.is_open);
		break;
	}
	now = what;
}

static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

/* Returns how many pages have been read, each time that they were. */
static unsigned read_ahead(const struct hs_mapping *object)
{
	struct hs_pauses pauses = {.at_file = at_file};
	int free_fd = next_fd();

	memset(files, 0, sizeof files);
	pages_ahead = 0;
	now = HS_AT_FILE_ENDS;
	is_ahead = true;
	hs_read_ahead(&ahead, object, &known, &pauses);
	is_ahead = false;
	CHECK_INT(now, HS_AT_FILE_ENDS);
	CHECK_INT(next_fd(), free_fd);
	return pages_ahead;
}

/* Reads the object ahead, and then its symbols.  name: of a function that has to be among them. */
static void check(struct hs_mapping *object, const char *name)
{
	struct hs_symbols *symbols;
	unsigned found = 0;

	known = (struct hs_read_ahead_files){{0}};
	pages_missing = pages_read = 0;
	read_ahead(object);
	CHECK_INT(hs_symbols_load(object, NULL, NULL, &symbols), 0);
	for (uint64_t at = 0; symbols != NULL && at < 0x10000; at++) {
		const char *there = hs_symbols_find(symbols, at);

		found += there != NULL && strcmp(there, name) == 0;
	}
	CHECK(found > 0);
	CHECK(pages_read > 0);
	CHECK_INT(pages_missing, 0);
	hs_symbols_free(symbols);
}

/* Builds NAME by the commands, and fills in what the maps would tell of it. */
static bool make(struct hs_mapping *object, const char *build_id, const char *commands)
{
	static char path[256];
	struct stat file;

	snprintf(path, sizeof path, "%s/object", directory);
	*object = (struct hs_mapping){.path = path, .flags = HS_MAPPING_FILE};
	if (!run("rm -rf object .debug root; ${CC:-cc} -O1 -g -w -shared -fPIC -o object source.c "
		 "-Wl,--build-id=%s%s && %s", build_id[0] != '\0' ? "0x" : "none", build_id,
		 commands) || stat(path, &file) != 0)
		return false;
	object->inode = file.st_ino;
	strcpy(object->build_id, build_id);
	return true;
}

static void tables_of_the_object(void)
{
	struct hs_mapping object;

	CHECK(make(&object, "abcdef01", "true"));
	check(&object, "hidden");
	CHECK(make(&object, "abcdef01", "strip object"));
	check(&object, "shown");
}

static const char debug_beside[] =
	"mkdir .debug && objcopy --only-keep-debug object .debug/names && strip object && "
	"objcopy --add-gnu-debuglink=.debug/names object";

static void a_debug_file(void)
{
	struct hs_mapping object;

	CHECK(make(&object, "abcdef01", debug_beside));
	check(&object, "hidden");
	/* Which is known by its checksum. */
	CHECK(make(&object, "", debug_beside));
	check(&object, "hidden");
}

static void a_debug_file_of_an_object_out_of_reach(void)
{
	struct hs_mapping object;

	CHECK(make(&object, "abcdef01", "mkdir -p root/.build-id/ab && objcopy --only-keep-debug "
					"object root/.build-id/ab/cdef01.debug && rm object && "
					"echo another >object"));
	object.inode++;
	check(&object, "hidden");
}

static void compressed_symbols(void)
{
	struct hs_mapping object;

	if (!make(&object, "abcdef01",
		  "objcopy --only-keep-debug object mini && "
		  "objcopy -S --keep-symbol=hidden mini && xz -f mini && strip object && "
		  "objcopy --add-section .gnu_debugdata=mini.xz object"))
		printf("left out: compressed symbols, for there is no xz\n");
	else
		check(&object, "hidden");
}

/* What is no object, or nothing to be opened. */
static void damaged_objects(void)
{
	struct hs_mapping object;

	CHECK(make(&object, "abcdef01", "truncate -s 70 object"));
	read_ahead(&object);
	CHECK(make(&object, "abcdef01", "rm object && mkfifo object"));
	read_ahead(&object);
}

/* All symbols are looked at each time, but of their names few. */
static void names_are_read_once(void)
{
	struct hs_mapping object;
	unsigned first, again;

	CHECK(make(&object, "abcdef01", debug_beside));
	first = read_ahead(&object);
	again = read_ahead(&object);
	/* Those of the object and of its debug file, of at least 4,000 bytes each. */
	CHECK(again + 2 <= first);
	CHECK_INT(read_ahead(&object), again);
	CHECK(run("touch .debug/names"));
	CHECK(read_ahead(&object) > again);
	CHECK(run("touch object"));
	CHECK(read_ahead(&object) > again);
	CHECK_INT(read_ahead(&object), again);
	CHECK(run("touch object .debug/names"));
	reads_fail = true;
	read_ahead(&object);
	reads_fail = false;
	CHECK_INT(read_ahead(&object), first);
}

/* Of a debug file whose checksum would take too long, and of relocations, which are for slots. */
static void what_is_hardly_needed_is_left(void)
{
	struct hs_mapping object;
	unsigned without;

	CHECK(make(&object, "", debug_beside));
	check(&object, "hidden");
	without = read_ahead(&object);
	CHECK(run("truncate -s 300M .debug/names"));
	CHECK(read_ahead(&object) < without);
	CHECK(make(&object, "abcdef01", "true"));
	without = read_ahead(&object);
	CHECK(run("echo 'int *pointers[200000] = {[0 ... 199999] = (int *)shown};' >>source.c"));
	CHECK(make(&object, "abcdef01", "true"));
	CHECK(read_ahead(&object) < without + 100);
}

int main(void)
{
	static char root[64];

	if (hs_arena_init((size_t)64 << 20) < 0 || mkdtemp(directory) == NULL)
		return 1;
	snprintf(root, sizeof root, "%s/root", directory);
	hs_debug_file_root = root;
	if (!run("command -v ${CC:-cc} && command -v objcopy"))
		SKIP("no compiler or no binutils");
	/* Enough functions that tables have many pages. */
	CHECK(run("{ echo 'static __attribute__((noinline)) int hidden(int x) "
		  "{ __asm__(\"\" : \"+r\"(x)); return x * 3; }'; "
		  "echo 'int shown(int x) { return hidden(x) + 1; }'; "
		  "for i in $(seq 1000); do echo \"int f_$i(int x) { return x + $i; }\"; done; } "
		  ">source.c"));
	RUN(tables_of_the_object);
	RUN(a_debug_file);
	RUN(a_debug_file_of_an_object_out_of_reach);
	RUN(compressed_symbols);
	RUN(damaged_objects);
	RUN(names_are_read_once);
	RUN(what_is_hardly_needed_is_left);
	CHECK_INT(hs_arena_used(), 0);
	run("rm -rf $PWD");
	return CHECK_RESULT();
}
