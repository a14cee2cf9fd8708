/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads HEAPSAMPLE_MAP and the file that it may name. */
#include "maps/hint_setting.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/arena.h"
#include "base/descriptor.h"
#include "base/format.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/sys.h"

/* The most lines logged about malformed hints: the file may be something else altogether. */
#define MOST_PROBLEMS 20u

/* File times advance in steps, of a kernel tick or of the file system: 10 ms at most. */
#define SETTLED_NS 20000000u
#define NEVER_NS INT64_MIN

/* The most bytes of a hint, or of a part of it, that are shown. */
#define SHOWN_BYTES 81

int hs_hint_setting_init(struct hs_hint_setting *setting, const char *text, bool report)
{
	*setting = (struct hs_hint_setting){.text = text, .report = report};
	setting->directory = hs_arena_alloc(PATH_MAX);
	if (setting->directory == NULL)
		return -ENOMEM;
	(void)hs_sys_working_directory(setting->directory, PATH_MAX);
	if (text[0] == '@')
		setting->path = hs_hint_setting_absolute(setting, text + 1, strlen(text + 1));
	return text[0] == '@' && setting->path == NULL ? -ENOMEM : 0;
}

void hs_hint_setting_fini(struct hs_hint_setting *setting)
{
	hs_arena_free(setting->contents);
	hs_arena_free(setting->path);
	hs_arena_free(setting->directory);
}

char *hs_hint_setting_absolute(const struct hs_hint_setting *setting, const char *name,
			       size_t bytes)
{
	size_t before = name[0] == '/' ? 0 : strlen(setting->directory);
	char *text = hs_arena_alloc(before + bytes + 2);

	if (text == NULL)
		return NULL;
	memcpy(text, setting->directory, before);
	if (before > 0)
		text[before++] = '/';
	memcpy(text + before, name, bytes);
	text[before + bytes] = '\0';
	return text;
}

static struct hs_hint_file_state state_of(const struct stat *file)
{
	return (struct hs_hint_file_state){
		.device = file->st_dev,
		.inode = file->st_ino,
		.bytes = (uint64_t)file->st_size,
		.modified_ns = hs_sys_time_ns(file->st_mtim),
		.changed_ns = hs_sys_time_ns(file->st_ctim),
	};
}

static void complain(struct hs_hint_setting *setting, const char *why)
{
	if (setting->report && !setting->complained)
		hs_log(HS_LOG_WARN, "HEAPSAMPLE_MAP=%s: %s", setting->text, why);
	setting->complained = true;
}

static char *read_file(int fd, uint64_t bytes)
{
	char *contents = hs_arena_alloc(bytes + 1);

	if (contents == NULL)
		return NULL;
	if (hs_sys_pread_all(fd, contents, bytes, 0) < 0) {
		hs_arena_free(contents);
		return NULL;
	}
	contents[bytes] = '\0';
	return contents;
}

/* Whether there are new contents. */
static bool refresh_file(struct hs_hint_setting *setting)
{
	struct hs_hint_file_state state;
	char *contents = NULL;
	struct stat file;
	struct hs_descriptor opened;
	bool is_new;
	int error;

	if (hs_sys_stat(setting->path, &file) == 0) {
		state = state_of(&file);
		if (memcmp(&state, &setting->file, sizeof state) == 0)
			return false;
	}
	error = hs_descriptor_open_regular(&opened, setting->path, &file);
	if (error != 0) {
		complain(setting, error == -ENOENT ? "there is no such file"
						   : "it cannot be read as a file");
		return false;
	}
	state = state_of(&file);
	if (state.bytes > HS_HINT_FILE_BYTES)
		complain(setting, "the file is longer than 1 MiB, and is not used");
	else
		contents = read_file(opened.fd, state.bytes);
	(void)hs_descriptor_close(&opened);
	if (contents == NULL)
		return false;
	/*
	 * Another change right now may leave the times as they are: read the file again next time.
	 */
	if (hs_sys_realtime_ns() < (uint64_t)state.changed_ns + SETTLED_NS)
		state.changed_ns = NEVER_NS;
	setting->file = state;
	is_new = setting->contents == NULL || strcmp(contents, setting->contents) != 0;
	hs_arena_free(setting->contents);
	setting->contents = contents;
	return is_new;
}

bool hs_hint_setting_refresh(struct hs_hint_setting *setting)
{
	bool is_first = setting->pid == 0;
	bool is_new = setting->path != NULL ? refresh_file(setting) : is_first;
	bool is_child = !is_first && setting->has_pids && setting->pid != hs_sys_getpid();

	if (setting->text[0] == '\0')
		return false;
	setting->is_reported = !is_new;
	return is_new || is_child;
}

/* A copy for a message: cut. */
static const char *show(char shown[SHOWN_BYTES], const char *text, size_t bytes)
{
	size_t count = bytes < SHOWN_BYTES - 1 ? bytes : SHOWN_BYTES - 1;

	memcpy(shown, text, count);
	shown[count] = '\0';
	if (count < bytes)
		memcpy(shown + count - 3, "...", 3);
	return shown;
}

static void report(struct hs_hint_setting *setting, const struct hs_map_hint_item *item,
		   const struct hs_map_hint_problem *problem)
{
	char hint[SHOWN_BYTES], part[SHOWN_BYTES], where[32];
	bool is_missing = problem->text_bytes == 0;
	const char *path = setting->path;

	if (!setting->report || setting->is_reported)
		return;
	hs_stats_add(map_hints_malformed, 1);
	if (++setting->problems > MOST_PROBLEMS)
		return;
	hs_format(where, sizeof where, path != NULL ? ":%u" : ", hint %u",
		  path != NULL ? item->line : item->number);
	hs_log(HS_LOG_WARN, "%s%s: %s%s%s of '%s' is %s (expected %s); the hint is ignored%s",
	       path != NULL ? path : "HEAPSAMPLE_MAP", where, problem->part, is_missing ? "" : " ",
	       show(part, problem->text, problem->text_bytes), show(hint, item->text, item->bytes),
	       is_missing ? "missing" : "wrong", problem->expected,
	       setting->problems == MOST_PROBLEMS ? ", and further ones without a line" : "");
}

void hs_hint_setting_each(struct hs_hint_setting *setting,
			  void (*use)(void *context, const struct hs_map_hint *hint), void *context)
{
	struct hs_map_hint_problem problem;
	struct hs_map_hint_list list;
	struct hs_map_hint_item item;
	struct hs_map_hint hint;

	setting->has_pids = false;
	setting->pid = hs_sys_getpid();
	hs_map_hint_list_begin(&list,
			       setting->contents != NULL ? setting->contents : setting->text);
	while (hs_map_hint_list_next(&list, &item)) {
		if (!hs_map_hint_parse(&item, &hint, &problem)) {
			report(setting, &item, &problem);
			continue;
		}
		setting->has_pids |= hint.pid != 0;
		if (hint.pid == 0 || hint.pid == (uint64_t)setting->pid)
			use(context, &hint);
	}
}
