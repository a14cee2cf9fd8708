/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HEAPSAMPLE_MAP: hints, or "@FILE" with a file of hints that may change as the program runs.
 *
 * Threads: one owner.  Memory: the arena.  Blocks: reads the file.
 */
#ifndef HS_MAPS_HINT_SETTING_H
#define HS_MAPS_HINT_SETTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "maps/map_hint_text.h"

/* A longer file is not read. */
#define HS_HINT_FILE_BYTES ((uint64_t)1 << 20)

/* Identifies the contents of a file; compared as bytes. */
struct hs_hint_file_state {
	uint64_t device;
	uint64_t inode;
	uint64_t bytes;
	int64_t modified_ns;
	int64_t changed_ns; /* the inode: a time of modification can be set back */
};

struct hs_hint_setting {
	const char *text;               /* "" = none */
	char *directory;                /* where the program started, "" = it has no name; owned */
	char *path;                     /* of the file of hints, NULL = none; owned */
	bool report;                    /* log problems */
	bool is_reported;               /* the text is the one that was read before */
	bool has_pids;                  /* what was read last names processes */
	bool complained;                /* that the file cannot be read */
	unsigned problems;              /* logged so far */
	pid_t pid;                      /* for which it was read last; 0 = never */
	char *contents;                 /* of the file, NUL-terminated; owned */
	struct hs_hint_file_state file; /* of contents; all 0: none were read */
};

/*
 * text: must stay valid.  report: whether problems are logged and counted (map_hints_malformed).
 * Relative names are relative to the current directory of this moment.  Returns 0 or -ENOMEM.
 */
int hs_hint_setting_init(struct hs_hint_setting *setting, const char *text, bool report);
void hs_hint_setting_fini(struct hs_hint_setting *setting);

/* The absolute form of a name that is not NUL-terminated: an arena block, or NULL. */
char *hs_hint_setting_absolute(const struct hs_hint_setting *setting, const char *name,
			       size_t bytes);

/*
 * Whether the hints have changed since the last such call: true the first time, in a forked child
 * if a hint names a process, and when the file has changed and can be read.
 * Costs a system call for hints in a file or with a pid.
 */
bool hs_hint_setting_refresh(struct hs_hint_setting *setting);

/* Passes on all valid hints for this process, in their order. */
void hs_hint_setting_each(struct hs_hint_setting *setting,
			  void (*use)(void *context, const struct hs_map_hint *hint),
			  void *context);

#endif
