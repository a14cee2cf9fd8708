/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills in the labels of a profile's samples.  Called on: the producer. */
#ifndef HS_OUTPUT_PPROF_LABELS_H
#define HS_OUTPUT_PPROF_LABELS_H

#include "output/profile_view.h"
#include "output/proto/profile.pb-c.h"
#include "output/string_table.h"

/* The most labels of a sample: size, tid, thread, heap, and the program's. */
#define HS_PPROF_LABELS (4 + HS_VIEW_LABELS)

struct hs_pprof_labels {
	struct hs_string_table *strings;
	uint32_t text_bytes; /* the number of this key's text, like the next three */
	uint32_t text_tid;
	uint32_t text_thread;
	uint32_t text_heap;
	/* Of the sample that was last filled in. */
	Perftools__Profiles__Label labels[HS_PPROF_LABELS];
	Perftools__Profiles__Label *list[HS_PPROF_LABELS];
};

/* strings must outlive the labels.  Returns 0 or -ENOMEM. */
int hs_pprof_labels_init(struct hs_pprof_labels *labels, struct hs_string_table *strings);

/* Gives a sample the labels of its row, valid until the next call.  Returns 0 or -ENOMEM. */
int hs_pprof_labels_fill(struct hs_pprof_labels *labels, const struct hs_view_row *row,
			 Perftools__Profiles__Sample *sample);

#endif
