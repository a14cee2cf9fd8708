/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile into a file: names, encodes and compresses it.  A file that is new gets another
 * name if its own is taken meanwhile.  If the disk is full, HEAPSAMPLE_KEEP may make room once.
 *
 * Runs on the producer's thread with producer_batch held; releases it for each write and between
 * pieces of work, so that neither a fork nor a full queue ever waits for a file.
 */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "output/dump_file.h"
#include "output/gzip_writer.h"
#include "output/pprof_encoder.h"
#include "output/written_file.h"
#include "sample/heap_id.h"
#include "session/profiles.h"
#include "session/session_state.h"
#include "session/unlocked.h"

/* The profile that is being written; one at a time. */
static struct hs_dump_file dump_file;
static struct hs_gzip_writer *writer;

/* The name of the next one, and whether nothing may have it. */
static char path[HS_PATH_BYTES];
static bool is_new;

/* The file that was written last, unless it is a peak's. */
static struct hs_written_file last;

/* Of each heap, the file of its peak, which the next one replaces. */
static struct {
	struct hs_written_file file;
	uint32_t copy; /* in its name */
} peaks[HS_HEAP_LIMIT];

static int write_unlocked(const void *bytes, size_t count)
{
	int error;

	hs_unlocked_file_begins();
	error = hs_gzip_writer_write(writer, bytes, count);
	hs_unlocked_file_ends();
	return error;
}

static int finish_unlocked(void)
{
	int error;

	hs_unlocked_file_begins();
	error = hs_gzip_writer_finish(writer);
	hs_unlocked_file_ends();
	return error;
}

static void close_writer(void)
{
	hs_gzip_writer_close(writer);
	writer = NULL;
}

static int write_file(const struct hs_view *view)
{
	int error = hs_gzip_writer_open(&dump_file, &writer);

	if (error != 0)
		return error;
	error = hs_pprof_encode(view, write_unlocked);
	if (error == 0)
		error = finish_unlocked();
	close_writer();
	return error;
}

/* Makes the name of the heap's peak before this one.  Whether that is still there. */
static bool find_own_peak(struct hs_dump_name *name, uint32_t heap)
{
	struct hs_dump_name own = *name;

	own.copy = peaks[heap].copy;
	if (hs_dump_name_expand(hs_options.output, &own, path, sizeof path) != 0 ||
	    !hs_written_file_is_at(&peaks[heap].file, path))
		return false;
	*name = own;
	return true;
}

int hs_profile_file_name(struct hs_dump_name *name, uint32_t peak_heap)
{
	int error = 0;

	hs_unlocked_file_begins();
	is_new = hs_dump_name_is_new(hs_options.output, name);
	if (peak_heap != HS_HEAP_NONE && find_own_peak(name, peak_heap))
		is_new = false;
	else
		error = hs_dump_name_expand_free(hs_options.output, name, path, sizeof path);
	hs_unlocked_file_ends();
	return error;
}

static int write_named(struct hs_view *view, const struct hs_dump_name *name, bool hides_program)
{
	int error = hs_unlocked_file_open(&dump_file, path, is_new);

	if (error != 0)
		return error;
	hs_comments_write(view, name, hides_program);
	return hs_unlocked_file_end(&dump_file, write_file(view));
}

/* Once: an old profile is removed for one that the disk has no room for. */
static bool makes_room(int error, bool *has_made)
{
	bool is_first = !*has_made && (error == -ENOSPC || error == -EDQUOT);

	*has_made |= is_first;
	return is_first && hs_keep_make_room();
}

static int write_somewhere(struct hs_view *view, struct hs_dump_name *name, uint32_t peak_heap,
			   bool hides_program)
{
	bool has_made_room = false;
	int error, tries = 0;

	do {
		error = hs_profile_file_name(name, tries == 0 ? peak_heap : HS_HEAP_NONE);
		if (error != 0)
			return error;
		do
			error = write_named(view, name, hides_program);
		while (makes_room(error, &has_made_room));
	} while (hs_dump_file_is_taken(&dump_file, error) && ++tries < HS_DUMP_NAMES &&
		 hs_dump_name_advance(hs_options.output, name));
	return error;
}

int hs_profile_file_write(struct hs_view *view, struct hs_dump_name *name, uint32_t peak_heap,
			  bool hides_program)
{
	int error = write_somewhere(view, name, peak_heap, hides_program);
	bool is_peak = peak_heap != HS_HEAP_NONE;

	if (error != 0)
		return error;
	hs_unlocked_file_begins();
	(void)hs_written_file_note(is_peak ? &peaks[peak_heap].file : &last, dump_file.path);
	hs_unlocked_file_ends();
	if (is_peak)
		peaks[peak_heap].copy = name->copy;
	return 0;
}

bool hs_profile_file_is_at(const char *other)
{
	struct hs_written_file there;
	bool is_ours;
	int error;

	hs_unlocked_file_begins();
	error = hs_written_file_note(&there, other);
	hs_unlocked_file_ends();
	is_ours = hs_written_file_is_same(&there, &last);
	for (uint32_t heap = 0; heap < HS_HEAP_LIMIT; heap++)
		is_ours = is_ours || hs_written_file_is_same(&there, &peaks[heap].file);
	return error == 0 && is_ours;
}

const char *hs_profile_file_path(void)
{
	return path;
}

const char *hs_profile_file_error_text(int error)
{
	return hs_dump_file_error_text(&dump_file, error);
}

const char *hs_profile_file_last(void)
{
	return dump_file.path;
}

void hs_profile_file_after_fork(void)
{
	memset(peaks, 0, sizeof peaks);
	hs_dump_file_forget(&dump_file);
}

void hs_profile_file_drop_inherited(void)
{
	close_writer();
	hs_pprof_encode_end();
}
