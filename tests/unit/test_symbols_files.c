/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects made by this machine's tools: stripped ones with their symbols elsewhere,
 * linkage tables, relocatable objects, files that have been removed.  The results are compared with
 * the output of nm and objdump.  Cases whose tool is missing say so, and are left out.
 */
#include "symbolize/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/plt.h"
#include "base/arena.h"
#include "base/file_version.h"
#include "check.h"
#include "elf_loader.h"
#include "object_directory.h"

/* Functions of all kinds, that call others through the linkage table. */
static const char source[] =
	"#include <stdio.h>\n#include <unistd.h>\n"
	"static __attribute__((noinline)) int hidden_one(int x) { return puts(\"a\") + x; }\n"
	"static __attribute__((noinline)) int hidden_two(int x) { return getpid() + x * 3; }\n"
	"int shown_one(int x) { return hidden_one(x) + (int)getuid(); }\n"
	"int shown_two(int x) { return hidden_two(x) + (int)getgid() + 1; }\n"
	"void *taken(void) { void *p = (void *)&getppid; return getppid() == 1 ? 0 : p; }\n"
	"int main(void) { return shown_one(1) + shown_two(2) + (taken() == 0); }\n";

/*
 * Builds NAME from the source.  False, with a line, if it cannot be built here: without another
 * linker, a static C library, or an option of the linker.
 */
static bool build(const char *name, const char *flags)
{
	if (run("${CC:-cc} -O1 -g -w -Wl,--build-id -o %s source.c %s", name, flags))
		return true;
	printf("left out: %s with %s is not built\n", name, flags);
	CHECK(strstr(flags, "=lld") != NULL || strstr(flags, "-static") != NULL ||
	      strstr(flags, "plt") != NULL);
	return false;
}

static struct hs_symbols *load(const char *name, unsigned flags, int *result)
{
	struct hs_mapping object = {.path = path_of(name), .flags = HS_MAPPING_FILE | flags};
	struct hs_symbols *symbols = NULL;

	*result = hs_symbols_load(&object, NULL, NULL, &symbols);
	return symbols;
}

/*
 * Compares the functions that a command prints ("ADDRESS SIZE NAME") with what is found.
 * Returns how many of them are named.
 */
static unsigned compare(const struct hs_symbols *symbols, const char *command, bool all)
{
	char line[1024], whole[1024], name[512];
	unsigned long long start, bytes;
	unsigned named = 0;
	FILE *output;

	snprintf(whole, sizeof whole, "cd %s && { %s; } 2>>log", directory, command);
	output = popen(whole, "r");
	while (symbols != NULL && output != NULL && fgets(line, sizeof line, output) != NULL) {
		if (sscanf(line, "%llx %llx %511s", &start, &bytes, name) != 3 || bytes == 0)
			continue;
		if (!all && hs_symbols_find(symbols, start) == NULL)
			continue;
		named++;
		CHECK_STR(hs_symbols_find(symbols, start), name);
		CHECK_STR(hs_symbols_find(symbols, start + bytes / 2), name);
		CHECK_STR(hs_symbols_find(symbols, start + bytes - 1), name);
		/* A slot of a linkage table is longer than its jump. */
		CHECK(strchr(name, '@') != NULL ||
		      !same_name(hs_symbols_find(symbols, start + bytes), name));
		CHECK(!same_name(hs_symbols_find(symbols, start - 1), name));
	}
	if (output != NULL)
		pclose(output);
	return named;
}

/* Compares the source's functions, as nm finds them in the object that is not stripped. */
static void check_functions(const char *name, const char *unstripped, bool all)
{
	char command[512];
	struct hs_symbols *symbols;
	unsigned named;
	int result;

	symbols = load(name, 0, &result);
	CHECK_INT(result, 0);
	snprintf(command, sizeof command,
		 "nm -S %s | awk '$3 ~ /[Tt]/ && $4 ~ /^(hidden|shown)_/ { print $1, $2, $4 }'",
		 unstripped);
	named = compare(symbols, command, all);
	if (named != (all ? 4 : 2))
		fprintf(stderr, "%s: %u functions have names\n", name, named);
	CHECK_INT(named, all ? 4 : 2);
	hs_symbols_free(symbols);
}

static void linkers_and_kinds_of_objects(void)
{
	static const char *const flags[] = { "-pie -fPIE", "-no-pie -fno-PIE", "-shared -fPIC",
					     "-pie -fPIE -fuse-ld=lld",
					     "-no-pie -fno-PIE -fuse-ld=lld", "-static",
					     "-Wl,--emit-relocs", "-Wl,-Ttext-segment=0x10000000" };

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		if (build("object", flags[i]))
			check_functions("object", "object", true);
	}
}

static void stripped_objects_have_their_dynamic_symbols(void)
{
	if (!build("library", "-shared -fPIC") || !run("strip -o stripped library"))
		return;
	check_functions("stripped", "library", false);
}

/* The build id of a file, by readelf. */
static void read_build_id(const char *name, char *hex, size_t bytes)
{
	char command[512];
	FILE *output;

	snprintf(command, sizeof command,
		 "readelf -n %s | sed -n 's/.*Build ID: //p'", path_of(name));
	output = popen(command, "r");
	if (output == NULL || fgets(hex, (int)bytes, output) == NULL)
		hex[0] = '\0';
	hex[strcspn(hex, "\n")] = '\0';
	if (output != NULL)
		pclose(output);
}

/* Puts DEBUG in turn to each place where the stripped object looks for it, and removes it. */
static void check_places(bool found)
{
	static const char *const places[] = { ".", ".debug", "root/%s" };

	for (size_t i = 0; i < 3; i++) {
		char place[256];

		snprintf(place, sizeof place, places[i], directory);
		CHECK(run("mkdir -p ./%s && cp object.debug ./%s/link.debug", place, place));
		check_functions("stripped", "object", found);
		CHECK(run("rm ./%s/link.debug", place));
		check_functions("stripped", "object", false);
	}
}

/* An object that has its debug file's inode number, on this device or another. */
static void check_devices(void)
{
	struct hs_elf_file file;
	struct hs_debug_key key = {.path = path_of("stripped"), .link = "link.debug"};
	struct stat status;

	CHECK(run("cp object.debug link.debug") && stat(path_of("link.debug"), &status) == 0);
	read_build_id("object", key.build_id, sizeof key.build_id);
	key.device = status.st_dev;
	key.inode = status.st_ino;
	CHECK_INT(hs_debug_file_open(&file, &key), -ENOENT);
	CHECK(hs_debug_file_version(&key) == 0);
	key.device++;
	CHECK_INT(hs_debug_file_open(&file, &key), 0);
	hs_elf_file_close(&file);
	CHECK(hs_debug_file_version(&key) != 0);
	CHECK(run("rm link.debug"));
}

static void debug_links(void)
{
	static const char make[] =
		"objcopy --only-keep-debug object object.debug && cp object.debug link.debug && "
		"strip -o stripped object && objcopy --add-gnu-debuglink=link.debug stripped && "
		"rm link.debug";

	if (!build("object", "-shared -fPIC") || !run("%s", make))
		return;
	check_places(true);
	check_devices();
	/* It is another object's by its build id, though the checksum is right. */
	CHECK(build("object", "-shared -fPIC -DOTHER -Wl,--build-id=0x1234567812345678") &&
	      run("objcopy --only-keep-debug object object.debug && cp object.debug link.debug"));
	CHECK(build("object", "-shared -fPIC -Wl,--build-id=0x5678123456781234") &&
	      run("strip -o stripped object && objcopy --add-gnu-debuglink=link.debug stripped && "
		  "rm link.debug"));
	check_places(false);
	/* Without a build id it is found by the checksum. */
	CHECK(build("object", "-shared -fPIC -Wl,--build-id=none") && run("%s", make));
	check_places(true);
	CHECK(run("printf x >>object.debug"));
	check_places(false);
	/* The object is not its own debug file. */
	CHECK(run("strip -o link.debug object && cp link.debug stripped && "
		  "objcopy --add-gnu-debuglink=link.debug stripped && mv stripped link.debug && "
		  "cp link.debug stripped"));
	check_functions("stripped", "object", false);
}

/* Builds a stripped object, with the rest of its symbols in its .gnu_debugdata, from mini.xz. */
static bool build_compressed(void)
{
	if (build("object", "-shared -fPIC") &&
	    run("nm -D object --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic; "
		"nm object --format=posix --defined-only | "
		"awk '$2 ~ /[Tt]/ { print $1 }' | sort | comm -13 dynamic - >keep; "
		"objcopy --only-keep-debug object mini && "
		"objcopy -S --remove-section .gdb_index --remove-section .comment "
		"--keep-symbols=keep mini && rm -f mini.xz && xz --keep mini && "
		"strip -o stripped object && "
		"objcopy --add-section .gnu_debugdata=mini.xz stripped"))
		return true;
	printf("left out: compressed symbols, for there is no xz\n");
	return false;
}

/* Whether all symbols of the stripped object are read. */
static bool reads_all_of_stripped(void)
{
	int result;
	struct hs_symbols *symbols = load("stripped", 0, &result);
	bool all = symbols != NULL && !hs_symbols_is_partial(symbols);

	CHECK_INT(result, 0);
	hs_symbols_free(symbols);
	return all;
}

static void compressed_symbols(void)
{
	size_t budget = hs_arena_budget();

	if (!build_compressed())
		return;
	check_functions("stripped", "object", true);
	/* The stripper has left a symbol. */
	CHECK(run("strip -K \"$(head -n 1 keep)\" -o some object && "
		  "objcopy --add-section .gnu_debugdata=mini.xz some"));
	check_functions("some", "object", true);
	/* Too little memory for the decompressor. */
	hs_arena_set_budget(hs_arena_used() + (1u << 20));
	CHECK(!reads_all_of_stripped());
	hs_arena_set_budget(budget);
	CHECK(reads_all_of_stripped());
	/* Damaged, cut, and more than is allowed. */
	CHECK(run("head -c 300 mini.xz >cut.xz && objcopy "
		  "--update-section .gnu_debugdata=cut.xz stripped"));
	check_functions("stripped", "object", false);
	CHECK(run("echo no >cut.xz && objcopy --update-section .gnu_debugdata=cut.xz stripped"));
	check_functions("stripped", "object", false);
	CHECK(run("{ cat mini; head -c 100000000 /dev/zero; } | xz -1 >big.xz && objcopy "
		  "--update-section .gnu_debugdata=big.xz stripped"));
	check_functions("stripped", "object", false);
	CHECK(run("xz -9e --lzma2=dict=256MiB -c mini >big.xz && objcopy "
		  "--update-section .gnu_debugdata=big.xz stripped"));
	check_functions("stripped", "object", false);
}

/* Before the parent begins: the lowest free descriptor, the use of the arena. */
static int free_fd;
static size_t used_before;
static unsigned forks;

static int next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static struct hs_symbols *loading;

static void fork_here(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		CHECK(next_fd() > free_fd);
		hs_symbols_after_fork(loading);
		CHECK_INT(next_fd(), free_fd);
		hs_symbols_free(loading);
		CHECK_INT(hs_arena_used(), used_before);
		_exit(CHECK_RESULT());
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	forks++;
}

static void forks_while_symbols_are_decompressed(void)
{
	struct hs_mapping object = {.path = path_of("stripped"), .flags = HS_MAPPING_FILE};
	struct hs_pauses pauses = {.pause = fork_here};

	if (!build_compressed())
		return;
	CHECK(run("{ cat mini; head -c 1000000 /dev/zero; } | xz >big.xz && objcopy "
		  "--update-section .gnu_debugdata=big.xz stripped"));
	free_fd = next_fd();
	used_before = hs_arena_used();
	CHECK_INT(hs_symbols_load(&object, NULL, &pauses, &loading), 0);
	CHECK(forks >= 1000000 / (64 << 10));
	hs_symbols_free(loading);
	CHECK_INT(hs_arena_used(), used_before);
	CHECK_INT(next_fd(), free_fd);
	check_functions("stripped", "object", true);
}

static void linkage_tables(void)
{
	static const char *const flags[] = {
		"-pie -fPIE -Wl,-z,lazy", "-pie -fPIE -Wl,-z,now", "-no-pie -fno-PIE",
		"-shared -fPIC -Wl,-z,lazy", "-pie -fPIE -fcf-protection -Wl,-z,ibtplt",
		"-shared -fPIC -Wl,-z,now -Wl,-z,ibtplt",
		/* objdump before 2.39 does not understand the .plt.sec of lld. */
		"-pie -fPIE -fcf-protection=none -fuse-ld=lld",
	};

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		struct hs_symbols *symbols;
		int result;

		if (!build("object", flags[i]) || !run("strip object"))
			continue;
		symbols = load("object", 0, &result);
		CHECK_INT(result, 0);
		CHECK(compare(symbols,
			      "objdump -d object | sed -n "
			      "'s/^\\([0-9a-f]*\\) <\\(puts\\|getp*pid\\|getuid\\|getgid\\)@plt>:$/"
			      "\\1 6 \\2@plt/p'",
			      true) >= 4);
		hs_symbols_free(symbols);
	}
}

#ifdef __x86_64__
/* Slots as linkers no longer make them, or as mold does, and code that is not a slot. */
static void forms_of_slots(void)
{
	static const struct {
		const char *code;
		size_t bytes;
		uint64_t got; /* 0: no slot */
	} cases[] = {
		{ "\xff\x25\x10\0\0\0", 6, 0x1016 },
		{ "\xf2\xff\x25\x10\0\0\0", 7, 0x1017 },
		{ "\xf3\x0f\x1e\xfa\xf2\xff\x25\xf0\xff\xff\xff", 11, 0xffb },
		{ "\xf3\x0f\x1e\xfa\x41\xbb\1\0\0\0\xff\x25\x10\0\0\0", 16, 0x1020 },
		{ "\xf3\x0f\x1e\xfa\x41\xbb\1\0\0\0\xff\x25\x10\0\0", 15, 0 },
		{ "\xf3\x0f\x1e\xfa\x41\xbb\1\0\0\0", 10, 0 },
		{ "\x41\xbb\1\0\0", 5, 0 },
		{ "\xff\x25\x10\0\0", 5, 0 },
		{ "\xf3\x0f\x1e\xfa\xf2\xff\x25\xf0\xff\xff", 10, 0 },
		{ "\xff\x35\x10\0\0\0", 6, 0 },
		{ "\xf3\x0f\x1e\xfa", 4, 0 },
		{ "\xf2", 1, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t got = 0;
		const unsigned char *code = (const unsigned char *)cases[i].code;

		CHECK_INT(hs_plt_decode(code, cases[i].bytes, 0x1000, &got), cases[i].got != 0);
		CHECK_INT(got, cases[i].got);
	}
}

static void forms_of_unresolved_slots(void)
{
	static const struct {
		const char *code;
		size_t bytes;
		bool is_unresolved;
	} cases[] = {
		{ "\x68\1\0\0\0", 5, true },
		{ "\xf3\x0f\x1e\xfa\x68\1\0\0\0", 9, true },
		{ "\xf3\x0f\x1e\xfa\x41\x53", 6, true },
		{ "\xf3\x0f\x1e\xfa\x41\x54", 6, false },
		{ "\xf3\x0f\x1e\xfa\x41", 5, false },
		{ "\xf3\x0f\x1e\xfa", 4, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_INT(hs_plt_is_unresolved((const unsigned char *)cases[i].code,
					       cases[i].bytes), cases[i].is_unresolved);
}
#endif

static void check_relocatable(const char *flags, const char *name, const char *want)
{
	const char *functions = "nm -S object.o | awk '$3 ~ /[Tt]/ { print $1, $2, $4 }'";
	struct hs_symbols *symbols;
	int result;

	if (!run("${CC:-cc} -O1 -w -c %s -o object.o part.c", flags))
		return;
	CHECK(load("object.o", 0, &result) == NULL);
	CHECK_INT(result, -ENOEXEC);
	/* Flat: a hint's for an object that could not be read when the code was sampled. */
	for (unsigned flat = 0; flat <= HS_MAPPING_FLAT; flat += HS_MAPPING_FLAT) {
		symbols = load("object.o", HS_MAPPING_HINT | flat, &result);
		CHECK_INT(result, 0);
		if (symbols != NULL)
			CHECK(same_name(hs_symbols_find(symbols, 0), want));
		CHECK_INT(compare(symbols, functions, name != NULL) > 0, want != NULL);
		hs_symbols_free(symbols);
	}
}

static void relocatable_objects(void)
{
	CHECK(run("echo 'int one(int x) { return x + 1; } int two(int x) { return x * 2; }' "
		  ">part.c"));
	check_relocatable("", "one", "one");
	/* With two sections it is not known which one was copied. */
	check_relocatable("-ffunction-sections", NULL, NULL);
	CHECK(run("echo 'int one(int x) { return x + 1; }' >part.c"));
	check_relocatable("-ffunction-sections", "one", "one");
}

int a_function_of_this_program(int x);
__attribute__((noinline)) int a_function_of_this_program(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 7;
}

static void the_running_program_is_found(void)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	struct hs_mapping object = {.path = path_of("nowhere"),
				    .flags = HS_MAPPING_FILE | HS_MAPPING_MAIN};
	struct hs_symbols *symbols = NULL;
	struct stat status;
	Dl_info info;

	self[length > 0 ? length : 0] = '\0';
	dladdr((void *)(uintptr_t)a_function_of_this_program, &info);
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), 0);
	if (symbols != NULL)
		CHECK_STR(hs_symbols_find(symbols, (uintptr_t)a_function_of_this_program -
							   (uintptr_t)info.dli_fbase),
			  "a_function_of_this_program");
	/* Readers of profiles would look for its lines under the path, where they are not. */
	CHECK(symbols == NULL || !hs_symbols_object_has_dwarf(symbols));
	/* Another file has its path now: without a build id that is seen by the inode. */
	hs_symbols_free(symbols);
	symbols = NULL;
	CHECK(stat(self, &status) == 0 && run("cp %s nowhere", "/bin/sh"));
	object.inode = status.st_ino;
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), 0);
	if (symbols != NULL)
		CHECK_STR(hs_symbols_find(symbols, (uintptr_t)a_function_of_this_program -
							   (uintptr_t)info.dli_fbase),
			  "a_function_of_this_program");
	hs_symbols_free(symbols);
	symbols = NULL;
	object.flags = HS_MAPPING_FILE;
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), -ESTALE);
}

/* Code that was mapped by hand is looked up by its place in the file. */
static void addresses_that_are_offsets_into_the_file(void)
{
	const uint64_t base = 0x3000000;
	unsigned long long value = 0;
	struct hs_symbols *symbols;
	char command[512];
	FILE *output;
	int result;

	if (!build("mapped", "-shared -fPIC -Wl,-Ttext-segment=0x3000000"))
		return;
	snprintf(command, sizeof command, "nm %s | sed -n 's/ T shown_one$//p'", path_of("mapped"));
	output = popen(command, "r");
	CHECK(output != NULL && fscanf(output, "%llx", &value) == 1 && value > base);
	pclose(output);
	symbols = load("mapped", HS_MAPPING_FLAT, &result);
	CHECK_INT(result, 0);
	if (symbols == NULL)
		return;
	CHECK_STR(hs_symbols_find(symbols, value - base), "shown_one");
	CHECK(hs_symbols_find(symbols, value) == NULL);
	CHECK_INT(hs_symbols_address(symbols, value - base), value);
	hs_symbols_free(symbols);
}

/* Without a build id a file that was rewritten is recognized by its version. */
static void a_rewritten_file_is_another(void)
{
	struct hs_mapping object = {.path = path_of("rewritten"), .flags = HS_MAPPING_FILE};
	struct hs_symbols *symbols = NULL;
	struct stat status;

	CHECK(run("cp %s rewritten", "/bin/sh") && stat(object.path, &status) == 0);
	object.inode = status.st_ino;
	object.version = hs_file_version(&status);
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), 0);
	hs_symbols_free(symbols);
	CHECK(run("touch -d 2001-02-03 %s", "rewritten"));
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), -ESTALE);
}

/* Linkers take an id of any length, and do not pad it where it is the last note. */
static void build_ids_of_any_length(void)
{
	static const char *const ids[] = { "0a", "0a1b", "0a1b2c", "0a1b2c3d", "0a1b2c3d4e" };

	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		struct hs_mapping object = {.path = path_of("id"), .flags = HS_MAPPING_FILE};
		struct hs_symbols *symbols = NULL;
		char flags[64];

		snprintf(object.build_id, sizeof object.build_id, "%s", ids[i]);
		snprintf(flags, sizeof flags, "-shared -fPIC -Wl,--build-id=0x%s", ids[i]);
		if (!build("id", flags))
			continue;
		CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), 0);
		hs_symbols_free(symbols);
	}
}

static void put_by_build_id(const char *id)
{
	CHECK(run("mkdir -p root/.build-id/%.2s && "
		  "objcopy --only-keep-debug unstripped root/.build-id/%.2s/%s.debug",
		  id, id, id + 2));
}

static void check_loaded(const char *flags)
{
	struct hs_symbols *symbols = NULL;
	struct hs_mapping object = {.path = "/memfd:library"};
	struct link_map *map;
	void *library;

	if (!build("library", flags))
		return;
	library = dlopen(path_of("library"), RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	if (library == NULL)
		return;
	read_build_id("library", object.build_id, sizeof object.build_id);
	CHECK(run("cp library unstripped && rm library"));
	object.load_bias = map->l_addr;
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), 0);
	CHECK_INT(compare(symbols,
			  "nm -S unstripped | awk '$3 ~ /[Tt]/ && $4 ~ /^(hidden|shown)_/ "
			  "{ print $1, $2, $4 }'", false), 2);
	hs_symbols_free(symbols);
	put_by_build_id(object.build_id);
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), 0);
	CHECK_INT(compare(symbols,
			  "nm -S unstripped | awk '$3 ~ /[Tt]/ && $4 ~ /^(hidden|shown)_/ "
			  "{ print $1, $2, $4 }'", true), 4);
	hs_symbols_free(symbols);
	CHECK(run("rm -r root/.build-id"));
	/* Another file is there now, or there is no way to know. */
	object.build_id[0] ^= 1;
	CHECK(hs_symbols_load(&object, NULL, NULL, &symbols) < 0);
	object.build_id[0] = '\0';
	CHECK(hs_symbols_load(&object, NULL, NULL, &symbols) < 0);
	object.build_id[0] = 'a';
	dlclose(library);
	CHECK(hs_symbols_load(&object, NULL, NULL, &symbols) < 0);
}

/* As some strippers do: nothing in the file says where a table is. */
static void drop_section_headers(const char *name)
{
	ElfW(Ehdr) header;
	int fd = open(path_of(name), O_RDWR | O_CLOEXEC);

	CHECK_INT(pread(fd, &header, sizeof header, 0), sizeof header);
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	CHECK_INT(pwrite(fd, &header, sizeof header, 0), sizeof header);
	close(fd);
}

static void loaded_libraries_without_section_headers(void)
{
	struct hs_mapping object = {.flags = HS_MAPPING_FILE};
	struct hs_symbols *symbols = NULL;
	struct link_map *map;
	void *library;

	if (!build("library", "-shared -fPIC"))
		return;
	CHECK(run("cp library headless"));
	drop_section_headers("headless");
	library = dlopen(path_of("headless"), RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	if (library == NULL)
		return;
	read_build_id("library", object.build_id, sizeof object.build_id);
	object.path = path_of("headless");
	object.load_bias = map->l_addr;
	CHECK_INT(hs_symbols_load(&object, NULL, NULL, &symbols), 0);
	CHECK_INT(compare(symbols,
			  "nm -S library | awk '$4 ~ /^shown_/ { print $1, $2, $4 }'", true),
		  2);
	hs_symbols_free(symbols);
	dlclose(library);
}

static void loaded_libraries_without_file(void)
{
	check_loaded("-shared -fPIC");
	check_loaded("-shared -fPIC -Wl,--hash-style=sysv");
	check_loaded("-shared -fPIC -Wl,--hash-style=gnu");
	check_loaded("-shared -fPIC -fuse-ld=lld");
}

int main(void)
{
	size_t used;

	if (hs_arena_init((size_t)256 << 20) < 0 || mkdtemp(directory) == NULL)
		return 1;
	if (!run("command -v ${CC:-cc} && command -v objcopy"))
		SKIP("no compiler or no binutils");
	hs_debug_file_root = strdup(path_of("root"));
	used = hs_arena_used();
	FILE *file = fopen(path_of("source.c"), "we");
	fputs(source, file);
	fclose(file);
	RUN(linkers_and_kinds_of_objects);
	RUN(stripped_objects_have_their_dynamic_symbols);
	RUN(debug_links);
	RUN(compressed_symbols);
	RUN(forks_while_symbols_are_decompressed);
	RUN(linkage_tables);
#ifdef __x86_64__
	RUN(forms_of_slots);
	RUN(forms_of_unresolved_slots);
#endif
	RUN(relocatable_objects);
	RUN(the_running_program_is_found);
	RUN(addresses_that_are_offsets_into_the_file);
	RUN(a_rewritten_file_is_another);
	RUN(build_ids_of_any_length);
	RUN(loaded_libraries_without_section_headers);
	RUN(loaded_libraries_without_file);
	CHECK_INT(hs_arena_used(), used);
	run("rm -rf %s", directory);
	return CHECK_RESULT();
}
