/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The encoder: protobuf-c unpacks from its output what was in the view, and the checker of
 * tests/pprof_read.py accepts it.
 *
 *   test_pprof_encoder write FILE   writes the sample view as the profiler writes its
 *                                   profiles, and prints its totals as pprof_read.py does
 */
#include "output/pprof_encoder.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "check.h"
#include "output/dump_file.h"
#include "output/gzip_writer.h"
#include "output/proto/profile.pb-c.h"
#include "sample_view.h"
#include "whole_file.h"

#define BUDGET ((size_t)64 << 20)

static Perftools__Profiles__Profile *decode(const struct hs_view *view)
{
	struct memory_sink memory = { 0 };
	Perftools__Profiles__Profile *profile;

	CHECK_INT(sample_encode(view, &memory), 0);
	profile = perftools__profiles__profile__unpack(NULL, memory.length, memory.bytes);
	CHECK(profile != NULL);
	if (profile == NULL)
		exit(CHECK_RESULT());
	free(memory.bytes);
	return profile;
}

static void drop(Perftools__Profiles__Profile *profile)
{
	perftools__profiles__profile__free_unpacked(profile, NULL);
}

static const char *text(const Perftools__Profiles__Profile *profile, int64_t index)
{
	return index >= 0 && (size_t)index < profile->n_string_table ? profile->string_table[index]
								      : NULL;
}

/* Readers of many profiles take one with a duration for one of differences, all of its values. */
static void only_differences_have_a_duration(void)
{
	static const int64_t durations[] = {
		[HS_DELTA_NONE] = 0, [HS_DELTA_ALL] = 2000000000, [HS_DELTA_ALLOC] = 0,
	};

	for (enum hs_delta_kind kind = HS_DELTA_NONE; kind <= HS_DELTA_ALLOC; kind++) {
		Perftools__Profiles__Profile *profile;
		struct sample sample;

		sample_fill(&sample);
		sample.view.delta = kind;
		profile = decode(&sample.view);
		CHECK_INT(profile->duration_nanos, durations[kind]);
		drop(profile);
	}
}

static void header_is_as_the_view_says(void)
{
	static const char *const types[][2] = { { "alloc_objects", "count" },
						{ "alloc_space", "bytes" },
						{ "inuse_objects", "count" },
						{ "inuse_space", "bytes" } };
	struct sample sample;
	Perftools__Profiles__Profile *profile;

	sample_fill(&sample);
	profile = decode(&sample.view);
	CHECK_INT(profile->n_sample_type, 4);
	for (size_t i = 0; i < profile->n_sample_type; i++) {
		CHECK_STR(text(profile, profile->sample_type[i]->type), types[i][0]);
		CHECK_STR(text(profile, profile->sample_type[i]->unit), types[i][1]);
	}
	CHECK_STR(text(profile, 0), "");
	CHECK_STR(text(profile, profile->default_sample_type), "inuse_space");
	CHECK_STR(text(profile, profile->period_type->type), "space");
	CHECK_STR(text(profile, profile->period_type->unit), "bytes");
	CHECK_INT(profile->period, 524288);
	CHECK_INT(profile->time_nanos, 1700000000000000001);
	CHECK_INT(profile->duration_nanos, 0);
	CHECK_STR(text(profile, profile->drop_frames), "malloc|calloc");
	CHECK_INT(profile->keep_frames, 0);
	CHECK_INT(profile->doc_url, 0);
	CHECK_INT(profile->n_comment, 2);
	CHECK_STR(text(profile, profile->comment[0]), "libheapsample interval=524288B");
	CHECK_STR(text(profile, profile->comment[1]), "samples=50 lost=0");
	drop(profile);
}

static void check_location(const Perftools__Profiles__Profile *profile,
			   const struct hs_view_location *want, size_t i)
{
	const Perftools__Profiles__Location *got = profile->location[i];
	const Perftools__Profiles__Function *function;

	CHECK_INT(got->id, i + 1);
	CHECK_INT(got->mapping_id, want->mapping + 1);
	CHECK_INT(got->address, want->address);
	CHECK_INT(got->n_line, want->name != NULL);
	if (want->name == NULL || got->n_line != 1)
		return;
	CHECK(got->line[0]->function_id >= 1 && got->line[0]->function_id <= profile->n_function);
	function = profile->function[got->line[0]->function_id - 1];
	CHECK_STR(text(profile, function->name), want->name);
	CHECK_STR(text(profile, function->system_name),
		  want->system_name != NULL ? want->system_name : want->name);
	CHECK_STR(text(profile, function->filename), want->filename != NULL ? want->filename : "");
	CHECK_INT(function->start_line, want->start_line);
}

static void places_are_as_the_view_says(void)
{
	struct sample sample;
	Perftools__Profiles__Profile *profile;

	sample_fill(&sample);
	profile = decode(&sample.view);
	CHECK_INT(profile->n_mapping, MAPPINGS);
	for (size_t i = 0; i < MAPPINGS; i++) {
		const Perftools__Profiles__Mapping *got = profile->mapping[i];
		const struct hs_view_mapping *want = &sample.mappings[i];

		CHECK_INT(got->id, i + 1);
		CHECK_INT(got->memory_start, want->start);
		CHECK_INT(got->memory_limit, want->limit);
		CHECK_INT(got->file_offset, want->offset);
		CHECK_STR(text(profile, got->filename), want->filename);
		CHECK_STR(text(profile, got->build_id), want->build_id ? want->build_id : "");
		CHECK_INT(got->has_functions, want->has_functions);
		CHECK(!got->has_filenames && !got->has_line_numbers && !got->has_inline_frames);
	}
	CHECK_INT(profile->n_location, LOCATIONS);
	for (size_t i = 0; i < LOCATIONS; i++)
		check_location(profile, &sample.locations[i], i);
	/* "malloc" twice, and two locations in each of the other eight. */
	CHECK_INT(profile->n_function, 9);
	for (size_t i = 0; i < profile->n_function; i++)
		CHECK_INT(profile->function[i]->id, i + 1);
	CHECK_STR(text(profile, profile->function[0]->name), "malloc");
	drop(profile);
}

/* wanted: key NUL value NUL ... */
static void check_program_labels(const Perftools__Profiles__Profile *profile,
				 Perftools__Profiles__Label *const *labels, size_t count,
				 const char *wanted)
{
	for (size_t i = 0; i < count; i++) {
		CHECK_STR(text(profile, labels[i]->key), wanted);
		wanted += strlen(wanted) + 1;
		CHECK_STR(text(profile, labels[i]->str), wanted);
		wanted += strlen(wanted) + 1;
		CHECK(labels[i]->num == 0 && labels[i]->num_unit == 0);
	}
	CHECK(count == 0 || *wanted == '\0');
}

static void check_labels(const Perftools__Profiles__Profile *profile,
			 const Perftools__Profiles__Sample *got, const struct hs_view_row *want)
{
	size_t own = want->has_size + want->has_tid + (want->thread != NULL), next = 0;
	size_t program = want->labels == NULL ? 0 : strlen(want->labels) > 1 ? 2 : 8;

	CHECK_INT(got->n_label, own + program);
	if (got->n_label != own + program)
		return;
	check_program_labels(profile, &got->label[own], program, want->labels);
	if (want->has_size) {
		const Perftools__Profiles__Label *label = got->label[next++];
		CHECK_STR(text(profile, label->key), "bytes");
		CHECK_STR(text(profile, label->num_unit), "bytes");
		CHECK_INT(label->num, want->size);
		CHECK_INT(label->str, 0);
	}
	if (want->has_tid) {
		const Perftools__Profiles__Label *label = got->label[next++];
		CHECK_STR(text(profile, label->key), "tid");
		CHECK_STR(text(profile, label->num_unit), "tid");
		CHECK_INT(label->num, want->tid);
		CHECK_INT(label->str, 0);
	}
	if (want->thread != NULL) {
		const Perftools__Profiles__Label *label = got->label[next];
		CHECK_STR(text(profile, label->key), "thread");
		CHECK_STR(text(profile, label->str),
			  strcmp(want->thread, "worker") == 0 ? "worker" : "caf%E9");
		CHECK(label->num == 0 && label->num_unit == 0);
	}
}

static void rows_are_as_the_view_says(void)
{
	struct sample sample;
	Perftools__Profiles__Profile *profile;

	sample_fill(&sample);
	profile = decode(&sample.view);
	CHECK_INT(profile->n_sample, ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		const Perftools__Profiles__Sample *got = profile->sample[i];
		uint64_t stack[DEPTH];
		size_t depth = sample_stack(NULL, sample.rows[i].callsite, stack, DEPTH);

		CHECK_INT(got->n_location_id, depth);
		for (size_t j = 0; j < depth && j < got->n_location_id; j++)
			CHECK_INT(got->location_id[j], stack[j]);
		CHECK_INT(got->n_value, HS_VIEW_VALUES);
		for (size_t j = 0; j < HS_VIEW_VALUES; j++)
			CHECK_INT(got->value[j], sample.rows[i].values[j]);
		check_labels(profile, got, &sample.rows[i]);
	}
	drop(profile);
}

static void empty_view_is_a_profile(void)
{
	struct sample sample;
	Perftools__Profiles__Profile *profile;

	sample_fill(&sample);
	sample.view.row_count = 0;
	sample.view.location_count = 0;
	sample.view.mapping_count = 1;
	sample.view.deepest_stack = 0;
	sample.view.drop_frames = "";
	sample.pauses.pause = NULL;
	profile = decode(&sample.view);
	CHECK_INT(profile->n_sample_type, 4);
	CHECK_INT(profile->n_sample, 0);
	CHECK_INT(profile->n_function, 0);
	CHECK_INT(profile->n_mapping, 1);
	CHECK_INT(profile->drop_frames, 0);
	CHECK_INT(profile->n_comment, 2);
	drop(profile);
}

/* Lengths around those at which their encoding gets longer. */
static void long_names_survive(void)
{
	static const size_t lengths[] = { 1, 127, 128, 129, 4095, 4096 };
	static char names[6][4097];
	struct sample sample;
	Perftools__Profiles__Profile *profile;

	sample_fill(&sample);
	for (size_t i = 0; i < 6; i++) {
		memset(names[i], 'a' + (int)i, lengths[i]);
		sample.locations[i].name = names[i];
		sample.locations[i].system_name = NULL;
	}
	profile = decode(&sample.view);
	for (size_t i = 0; i < LOCATIONS; i++)
		check_location(profile, &sample.locations[i], i);
	drop(profile);
}

static void extreme_values_survive(void)
{
	struct sample sample;
	Perftools__Profiles__Profile *profile;
	char name[5000];

	sample_fill(&sample);
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	sample.locations[2].name = sample.locations[2].system_name = name;
	sample.rows[0].values[1] = INT64_MAX;
	sample.rows[0].values[3] = 0;
	sample.rows[0].has_tid = true;
	sample.rows[0].tid = INT64_MIN;
	sample.rows[1].thread = "";
	sample.mappings[2].start = 0xffffffffff600000;
	sample.mappings[2].limit = UINT64_MAX;
	profile = decode(&sample.view);
	CHECK_INT(profile->sample[0]->value[1], INT64_MAX);
	CHECK_INT(profile->sample[0]->value[3], 0);
	CHECK_INT(profile->sample[0]->label[0]->num, INT64_MIN);
	CHECK_INT(profile->sample[1]->n_label, 1 + 2); /* an empty thread name gives no label */
	CHECK(profile->mapping[2]->memory_limit == UINT64_MAX);
	CHECK_INT(strlen(text(profile, profile->function[1]->name)), 4096);
	drop(profile);
}

static void check_text_label(const Perftools__Profiles__Profile *profile,
			     const Perftools__Profiles__Label *label, const char *key,
			     const char *value)
{
	CHECK_STR(text(profile, label->key), key);
	CHECK_STR(text(profile, label->str), value);
}

/* The size, thread id, thread and heap, and eight of the program's. */
static void the_most_labels_fit(void)
{
	Perftools__Profiles__Profile *profile;
	struct sample sample;

	sample_fill(&sample);
	for (size_t i = 3; i < ROWS; i += 4) {
		sample.rows[i].has_size = sample.rows[i].has_tid = true;
		sample.rows[i].thread = "worker";
		sample.rows[i].heap = "gpu";
	}
	profile = decode(&sample.view);
	for (size_t i = 3; i < ROWS; i += 4) {
		Perftools__Profiles__Label **labels = profile->sample[i]->label;

		CHECK_INT(profile->sample[i]->n_label, 4 + HS_VIEW_LABELS);
		if (profile->sample[i]->n_label != 4 + HS_VIEW_LABELS)
			break;
		CHECK_INT(labels[0]->num, sample.rows[i].size);
		CHECK_INT(labels[1]->num, sample.rows[i].tid);
		check_text_label(profile, labels[2], "thread", "worker");
		check_text_label(profile, labels[3], "heap", "gpu");
		check_text_label(profile, labels[4], "a", "1");
		check_text_label(profile, labels[3 + HS_VIEW_LABELS], "h", "8");
	}
	drop(profile);
}

static size_t used_before; /* of the arena, the encoding */
static struct sample inherited;

/* A child that is forked during a write frees the encoder's memory, and encodes again. */
static int fork_and_write(const void *bytes, size_t count)
{
	struct memory_sink memory = { 0 };
	void *others[2];
	int status = 0;
	pid_t child = fork();

	(void)bytes;
	(void)count;
	if (child == 0) {
		hs_pprof_encode_end();
		CHECK_INT(hs_arena_used(), used_before);
		CHECK_INT(sample_encode(&inherited.view, &memory), 0);
		/* As in a child of its own: what was freed may be another's. */
		others[0] = hs_arena_alloc(16 << 10);
		hs_pprof_encode_end();
		others[1] = hs_arena_alloc(16 << 10);
		CHECK(others[0] != others[1]);
		_exit(CHECK_RESULT());
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	return 0;
}

static void a_forked_child_gives_back_what_it_inherits(void)
{
	sample_fill(&inherited);
	used_before = hs_arena_used();
	CHECK_INT(hs_pprof_encode(&inherited.view, fork_and_write), 0);
	CHECK_INT(hs_arena_used(), used_before);
}

static struct hs_gzip_writer *writer;

static int write_compressed(const void *bytes, size_t count)
{
	return hs_gzip_writer_write(writer, bytes, count);
}

static int write_file(const struct hs_view *view, const char *path)
{
	static struct hs_dump_file file;
	int error = hs_dump_file_open(&file, path, false);

	if (error != 0)
		return error;
	error = hs_gzip_writer_open(&file, &writer);
	if (error == 0)
		error = hs_pprof_encode(view, write_compressed);
	if (error == 0)
		error = hs_gzip_writer_finish(writer);
	hs_gzip_writer_close(writer);
	writer = NULL;
	if (error == 0)
		return commit_file(&file);
	discard_file(&file);
	return error;
}

static void independent_reader_accepts_it(void)
{
	static struct sample sample;
	const char *source = getenv("srcdir");
	char path[] = "/tmp/hs_pprof_encoder.XXXXXX";
	char command[4096];
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	sample_fill(&sample);
	CHECK_INT(write_file(&sample.view, path), 0);
	snprintf(command, sizeof command, "%s/tests/pprof_read.py", source != NULL ? source : ".");
	if (access(command, R_OK) != 0 || system("python3 -c '' 2>/dev/null") != 0) {
		printf("   no python3 or no %s: not checked\n", command);
	} else {
		snprintf(command, sizeof command, "python3 '%s/tests/pprof_read.py' check %s",
			 source != NULL ? source : ".", path);
		CHECK_INT(system(command), 0);
	}
	unlink(path);
}

static int command_write(const char *path)
{
	static const char *const types[] = { "alloc_objects", "alloc_space", "inuse_objects",
					     "inuse_space" };
	static struct sample sample;
	int error;

	sample_fill(&sample);
	error = write_file(&sample.view, path);
	if (error != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-error));
		return 1;
	}
	for (size_t type = 0; type < HS_VIEW_VALUES; type++) {
		long long total = 0;
		for (size_t i = 0; i < ROWS; i++)
			total += sample.rows[i].values[type];
		printf("%s %lld\n", types[type], total);
	}
	return CHECK_RESULT();
}

int main(int argc, char **argv)
{
	CHECK_INT(hs_arena_init(BUDGET), 0);
	if (argc == 3 && strcmp(argv[1], "write") == 0)
		return command_write(argv[2]);
	RUN(header_is_as_the_view_says);
	RUN(only_differences_have_a_duration);
	RUN(places_are_as_the_view_says);
	RUN(rows_are_as_the_view_says);
	RUN(empty_view_is_a_profile);
	RUN(long_names_survive);
	RUN(extreme_values_survive);
	RUN(the_most_labels_fit);
	RUN(a_forked_child_gives_back_what_it_inherits);
	RUN(independent_reader_accepts_it);
	return CHECK_RESULT();
}
