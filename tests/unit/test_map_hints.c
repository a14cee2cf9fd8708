/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of map hints: which mapping an address has after hints from different sources. */
#include "maps/map_hints.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/elf_file.h"
#include "base/file_version.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/sys.h"
#include "check.h"
#include "elf_writer.h"
#include "maps/hint_setting.h"
#include "maps/mapping_table.h"
#include "unwind/hint_frames.h"

static struct hs_mapping_store store;
static struct hs_map_hints *hints;
static size_t used_before;
static int free_before;
static char directory[] = "/tmp/test_map_hints.XXXXXX";

/* The lowest descriptor that is not open. */
static int free_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void begin(const char *setting)
{
	free_before = free_descriptor();
	used_before = hs_arena_used();
	hs_mapping_store_init(&store);
	hints = hs_map_hints_create(&store, setting, false);
	CHECK(hints != NULL);
	hs_map_hints_follow(hints);
}

static void end(void)
{
	hs_map_hints_destroy(hints);
	hs_mapping_store_fini(&store);
	CHECK_INT(hs_arena_used(), used_before);
	CHECK_INT(free_descriptor(), free_before);
}

static const struct hs_mapping *at(uint64_t address)
{
	return hs_mapping_store_get(&store, hs_map_hints_find(hints, address));
}

/* The objects of addresses 0x1000, 0x1100 and so on, by the last letter of their names. */
static const char *row(unsigned count)
{
	static char letters[64];

	for (unsigned i = 0; i < count; i++) {
		const struct hs_mapping *mapping = at(0x1000 + 0x100 * i);
		letters[i] = mapping != NULL ? mapping->path[strlen(mapping->path) - 1] : '-';
	}
	letters[count] = '\0';
	return letters;
}

static void write_file(const char *name, const void *bytes, size_t count)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK_INT(write(fd, bytes, count), count);
	close(fd);
}

static void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

static void test_bounds(void)
{
	begin("a,0x1000,0x100;/x/b,0x1234,1,5");
	CHECK(at(0xfff) == NULL);
	CHECK(at(0x1000) == at(0x10ff) && at(0x1000) != NULL);
	CHECK(at(0x1100) == NULL);
	CHECK(at(0x1233) == NULL);
	CHECK_STR(at(0x1234)->path, "/x/b");
	CHECK(at(0x1235) == NULL);
	/* Code of an object that cannot be read is named by its offset. */
	CHECK_INT(at(0x1234)->start, 0x1234);
	CHECK_INT(at(0x1234)->end, 0x1235);
	CHECK_INT(at(0x1234)->offset, 5);
	CHECK_INT(at(0x1234)->load_bias, 0x1234 - 5);
	CHECK_INT(at(0x1234)->flags, HS_MAPPING_FILE | HS_MAPPING_HINT | HS_MAPPING_FLAT);
	end();
}

/* Relative to the directory in which the program started, even after it has changed it. */
static void test_relative_path(void)
{
	char want[PATH_MAX];

	CHECK(getcwd(want, sizeof want - 8) != NULL);
	strcat(want, "/x/a");
	begin("x/a,0x1000,1");
	CHECK_INT(chdir("/"), 0);
	CHECK_STR(at(0x1000)->path, want);
	CHECK_INT(hs_map_hints_add(hints, "x/a", 0x2000, 1, 0), 0);
	CHECK_STR(at(0x2000)->path, want);
	CHECK_INT(chdir(directory), 0);
	end();
}

/* It has no name that a path could begin with. */
static void test_removed_directory(void)
{
	CHECK_INT(mkdir("removed", 0700), 0);
	CHECK_INT(chdir("removed"), 0);
	CHECK_INT(rmdir("../removed"), 0);
	begin("x/a,0x1000,1");
	CHECK_STR(at(0x1000)->path, "x/a");
	CHECK_INT(chdir(directory), 0);
	end();
}

/* The later one wins where they overlap; a call wins over the setting. */
static void test_overlaps(void)
{
	begin("a,0x1000,0x500;b,0x1200,0x100;c,0x0f00,0x200;d,0x1400,0x200");
	CHECK_STR(row(7), "cabadd-");
	CHECK_INT(hs_map_hints_add(hints, "/e", 0x1100, 0x200, 0), 0);
	CHECK_STR(row(7), "ceeadd-");
	CHECK_INT(hs_map_hints_add(hints, "/f", 0x1200, 0x300, 0), 0);
	CHECK_STR(row(7), "cefffd-");
	CHECK_INT(hs_map_hints_remove(hints, 0x1200, 0x100), 0);
	CHECK_STR(row(7), "ce-ffd-");
	CHECK_INT(hs_map_hints_remove(hints, 0, 0x10000), 0);
	CHECK_STR(row(7), "-------");
	end();
}

static void test_generation(void)
{
	uint64_t generation;

	begin("");
	CHECK_INT(hs_map_hints_generation(hints), 0);
	hs_map_hints_add(hints, "/e", 0x1100, 0x200, 0);
	generation = hs_map_hints_generation(hints);
	CHECK(generation > 0);
	at(0x1100);
	hs_map_hints_follow(hints);
	CHECK_INT(hs_map_hints_generation(hints), generation);
	hs_map_hints_remove(hints, 0x1100, 0x200);
	CHECK(hs_map_hints_generation(hints) > generation);
	end();

	/* Also if the file has no hint any more. */
	write_text("hints", "a,0x1000,1");
	begin("@hints");
	generation = hs_map_hints_generation(hints);
	write_text("hints", "");
	hs_map_hints_follow(hints);
	CHECK_STR(row(1), "-");
	CHECK(hs_map_hints_generation(hints) > generation);
	end();
}

/* For this process, for another, and for the child. */
static void test_pid(void)
{
	char text[128];
	int status, tube[2];
	pid_t child;

	CHECK_INT(pipe(tube), 0);
	child = fork();
	if (child == 0) {
		/* The parent writes the child's pid into the file first. */
		CHECK_INT(read(tube[0], text, 1), 1);
	} else {
		snprintf(text, sizeof text, "a@%d,0x1000,1;b@1,0x1100,1;d@%d,0x1300,1;c,0x1200,1",
			 (int)getpid(), (int)child);
		write_text("pids", text);
	}
	if (child == 0) {
		check_failures = 0;
		begin("@pids");
		CHECK_STR(row(4), "--cd");
		_exit(check_failures != 0);
	}
	begin("@pids");
	CHECK_STR(row(4), "a-c-");
	CHECK_INT(write(tube[1], "", 1), 1);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	hs_map_hints_add(hints, "/e", 0x1400, 1, 0);

	/* Hints that were there before a fork: those for the parent are not the child's. */
	child = fork();
	if (child == 0) {
		check_failures = 0;
		hs_map_hints_follow(hints);
		CHECK_STR(row(5), "--c-e");
		_exit(check_failures != 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	end();
	close(tube[0]);
	close(tube[1]);
}

static void test_file(void)
{
	unlink("hints");
	begin("@hints");
	CHECK_STR(row(3), "---");
	write_text("hints", "# a comment\na,0x1000,1\nb,0x1100,1;c,0x1200,1");
	CHECK_STR(row(3), "---");
	hs_map_hints_follow(hints);
	CHECK_STR(row(3), "abc");
	hs_map_hints_add(hints, "/e", 0x1100, 1, 0);
	/* Rewritten with the same size, within a tick of the clock. */
	for (unsigned i = 0; i < 100; i++) {
		write_text("hints", "# a comment\nz,0x1000,1\ny,0x1100,1;x,0x1200,1");
		hs_map_hints_follow(hints);
		CHECK_STR(row(3), "zex");
		write_text("hints", "# a comment\nd,0x1000,1\ne,0x1100,1;f,0x1200,1");
		hs_map_hints_follow(hints);
		CHECK_STR(row(3), "def");
	}
	/* A malformed hint does not prevent the others. */
	write_text("hints", "g,0x1000\nh,0x1200,1\n");
	hs_map_hints_follow(hints);
	CHECK_STR(row(3), "-eh");
	/* Hints stay when the file is removed, but go when it is emptied. */
	unlink("hints");
	hs_map_hints_follow(hints);
	CHECK_STR(row(3), "-eh");
	write_text("hints", "");
	hs_map_hints_follow(hints);
	CHECK_STR(row(3), "-e-");
	end();
}

/* What is not a regular file, or too long, is not read; a FIFO is not waited for. */
static void test_odd_files(void)
{
	unlink("hints");
	CHECK_INT(mkfifo("hints", 0600), 0);
	begin("@hints");
	CHECK_STR(row(1), "-");
	unlink("hints");
	CHECK_INT(mkdir("hints", 0700), 0);
	hs_map_hints_follow(hints);
	CHECK_STR(row(1), "-");
	rmdir("hints");
	write_text("hints", "a,0x1000,1\n");
	CHECK_INT(truncate("hints", HS_HINT_FILE_BYTES + 1), 0);
	hs_map_hints_follow(hints);
	CHECK_STR(row(1), "-");
	CHECK_INT(truncate("hints", HS_HINT_FILE_BYTES), 0);
	hs_map_hints_follow(hints);
	CHECK_STR(row(1), "a");
	end();
}

struct segments {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
};

/* Two segments with code: bytes from 0x1000 on are for addresses from `first` on. */
static void write_object(const char *name, uint64_t first, off_t bytes)
{
	struct segments object = {
		.header = __ehdr_start,
		.segments = {
			{.p_type = PT_LOAD, .p_flags = PF_R, .p_offset = 0, .p_filesz = 0x1000},
			{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000,
			 .p_vaddr = first, .p_filesz = 0x200},
			{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1200,
			 .p_vaddr = 0x8200, .p_filesz = 0x400},
		},
	};

	object.header.e_type = ET_DYN;
	object.header.e_phoff = offsetof(struct segments, segments);
	object.header.e_phnum = 3;
	object.header.e_shoff = 0;
	object.header.e_shnum = 0;
	object.header.e_shstrndx = 0;
	write_file(name, &object, sizeof object);
	CHECK_INT(truncate(name, bytes), 0);
}

/* An object is read at the first look-up, and need not exist before. */
static void test_object_of_segments(void)
{
	struct stat status;
	uint32_t before;

	begin("object,0x100100,0x300,0x1100;object,0x200000,0x100,0x1200;object,0x300000,1,0x9000;"
	      "object,0x400000,0x100,0x800");
	write_object("object", 0x3000, 0x1600);
	CHECK_INT(stat("object", &status), 0);
	/* Run-time address 0x100100 is ELF address 0x3100; 0x100200 is 0x8200. */
	CHECK_INT(at(0x100100)->load_bias, 0x100100 - 0x3100);
	CHECK_INT(at(0x1001ff)->load_bias, 0x100100 - 0x3100);
	CHECK_INT(at(0x100200)->load_bias, 0x100200 - 0x8200);
	CHECK_INT(at(0x1003ff)->load_bias, 0x100200 - 0x8200);
	CHECK(at(0x100400) == NULL);
	CHECK_INT(at(0x200000)->load_bias, 0x200000 - 0x8200);
	CHECK_INT(at(0x100100)->inode, status.st_ino);
	CHECK_INT(at(0x100100)->device, status.st_dev);
	CHECK_INT(at(0x100100)->flags, HS_MAPPING_FILE | HS_MAPPING_HINT);
	/* Not of a segment: an offset, which is no address. */
	CHECK_INT(at(0x300000)->load_bias, 0x300000 - 0x9000);
	CHECK_INT(at(0x300000)->flags, HS_MAPPING_FILE | HS_MAPPING_HINT | HS_MAPPING_FLAT);
	CHECK_INT(at(0x400000)->load_bias, 0x400000 - 0x800);
	CHECK_INT(at(0x400000)->flags, HS_MAPPING_FILE | HS_MAPPING_HINT | HS_MAPPING_FLAT);

	/* Rewritten in place: hints from now on are for another mapping. */
	write_object("object", 0x4000, 0x1600);
	hs_map_hints_add(hints, "object", 0x100100, 0x300, 0x1100);
	CHECK_INT(at(0x100100)->load_bias, 0x100100 - 0x4100);

	/* So too if the code is where it was: what the addresses have now is another function. */
	before = hs_map_hints_find(hints, 0x100100);
	write_object("object", 0x4000, 0x1700);
	hs_map_hints_add(hints, "object", 0x100100, 0x300, 0x1100);
	CHECK_INT(at(0x100100)->load_bias, 0x100100 - 0x4100);
	CHECK(hs_map_hints_find(hints, 0x100100) != before);
	end();
}

/* Another file has the object's name by now: its unwind tables are not the code's. */
static void test_replaced_object(void)
{
	struct hs_mapping_table *table = hs_mapping_table_create();
	struct hs_hint_frames *frames = hs_hint_frames_create();
	uint64_t missing = hs_stats_get(hint_tables_missing);
	struct hs_search_table tables;
	struct hs_mapping own, other, unnamed;

	CHECK_INT(hs_mapping_table_refresh(table), 0);
	own = *hs_mapping_table_get(
		table, hs_mapping_table_find(table, (uintptr_t)&test_replaced_object));
	CHECK(hs_hint_frames_find(frames, &own, &tables));
	other = own;
	strcpy(other.build_id, "00");
	CHECK(!hs_hint_frames_find(frames, &other, &tables));
	CHECK_INT(hs_stats_get(hint_tables_missing), missing + 1);
	unnamed = own;
	unnamed.build_id[0] = '\0';
	unnamed.inode++;
	CHECK(!hs_hint_frames_find(frames, &unnamed, &tables));
	CHECK_INT(hs_stats_get(hint_tables_missing), missing + 2);
	hs_hint_frames_destroy(frames);
	hs_mapping_table_destroy(table);
}

/* With a hint addresses of a table mean something else. */
static void test_generation_of_a_table(void)
{
	struct hs_mapping_table *table = hs_mapping_table_create();
	struct hs_map_hints *its = hs_mapping_table_add_hints(table, "");
	uint64_t generation;

	CHECK_INT(hs_mapping_table_refresh(table), 0);
	generation = hs_mapping_table_generation(table);
	CHECK_INT(hs_map_hints_add(its, "/e", 0x1100, 0x200, 0), 0);
	CHECK(hs_mapping_table_generation(table) != generation);
	hs_mapping_table_destroy(table);
}

/* Until the hint has been given another mapping. */
static void follow_until_changed(void)
{
	uint64_t generation = hs_map_hints_generation(hints);

	for (int i = 0; i < 60000 && hs_map_hints_generation(hints) == generation; i++) {
		usleep(1000);
		hs_map_hints_follow(hints);
	}
	CHECK(hs_map_hints_generation(hints) != generation);
}

static unsigned looks;

static long count_looks(long number)
{
	looks += number == SYS_newfstatat;
	return 0;
}

/* An object that comes after the first look-up names what is looked up later. */
static void test_late_object(void)
{
	enum { LOOKS = 1000 };

	begin("late,0x100000,0x200,0x1000;never,0x200000,1");
	/* Of missing objects, too, only those of present hints are looked for. */
	for (unsigned i = 0; i < 100; i++) {
		CHECK_INT(hs_map_hints_add(hints, "/gone", 0x300000, 1, 0), 0);
		CHECK_INT(at(0x300000)->load_bias, 0x300000);
	}
	CHECK_INT(at(0x100000)->flags, HS_MAPPING_FILE | HS_MAPPING_HINT | HS_MAPPING_FLAT);
	CHECK_INT(at(0x100000)->load_bias, 0x100000 - 0x1000);
	CHECK_STR(at(0x200000)->path + strlen(directory), "/never");
	write_object("late", 0x3000, 0x1600);
	follow_until_changed();
	CHECK_INT(at(0x100000)->flags, HS_MAPPING_FILE | HS_MAPPING_HINT);
	CHECK_INT(at(0x100000)->load_bias, 0x100000 - 0x3000);
	CHECK_INT(at(0x200000)->load_bias, 0x200000);
	/* The other is not looked for each time. */
	looks = 0;
	hs_sys_fault = count_looks;
	for (unsigned i = 0; i < LOOKS; i++)
		hs_map_hints_follow(hints);
	hs_sys_fault = NULL;
	CHECK(looks < LOOKS);
	end();
}

static long no_descriptor(long number)
{
	return number == SYS_openat ? -EMFILE : 0;
}

static long no_reading(long number)
{
	return number == SYS_pread64 ? -EIO : 0;
}

static void check_late_read(long (*fault)(long number))
{
	struct stat status;

	write_object("object", 0x3000, 0x1600);
	CHECK_INT(stat("object", &status), 0);
	begin("object,0x100000,0x200,0x1000");
	hs_sys_fault = fault;
	CHECK_INT(at(0x100000)->flags, HS_MAPPING_FILE | HS_MAPPING_HINT | HS_MAPPING_FLAT);
	hs_sys_fault = NULL;
	CHECK_INT(at(0x100000)->inode, status.st_ino);
	CHECK_INT(at(0x100000)->version, hs_file_version(&status));
	follow_until_changed();
	CHECK_INT(at(0x100000)->load_bias, 0x100000 - 0x3000);
	end();
}

/*
 * So does one for which there was no descriptor, or whose disk failed; that file, and no other,
 * names what came first.
 */
static void test_late_read(void)
{
	check_late_read(no_descriptor);
	check_late_read(no_reading);
}

/* A hinted object is known by the build id of its file, if it has one. */
static void test_build_id(void)
{
	char path[64];
	struct hs_elf_file file;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)getpid());
	CHECK_INT(hs_elf_file_open(&file, path), 0);
	CHECK(file.build_id[0] != '\0');
	begin("");
	hs_map_hints_add(hints, path, 0x100000, 0x1000000, 0);
	CHECK_STR(at(0x100000)->build_id, file.build_id);
	CHECK_INT(at(0x100000)->version, 0);
	end();
	hs_elf_file_close(&file);
}

/* However often the hint for an address changes, only present hints take memory. */
static void test_many_changes(void)
{
	size_t most = 0;

	begin("");
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t start = 0x100000 + 0x100 * (uint64_t)(i % 50);

		CHECK_INT(hs_map_hints_add(hints, i % 2 == 0 ? "/a" : "/b", start, 0x180, 0), 0);
		if (i % 3 == 0)
			CHECK_INT(hs_map_hints_remove(hints, start, 0x100), 0);
		if (i < 2000 && hs_arena_used() > most)
			most = hs_arena_used();
		if (i >= 2000)
			CHECK(hs_arena_used() <= most);
	}
	CHECK(at(0x100000 + 0x100 * 49)->path[1] == 'b');
	end();
}

/* Has the file hold `count` hints from 0x1000 on, all for one object. */
static void follow_many(unsigned count, char object)
{
	static char text[HS_HINT_FILE_BYTES];
	size_t used = 0;

	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "/%c,%#x,0x100\n", object,
					 0x1000 + 0x100 * i);
	write_text("hints", text);
	hs_map_hints_follow(hints);
}

/* New hints of a file reuse the places of those that it had before. */
static void test_many_in_a_file(void)
{
	enum { COUNT = 30000, CHANGES = 5 };

	unlink("hints");
	begin("@hints");
	follow_many(COUNT, 'a');
	for (int i = 0; i < CHANGES; i++)
		follow_many(COUNT, (char)('b' + i));
	CHECK_STR(row(3), "fff");
	CHECK(at(0x1000 + 0x100 * COUNT - 1) == at(0x1000 + 0x100 * (COUNT - 1)));
	CHECK(at(0x1000 + 0x100 * COUNT) == NULL);
	end();
}

static void pass_over(void *context, const struct hs_map_hint *hint)
{
	CHECK(context == NULL && hint->length > 0);
}

/* Checks the messages about a setting, and that they come once. */
static void expect_lines(const char *setting_text, const char *want)
{
	uint64_t malformed = hs_stats_get(map_hints_malformed), lines = 0;
	struct hs_hint_setting setting;
	char text[8192], log_path[64], *line;
	ssize_t bytes;
	int fd;

	snprintf(log_path, sizeof log_path, "%s/log", directory);
	unlink(log_path);
	hs_log_init(HS_LOG_WARN, log_path);
	CHECK_INT(hs_hint_setting_init(&setting, setting_text, true), 0);
	for (int i = 0; i < 2; i++) {
		if (hs_hint_setting_refresh(&setting))
			hs_hint_setting_each(&setting, pass_over, NULL);
	}
	hs_hint_setting_fini(&setting);
	fd = open(log_path, O_RDONLY);
	bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	text[bytes] = '\0';
	close(fd);
	for (line = text; (line = strstr(line, "heapsample[")) != NULL; lines++) {
		char *message = strstr(line, "]: ");
		memmove(line, message + 3, strlen(message + 3) + 1);
	}
	CHECK_STR(text, want);
	if (setting_text[0] != '@')
		CHECK_INT(hs_stats_get(map_hints_malformed) - malformed, lines);
}

static void test_lines(void)
{
	char many[512] = "", want[8192] = "";

	expect_lines("", "");
	expect_lines("a,1,2;b@999999,3,4", "");
	expect_lines("a,1,2;b,12q,4;c",
		     "warning: HEAPSAMPLE_MAP, hint 2: start 12q of 'b,12q,4' is wrong (expected a "
		     "number, decimal or hexadecimal after 0x); the hint is ignored\n"
		     "warning: HEAPSAMPLE_MAP, hint 3: start of 'c' is missing (expected a "
		     "number, decimal or hexadecimal after 0x); the hint is ignored\n");
	unlink("hints");
	snprintf(want, sizeof want, "warning: HEAPSAMPLE_MAP=@hints: there is no such file\n");
	expect_lines("@hints", want);
	write_text("hints", "a,1,2\n\nb,1,0\x1b\n");
	snprintf(want, sizeof want,
		 "warning: %s/hints:3: length 0? of 'b,1,0?' is wrong (expected a number, decimal "
		 "or hexadecimal after 0x); the hint is ignored\n", directory);
	expect_lines("@hints", want);

	/* A file of something else does not fill the log. */
	want[0] = '\0';
	for (unsigned i = 0; i < 30; i++) {
		strcat(many, "x\n");
		if (i < 20)
			sprintf(want + strlen(want),
				"warning: %s/hints:%u: start of 'x' is missing (expected a number, "
				"decimal or hexadecimal after 0x); the hint is ignored%s\n",
				directory, i + 1,
				i == 19 ? ", and further ones without a line" : "");
	}
	write_text("hints", many);
	expect_lines("@hints", want);
}

int main(void)
{
	if (hs_arena_init((size_t)64 << 20) < 0 || mkdtemp(directory) == NULL ||
	    chdir(directory) != 0)
		return 99;
	RUN(test_bounds);
	RUN(test_relative_path);
	RUN(test_removed_directory);
	RUN(test_overlaps);
	RUN(test_generation);
	RUN(test_pid);
	RUN(test_file);
	RUN(test_odd_files);
	RUN(test_object_of_segments);
	RUN(test_replaced_object);
	RUN(test_generation_of_a_table);
	RUN(test_late_object);
	RUN(test_late_read);
	RUN(test_build_id);
	RUN(test_many_changes);
	RUN(test_many_in_a_file);
	RUN(test_lines);
	if (chdir("/") == 0 && fork() == 0)
		execlp("rm", "rm", "-rf", directory, (char *)NULL);
	return CHECK_RESULT();
}
