/* SPDX-License-Identifier: BSD-2-Clause */
/* The labels of samples.  See pprof_labels.h. */
#include "output/pprof_labels.h"

#include <errno.h>
#include <string.h>

int hs_pprof_labels_init(struct hs_pprof_labels *labels, struct hs_string_table *strings)
{
	labels->strings = strings;
	if (hs_string_table_intern(strings, "bytes", &labels->text_bytes) != 0 ||
	    hs_string_table_intern(strings, "tid", &labels->text_tid) != 0 ||
	    hs_string_table_intern(strings, "thread", &labels->text_thread) != 0 ||
	    hs_string_table_intern(strings, "heap", &labels->text_heap) != 0)
		return -ENOMEM;
	return 0;
}

static Perftools__Profiles__Label *add(struct hs_pprof_labels *labels,
				       Perftools__Profiles__Sample *sample, uint32_t key)
{
	Perftools__Profiles__Label *label = &labels->labels[sample->n_label];

	perftools__profiles__label__init(label);
	label->key = key;
	sample->label[sample->n_label++] = label;
	return label;
}

static int add_text(struct hs_pprof_labels *labels, Perftools__Profiles__Sample *sample,
		    uint32_t key, const char *text)
{
	uint32_t number;

	if (text == NULL || text[0] == '\0')
		return 0;
	if (hs_string_table_intern(labels->strings, text, &number) != 0)
		return -ENOMEM;
	add(labels, sample, key)->str = number;
	return 0;
}

/* text: labels of struct hs_view_row. */
static int add_program_labels(struct hs_pprof_labels *labels, Perftools__Profiles__Sample *sample,
			      const char *text)
{
	while (text != NULL && *text != '\0') {
		const char *value = text + strlen(text) + 1;
		uint32_t key;

		if (hs_string_table_intern(labels->strings, text, &key) != 0 ||
		    add_text(labels, sample, key, value) != 0)
			return -ENOMEM;
		text = value + strlen(value) + 1;
	}
	return 0;
}

/* Numbers have a unit: proto3 does not write a 0, and with no unit either none would be left. */
int hs_pprof_labels_fill(struct hs_pprof_labels *labels, const struct hs_view_row *row,
			 Perftools__Profiles__Sample *sample)
{
	Perftools__Profiles__Label *label;

	sample->n_label = 0;
	sample->label = labels->list;
	if (row->has_size) {
		label = add(labels, sample, labels->text_bytes);
		label->num = (int64_t)row->size;
		label->num_unit = labels->text_bytes;
	}
	if (row->has_tid) {
		label = add(labels, sample, labels->text_tid);
		label->num = row->tid;
		label->num_unit = labels->text_tid;
	}
	if (add_text(labels, sample, labels->text_thread, row->thread) != 0 ||
	    add_text(labels, sample, labels->text_heap, row->heap) != 0)
		return -ENOMEM;
	return add_program_labels(labels, sample, row->labels);
}
