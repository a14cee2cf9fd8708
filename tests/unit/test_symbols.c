/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbol tables of images made by the test: rules, damage, debug files, failures. */
#include "symbolize/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/sys.h"
#include "check.h"
#include "elf_loader.h"
#include "symbolize/debug_file.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define FUNCTION(name, value, bytes) { name, value, bytes, STB_GLOBAL, STT_FUNC, ELF_TEXT }
#define BOUND(name, binding) { name, 0x1010, 0x10, binding, STT_FUNC, ELF_TEXT }

static struct elf_image image;

static const struct elf_symbol plain[] = {
	FUNCTION("first", 0x1000, 0x20),
	FUNCTION("second", 0x1020, 0x20),
	FUNCTION("third", 0x1100, 0x40),
};

static void write_symbols(const struct elf_symbol *symbols, size_t count)
{
	struct elf_spec spec = {.symbols = symbols, .count = count};

	elf_write(&image, &spec);
}

static struct hs_symbols *load_symbols(const struct elf_symbol *symbols, size_t count)
{
	struct hs_symbols *loaded;
	int result;

	write_symbols(symbols, count);
	loaded = load_image(&image, &result);
	CHECK_INT(result, 0);
	return loaded;
}

static void finds_the_function_that_contains_an_address(void)
{
	struct hs_symbols *symbols = load_symbols(plain, COUNT(plain));

	CHECK(hs_symbols_find(symbols, 0xfff) == NULL);
	CHECK_STR(hs_symbols_find(symbols, 0x1000), "first");
	CHECK_STR(hs_symbols_find(symbols, 0x101f), "first");
	CHECK_STR(hs_symbols_find(symbols, 0x1020), "second");
	CHECK_STR(hs_symbols_find(symbols, 0x103f), "second");
	CHECK(hs_symbols_find(symbols, 0x1040) == NULL);
	CHECK(hs_symbols_find(symbols, 0x10ff) == NULL);
	CHECK_STR(hs_symbols_find(symbols, 0x113f), "third");
	CHECK(hs_symbols_find(symbols, 0x1140) == NULL);
	CHECK(hs_symbols_find(symbols, UINT64_MAX) == NULL);
	CHECK(!hs_symbols_object_has_dwarf(symbols));
	hs_symbols_free(symbols);
	hs_symbols_free(NULL);
}

/* Each is preferred to all before it. */
static void prefers_aliases_by_binding_underscore_length_alphabet(void)
{
	static const struct elf_symbol aliases[] = {
		BOUND("__GI_z", STB_LOCAL), BOUND("_zz", STB_LOCAL),
		BOUND("_aa", STB_LOCAL),    BOUND("aaa", STB_LOCAL),
		BOUND("zz", STB_LOCAL),     BOUND("aa", STB_LOCAL),
		BOUND("_zw", STB_WEAK),     BOUND("_aw", STB_WEAK),
		BOUND("zw", STB_WEAK),      BOUND("aw", STB_WEAK),
		BOUND("_zg", STB_GLOBAL),   BOUND("__g", STB_GLOBAL),
		BOUND("aug", STB_GNU_UNIQUE), BOUND("zg", STB_GLOBAL),
		BOUND("ag", STB_GLOBAL),
	};
	struct elf_symbol reversed[COUNT(aliases)];
	struct hs_symbols *symbols;
	size_t count, i;

	for (count = 1; count <= COUNT(aliases); count++) {
		symbols = load_symbols(aliases, count);
		CHECK_STR(hs_symbols_find(symbols, 0x1018), aliases[count - 1].name);
		hs_symbols_free(symbols);
		for (i = 0; i < count; i++)
			reversed[i] = aliases[count - 1 - i];
		symbols = load_symbols(reversed, count);
		CHECK_STR(hs_symbols_find(symbols, 0x1018), aliases[count - 1].name);
		hs_symbols_free(symbols);
	}
}

static void resolves_nested_and_overlapping_symbols(void)
{
	static const struct elf_symbol nested[] = {
		FUNCTION("outer", 0x1100, 0x100), FUNCTION("inner", 0x1140, 0x40),
		FUNCTION("core", 0x1150, 0x10),   FUNCTION("left", 0x1300, 0x20),
		FUNCTION("right", 0x1310, 0x20),  FUNCTION("lengthy", 0x1400, 0x40),
		FUNCTION("brief", 0x1400, 0x10),
	};
	struct hs_symbols *symbols = load_symbols(nested, COUNT(nested));

	CHECK_STR(hs_symbols_find(symbols, 0x113f), "outer");
	CHECK_STR(hs_symbols_find(symbols, 0x1140), "inner");
	CHECK_STR(hs_symbols_find(symbols, 0x1150), "core");
	CHECK_STR(hs_symbols_find(symbols, 0x1160), "inner");
	CHECK_STR(hs_symbols_find(symbols, 0x117f), "inner");
	CHECK_STR(hs_symbols_find(symbols, 0x1180), "outer");
	CHECK_STR(hs_symbols_find(symbols, 0x11ff), "outer");
	CHECK(hs_symbols_find(symbols, 0x1200) == NULL);
	CHECK_STR(hs_symbols_find(symbols, 0x130f), "left");
	CHECK_STR(hs_symbols_find(symbols, 0x1310), "right");
	CHECK_STR(hs_symbols_find(symbols, 0x132f), "right");
	CHECK_STR(hs_symbols_find(symbols, 0x140f), "brief");
	CHECK_STR(hs_symbols_find(symbols, 0x1410), "lengthy");
	hs_symbols_free(symbols);
}

static void gives_symbols_without_size_one_address(void)
{
	static const struct elf_symbol sizeless[] = {
		FUNCTION("body", 0x1000, 0x40),
		FUNCTION("label", 0x1010, 0),
		FUNCTION("empty", 0x1000, 0),
		FUNCTION("next", 0x1040, 0),
		FUNCTION("alone", 0x1100, 0),
		FUNCTION("_alone", 0x1100, 0),
		FUNCTION("last", 0x1fff, 0),
	};
	struct hs_symbols *symbols = load_symbols(sizeless, COUNT(sizeless));

	CHECK_STR(hs_symbols_find(symbols, 0x1000), "body");
	CHECK_STR(hs_symbols_find(symbols, 0x1010), "body");
	CHECK_STR(hs_symbols_find(symbols, 0x1011), "body");
	CHECK_STR(hs_symbols_find(symbols, 0x103f), "body");
	CHECK_STR(hs_symbols_find(symbols, 0x1040), "next");
	CHECK(hs_symbols_find(symbols, 0x1041) == NULL);
	CHECK_STR(hs_symbols_find(symbols, 0x1100), "alone");
	CHECK(hs_symbols_find(symbols, 0x1101) == NULL);
	CHECK_STR(hs_symbols_find(symbols, 0x1fff), "last");
	CHECK(hs_symbols_find(symbols, 0x2000) == NULL);
	hs_symbols_free(symbols);
}

/* Checks the names that the image gives for some addresses only. */
static void check_wanted(const struct elf_symbol *symbols, size_t count)
{
	uint64_t addresses[8] = { 0xff0 + (uint64_t)rand() % 16 };
	const struct hs_wanted wanted = { addresses, COUNT(addresses) };
	struct hs_symbols *loaded;
	int result;

	for (size_t i = 1; i < COUNT(addresses); i++)
		addresses[i] = addresses[i - 1] + (uint64_t)rand() % 20;
	loaded = load_wanted(image.data, image.bytes, "", &wanted, &result);
	CHECK_INT(result, 0);
	for (size_t i = 0; i < COUNT(addresses); i++)
		CHECK(same_name(hs_symbols_find(loaded, addresses[i]),
				expected_name(symbols, count, addresses[i])));
	hs_symbols_free(loaded);
}

static void agrees_with_a_search_of_all_symbols(void)
{
	static const unsigned char bindings[] = { STB_LOCAL, STB_WEAK, STB_GLOBAL };
	static char names[64][8];
	struct elf_symbol random[64];
	unsigned round, i;
	uint64_t address;

	srand(1);
	for (round = 0; round < 300; round++) {
		unsigned count = 1 + (unsigned)rand() % COUNT(random), wrong = 0;
		struct hs_symbols *symbols;

		for (i = 0; i < count; i++) {
			snprintf(names[i], sizeof names[i], "%s%u", rand() % 3 ? "f" : "_",
				 (unsigned)rand() % 40);
			random[i] = (struct elf_symbol)FUNCTION(
				names[i], 0x1000 + (uint64_t)rand() % 64, (uint64_t)rand() % 32);
			random[i].binding = bindings[rand() % 3];
		}
		symbols = load_symbols(random, count);
		for (address = 0xff0; address < 0x1080; address++)
			wrong += !same_name(hs_symbols_find(symbols, address),
					    expected_name(random, count, address));
		CHECK_INT(wrong, 0);
		hs_symbols_free(symbols);
		check_wanted(random, count);
	}
}

static void reads_names_of_any_length(void)
{
	static const unsigned lengths[] = { 1, 255, 256, 257, 511, 512, 513, 4096, 65535, 256 };
	static char names[COUNT(lengths)][65536];
	struct elf_symbol symbols[COUNT(lengths)];
	struct hs_symbols *loaded;

	for (size_t i = 0; i < COUNT(lengths); i++) {
		memset(names[i], 'a' + (int)i, lengths[i]);
		symbols[i] = (struct elf_symbol)FUNCTION(names[i], 0x1000 + 16 * i, 16);
	}
	loaded = load_symbols(symbols, COUNT(lengths));
	for (size_t i = 0; i < COUNT(lengths); i++)
		CHECK(same_name(hs_symbols_find(loaded, 0x1000 + 16 * i), names[i]));
	hs_symbols_free(loaded);
}

static void cuts_names_that_are_too_long(void)
{
	static char longer[70001], rust[70001] = "_R";
	const struct elf_symbol symbols[] = {FUNCTION(longer, 0x1000, 16),
					     FUNCTION(rust, 0x1010, 16)};
	struct hs_symbols *loaded;
	const char *name;

	memset(longer, 'x', sizeof longer - 1);
	memset(rust + 2, 'x', sizeof rust - 3);
	loaded = load_symbols(symbols, COUNT(symbols));
	name = hs_symbols_find(loaded, 0x1000);
	CHECK(name != NULL && strlen(name) == 65536 && strncmp(name, longer, 65536) == 0);
	/* Of what is no longer whole nobody knows what it is in the source. */
	CHECK(hs_symbols_find(loaded, 0x1010) == NULL);
	hs_symbols_free(loaded);
}

static void takes_only_defined_functions(void)
{
	static const struct elf_symbol kinds[] = {
		{ "object", 0x1000, 16, STB_GLOBAL, STT_OBJECT, ELF_TEXT },
		{ "undefined", 0x1010, 16, STB_GLOBAL, STT_FUNC, SHN_UNDEF },
		{ "absolute", 0x1020, 16, STB_GLOBAL, STT_FUNC, SHN_ABS },
		{ "no_section", 0x1030, 16, STB_GLOBAL, STT_FUNC, 200 },
		{ "below", 0xff0, 0x100, STB_GLOBAL, STT_FUNC, ELF_TEXT },
		{ "above", 0x2000, 16, STB_GLOBAL, STT_FUNC, ELF_TEXT },
		{ "far_above", 0x2100, 16, STB_GLOBAL, STT_FUNC, ELF_TEXT },
		{ "label", 0x1050, 0, STB_LOCAL, STT_NOTYPE, ELF_TEXT },
		{ "data_label", 0x4000, 16, STB_LOCAL, STT_NOTYPE, ELF_DATA },
		{ "", 0x1060, 16, STB_GLOBAL, STT_FUNC, ELF_TEXT },
		{ "@@V1", 0x1070, 16, STB_GLOBAL, STT_FUNC, ELF_TEXT },
		{ "assembly", 0x1080, 16, STB_LOCAL, STT_NOTYPE, ELF_TEXT },
		{ "memcpy@@V2", 0x1090, 16, STB_GLOBAL, STT_GNU_IFUNC, ELF_TEXT },
		{ "xmemcpy@V2", 0x10a0, 16, STB_WEAK, STT_FUNC, ELF_TEXT },
		{ "*Array(String)@Enumerable(T)#map:Nil", 0x10b0, 16, STB_GLOBAL, STT_FUNC,
		  ELF_TEXT },
		{ "@[]", 0x10c0, 16, STB_GLOBAL, STT_FUNC, ELF_TEXT },
		{ "endless", 0x1fe0, UINT64_MAX, STB_GLOBAL, STT_FUNC, ELF_TEXT },
	};
	struct hs_symbols *symbols = load_symbols(kinds, COUNT(kinds));
	uint64_t address;

	for (address = 0xff0; address < 0x1080; address++)
		CHECK(hs_symbols_find(symbols, address) == NULL);
	CHECK_STR(hs_symbols_find(symbols, 0x1080), "assembly");
	CHECK_STR(hs_symbols_find(symbols, 0x1090), "memcpy");
	CHECK_STR(hs_symbols_find(symbols, 0x10a0), "xmemcpy");
	CHECK_STR(hs_symbols_find(symbols, 0x10b0), "*Array(String)@Enumerable(T)#map:Nil");
	CHECK_STR(hs_symbols_find(symbols, 0x10c0), "@[]");
	CHECK_STR(hs_symbols_find(symbols, 0x1fff), "endless");
	CHECK(hs_symbols_find(symbols, 0x2000) == NULL);
	CHECK(hs_symbols_find(symbols, 0x2100) == NULL);
	CHECK(hs_symbols_find(symbols, 0x4000) == NULL);
	hs_symbols_free(symbols);
}

static void reads_long_section_numbers(void)
{
	struct elf_spec spec = {.symbols = plain, .count = COUNT(plain), .many_sections = true,
				.debug_name = ".debug_line"};
	struct hs_symbols *symbols;
	int result;

	elf_write(&image, &spec);
	symbols = load_image(&image, &result);
	CHECK_INT(result, 0);
	CHECK_STR(hs_symbols_find(symbols, 0x1100), "third");
	CHECK(hs_symbols_object_has_dwarf(symbols));
	hs_symbols_free(symbols);
	/* A number that no file can have, and one that no file of this size can have. */
	elf_section(&image, ELF_NULL)->sh_size = UINT64_MAX / 2;
	CHECK(load_image(&image, &result) == NULL);
	CHECK_INT(result, -ENOEXEC);
	elf_section(&image, ELF_NULL)->sh_size = UINT16_MAX;
	symbols = load_image(&image, &result);
	CHECK_INT(result, 0);
	CHECK(hs_symbols_find(symbols, 0x1100) == NULL);
	hs_symbols_free(symbols);
	/* Without the table of section numbers the symbols belong to no section. */
	elf_write(&image, &spec);
	elf_section(&image, ELF_SHNDX)->sh_type = SHT_NULL;
	symbols = load_image(&image, &result);
	CHECK_INT(result, 0);
	CHECK(hs_symbols_find(symbols, 0x1100) == NULL);
	hs_symbols_free(symbols);
}

static void tells_dwarf_in_the_object(void)
{
	static const struct {
		const char *name;
		uint32_t type;
		bool expected;
	} cases[] = {
		{ ".debug_info", SHT_PROGBITS, true },   { ".debug_line", SHT_PROGBITS, true },
		{ ".zdebug_info", SHT_PROGBITS, true },  { ".debug_info", SHT_NOBITS, false },
		{ ".debug_frame", SHT_PROGBITS, false }, { ".debug_infos", SHT_PROGBITS, false },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		struct elf_spec spec = {.debug_name = cases[i].name};
		struct hs_symbols *symbols;
		int result;

		elf_write(&image, &spec);
		elf_section(&image, ELF_DEBUG)->sh_type = cases[i].type;
		symbols = load_image(&image, &result);
		CHECK_INT(result, 0);
		CHECK_INT(hs_symbols_object_has_dwarf(symbols), cases[i].expected);
		hs_symbols_free(symbols);
	}
}

/* Makes ROOT/.build-id/ab/ and sets path to the debug file of "abcdef01" in it. */
static void make_debug_root(char *root, char *path, size_t bytes)
{
	CHECK(mkdtemp(root) != NULL);
	hs_debug_file_root = root;
	snprintf(path, bytes, "%s/.build-id", root);
	mkdir(path, 0700);
	snprintf(path, bytes, "%s/.build-id/ab", root);
	mkdir(path, 0700);
	snprintf(path, bytes, "%s/.build-id/ab/cdef01.debug", root);
}

static void remove_debug_root(const char *root, char *path)
{
	unlink(path);
	while (strcmp(path, root) != 0) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
	hs_debug_file_root = "/nonexistent";
}

static const unsigned char id[] = { 0xab, 0xcd, 0xef, 0x01 };

static void write_debug_file(const char *path, bool same_id)
{
	struct elf_spec debug = {.symbols = plain, .count = COUNT(plain), .build_id = id,
				 .build_id_bytes = sizeof id};
	const Elf64_Shdr *note;
	int fd;

	elf_write(&image, &debug);
	note = elf_section(&image, ELF_NOTE);
	/* Changes the last byte of the id. */
	if (!same_id)
		image.data[note->sh_offset + note->sh_size - 1] ^= 1;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK_INT(write(fd, image.data, image.bytes), image.bytes);
	close(fd);
}

/* What is left in an object has another name for what is wanted, not the one to show. */
static void prefers_exported_names_to_what_is_left(void)
{
	static const struct elf_symbol exported[] = {FUNCTION("shown", 0x1000, 0x20),
						     FUNCTION("other", 0x1100, 0x20)};
	static const struct elf_symbol left[] = {
		{"__left", 0x1000, 0x20, STB_LOCAL, STT_FUNC, ELF_TEXT}};
	static const struct elf_spec object = {.symbols = left,
					       .count = COUNT(left),
					       .dynamic = exported,
					       .dynamic_count = COUNT(exported)};
	static const uint64_t address = 0x1008;
	static const struct hs_wanted wanted = {&address, 1};
	struct hs_symbols *symbols;
	int result;

	elf_write(&image, &object);
	symbols = load_wanted(image.data, image.bytes, "", &wanted, &result);
	CHECK_INT(result, 0);
	CHECK_STR(hs_symbols_find(symbols, address), "shown");
	hs_symbols_free(symbols);
}

static void finds_debug_file_of_same_build_id_only(void)
{
	static const struct elf_symbol exported[] = { FUNCTION("exported", 0x1200, 0x40),
						      FUNCTION("_first", 0x1000, 0x20) };
	static const struct elf_symbol rest[] = { FUNCTION("rest", 0x1100, 0x40) };
	struct elf_spec object = {.dynamic = exported, .dynamic_count = COUNT(exported),
				  .build_id = id, .build_id_bytes = sizeof id};
	char root[] = "/tmp/test_symbols.XXXXXX", path[128];
	struct hs_symbols *symbols;
	int result, same, has_rest;

	make_debug_root(root, path, sizeof path);
	for (same = 0; same <= 1; same++) {
		for (has_rest = 0; has_rest <= 1; has_rest++) {
			const char *left = has_rest ? "rest" : NULL;

			write_debug_file(path, same);
			/* A stripped object, or one with less left than the debug file has. */
			object.symbols = has_rest ? rest : NULL;
			object.count = has_rest;
			elf_write(&image, &object);
			symbols = load_bytes(image.data, image.bytes, "abcdef01", &result);
			CHECK_INT(result, 0);
			CHECK_STR(hs_symbols_find(symbols, 0x1200), "exported");
			CHECK_STR(hs_symbols_find(symbols, 0x1000), same ? "first" : "_first");
			CHECK(same_name(hs_symbols_find(symbols, 0x1100), same ? "third" : left));
			hs_symbols_free(symbols);
		}
	}
	remove_debug_root(root, path);
}

static void refuses_a_file_of_another_build_id(void)
{
	struct elf_spec spec = {.symbols = plain, .count = COUNT(plain), .build_id = id,
				.build_id_bytes = sizeof id};
	static const struct {
		const char *id;
		int result;
	} cases[] = { { "", 0 }, { "abcdef01", 0 }, { "abcdef02", -ESTALE },
		      { "abcdef", -ESTALE }, { "abcdef0100", -ESTALE } };
	size_t i;
	int result;

	for (i = 0; i < COUNT(cases); i++) {
		elf_write(&image, &spec);
		hs_symbols_free(load_bytes(image.data, image.bytes, cases[i].id, &result));
		CHECK_INT(result, cases[i].result);
	}
	write_symbols(plain, COUNT(plain));
	CHECK(load_bytes(image.data, image.bytes, "abcdef01", &result) == NULL);
	CHECK_INT(result, -ESTALE);
}

int main(void)
{
	if (hs_arena_init((size_t)64 << 20) < 0)
		return 1;
	hs_debug_file_root = "/nonexistent";
	RUN(finds_the_function_that_contains_an_address);
	RUN(prefers_aliases_by_binding_underscore_length_alphabet);
	RUN(resolves_nested_and_overlapping_symbols);
	RUN(gives_symbols_without_size_one_address);
	RUN(agrees_with_a_search_of_all_symbols);
	RUN(reads_names_of_any_length);
	RUN(cuts_names_that_are_too_long);
	RUN(takes_only_defined_functions);
	RUN(reads_long_section_numbers);
	RUN(tells_dwarf_in_the_object);
	RUN(prefers_exported_names_to_what_is_left);
	RUN(finds_debug_file_of_same_build_id_only);
	RUN(refuses_a_file_of_another_build_id);
	return CHECK_RESULT();
}
