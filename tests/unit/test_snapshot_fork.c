/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forks at each pause of a snapshot.  A child that has dropped what it inherited of the snapshot
 * must have the same books, and use as much memory, as its parent after the snapshot.
 */
#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/snapshot.h"
#include "profile_testing.h"

/* Rows, each with a location of its own: several pauses for each step. */
enum { ROWS = 2500, HIDDEN = 1200 };

static struct hs_mapping_table *table;
static struct hs_producer *producer;
static unsigned forks;
static size_t *used; /* of the arena, by the last child */

__asm__(".pushsection .text\n"
	".globl wide\n"
	".type wide, %function\n"
	"wide: .skip 4096\n"
	".size wide, 4096\n"
	".popsection\n");
extern const char wide[];

/* function: wide(), or where it is said to be. */
static void begin(const char *prefixes, const char *hints, uint64_t function)
{
	producer = new_producer_with(&(struct hs_producer_setup){
		.mappings = table,
		.labels = HS_LABEL_SIZE,
		.delta = HS_DELTA_ALL,
		.hidden = prefixes,
		.hints = hints,
	});
	for (uint64_t i = 0; i < ROWS; i++) {
		union test_record record = allocate(0x100000 + 16 * i, 8 + i % 2, 1, 0);
		uint32_t mapping = hs_mapping_table_find(table, function + i);

		record.head.frames[0] = (struct hs_frame){function + i, mapping};
		record.head.frames[1] = (struct hs_frame){function, mapping};
		take(producer, &record);
	}
	CHECK(!hs_producer_commit(producer));
}

static uint64_t in_program(void)
{
	return (uint64_t)(uintptr_t)wide;
}

/* Makes a snapshot and destroys it.  Returns how many rows it had. */
static size_t freeze(void (*pause)(void))
{
	struct hs_options options = {.symbolize = HS_SYMBOLIZE_NAMES};
	struct hs_view view = {.row_count = 0};
	struct hs_snapshot *snapshot = hs_snapshot_create(
		producer, &options, HS_HEAP_NONE, pause, &view);

	CHECK(snapshot != NULL);
	hs_snapshot_destroy(snapshot);
	return view.row_count;
}

static void fork_here(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		hs_snapshot_drop_inherited(producer);
		check_holders(producer);
		freeze(NULL);
		check_holders(producer);
		used[forks] = hs_arena_used();
		_exit(CHECK_RESULT());
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	forks++;
}

/* rows: those of the profile; pauses: the fewest that there must be. */
static void check_forks(size_t rows, unsigned pauses)
{
	forks = 0;
	CHECK_INT(freeze(fork_here), rows);
	CHECK(pauses <= forks);
	for (unsigned i = 0; i < forks; i++)
		CHECK_INT(used[i], hs_arena_used());
	check_holders(producer);
	hs_snapshot_drop_inherited(producer);
}

static void names_are_being_read(void)
{
	begin(NULL, NULL, in_program());
	/* Search, sorting, names, layout. */
	check_forks(ROWS, 9 + 1 + 12 + 9 + 1 + 9);
}

/* The same of a copy of the code, which a hint tells of. */
static void names_of_a_hint_are_being_read(void)
{
	uint64_t page = in_program() & -UINT64_C(4096), copy;
	const struct hs_mapping *program =
		hs_mapping_table_get(table, hs_mapping_table_find(table, page));
	char hints[PATH_MAX + 64];

	copy = (uint64_t)(uintptr_t)mmap(NULL, 8192, PROT_READ | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	snprintf(hints, sizeof hints, "%s,0x%llx,8192,0x%llx", program->path,
		 (unsigned long long)copy,
		 (unsigned long long)(page - program->start + program->offset));
	begin(NULL, hints, copy + (in_program() - page));
	check_forks(ROWS, 9 + 1 + 12 + 9 + 1 + 9);
	CHECK_STR(hs_location_table_get(&producer->locations, 2)->name, "wide");
}

/* Rows are merged, two at a time, while they are copied. */
static void rows_are_being_filtered(void)
{
	begin("late_", NULL, in_program());
	for (uint32_t i = 0; i < producer->locations.interner.count; i++) {
		struct hs_location *location = hs_location_table_get(&producer->locations, i);
		uint64_t offset = location->address - (uint64_t)(uintptr_t)wide;

		if (0 < offset && offset <= HIDDEN)
			hs_location_set_lasting_name(location, "late_name");
	}
	/*
	 * Search, sorting, review; and then for those that are left, which have to be merged first,
	 * and are laid out.  After that it is known what is hidden.
	 */
	check_forks(ROWS - HIDDEN + 2, 9 + 1 + 12 + 9 + 10 + 5 + 1 + 11 + 5 + 5);
	check_forks(ROWS - HIDDEN + 2, 9 + 5 + 1 + 11 + 5 + 5);
}

int main(void)
{
	used = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	set_up();
	table = hs_mapping_table_create();
	CHECK_INT(hs_mapping_table_refresh(table), 0);
	RUN(names_are_being_read);
	RUN(names_of_a_hint_are_being_read);
	RUN(rows_are_being_filtered);
	return CHECK_RESULT();
}
