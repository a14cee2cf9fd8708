/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of threads.  See thread_names.h. */
#include "profile/thread_names.h"

#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/format.h"
#include "base/sys.h"

/* TASK_COMM_LEN of the kernel, with the NUL. */
enum { NAME_BYTES = 16 };

/*
 * How many known threads are looked at when a new one is met.  One that is gone is forgotten in the
 * second round at the latest, so about as many are known as are there.
 */
enum { LOOKED_AT = 4 };

struct name {
	char key[NAME_BYTES]; /* zeros after the text */
	char *text;           /* the same, in memory that does not move */
	uint32_t holders;
};

struct tid {
	uint32_t tid;
	uint32_t name;
	uint32_t batch; /* in which it was read last */
	bool is_recent; /* read since it was last looked at */
};

static struct name *name_at(const struct hs_thread_names *names, uint32_t number)
{
	return hs_interner_item(&names->names, number);
}

int hs_thread_names_init(struct hs_thread_names *names)
{
	struct name unknown = {.text = NULL};
	int error = hs_interner_init(&names->names, sizeof unknown, NAME_BYTES);

	if (error != 0)
		return error;
	names->next = 0;
	names->batch = 0;
	hs_interner_add(&names->names, &unknown);
	error = hs_interner_init(&names->tids, sizeof(struct tid), sizeof(uint32_t));
	if (error != 0)
		hs_interner_fini(&names->names);
	return error;
}

void hs_thread_names_fini(struct hs_thread_names *names)
{
	for (uint32_t i = 0; i < names->names.count; i++) {
		if (hs_interner_is_used(&names->names, i))
			hs_arena_free(name_at(names, i)->text);
	}
	hs_interner_fini(&names->names);
	hs_interner_fini(&names->tids);
}

/* Reads a thread's present name.  False: it is gone, or its name is empty. */
static bool read_name(uint32_t tid, char key[NAME_BYTES])
{
	char path[64], text[64];
	ssize_t bytes;

	hs_format(path, sizeof path, "/proc/self/task/%u/comm", tid);
	bytes = hs_sys_read_kernel_file(path, text, sizeof text);
	if (bytes <= 0)
		return false;
	if (text[bytes - 1] == '\n')
		bytes--;
	memset(key, 0, NAME_BYTES);
	memcpy(key, text, bytes < NAME_BYTES ? (size_t)bytes : NAME_BYTES - 1);
	return key[0] != '\0';
}

static uint32_t intern_name(struct hs_thread_names *names, const char key[NAME_BYTES])
{
	struct name name = {.text = NULL};
	uint32_t number = hs_interner_find(&names->names, key);

	if (number != HS_INTERNER_NONE)
		return number;
	memcpy(name.key, key, NAME_BYTES);
	name.text = hs_arena_alloc(NAME_BYTES);
	if (name.text == NULL)
		return 0;
	memcpy(name.text, key, NAME_BYTES);
	number = hs_interner_add(&names->names, &name);
	if (number != HS_INTERNER_NONE)
		return number;
	hs_arena_free(name.text);
	return 0;
}

static void hold(struct hs_thread_names *names, uint32_t number)
{
	name_at(names, number)->holders++;
}

void hs_thread_names_release(struct hs_thread_names *names, uint32_t number)
{
	struct name *name = name_at(names, number);

	if (number == 0 || --name->holders != 0)
		return;
	hs_arena_free(name->text);
	hs_interner_remove(&names->names, number);
}

/* Looks whether a thread is gone, unless it was read not long ago.  number: below the count. */
static void look_at(struct hs_thread_names *names, uint32_t number)
{
	struct tid *known = hs_interner_item(&names->tids, number);
	char key[NAME_BYTES];

	if (!hs_interner_is_used(&names->tids, number))
		return;
	if (!known->is_recent && !read_name(known->tid, key)) {
		hs_thread_names_release(names, known->name);
		hs_interner_remove(&names->tids, number);
	} else {
		known->is_recent = false;
	}
}

static void look_at_some(struct hs_thread_names *names)
{
	for (int i = 0; i < LOOKED_AT && names->tids.count > 0; i++) {
		names->next = names->next < names->tids.count ? names->next : 0;
		look_at(names, names->next++);
	}
}

void hs_thread_names_begin_batch(struct hs_thread_names *names)
{
	names->batch++;
}

uint32_t hs_thread_names_read(struct hs_thread_names *names, uint32_t tid)
{
	const struct tid entry = {.tid = tid};
	struct tid *known = NULL;
	uint32_t number, name = 0;
	char key[NAME_BYTES];

	if (hs_interner_find(&names->tids, &tid) == HS_INTERNER_NONE)
		look_at_some(names);
	number = hs_interner_add(&names->tids, &entry);
	if (number != HS_INTERNER_NONE) {
		known = hs_interner_item(&names->tids, number);
		known->is_recent = true;
		name = known->name;
	}
	if ((name == 0 || known->batch != names->batch) && read_name(tid, key))
		name = intern_name(names, key);
	hold(names, name);
	if (known != NULL)
		known->batch = names->batch;
	if (known != NULL && name != 0 && name != known->name) {
		hold(names, name);
		hs_thread_names_release(names, known->name);
		known->name = name;
	}
	return name;
}

void hs_thread_names_forget_gone(struct hs_thread_names *names, struct hs_pauses *pauses)
{
	for (uint32_t i = 0; i < names->tids.count; i++) {
		look_at(names, i);
		hs_pauses_count(pauses);
	}
}

const char *hs_thread_names_text(const struct hs_thread_names *names, uint32_t number)
{
	return name_at(names, number)->text;
}
