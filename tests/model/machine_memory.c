/* SPDX-License-Identifier: BSD-2-Clause */
/* See machine_memory.h. */
#include "machine_memory.h"

#include <string.h>
#include <sys/mman.h>

/* The linker's: where the program's variables are. */
extern char __data_start[], _end[];

struct image {
	char *variables;
	char *arena;
};

/* Apart from the variables, so that bringing those back does not bring it back. */
struct memory {
	struct image first, kept;
	const struct image *last;
	char *arena;
	struct hs_thread_state *thread_state; /* whose hs_thread is in use; NULL: nobody's */
	struct hs_thread_state no_thread_state;
};

static struct memory *memory;

uint64_t memory_load(uintptr_t address, size_t bytes)
{
	switch (bytes) {
	case 1:
		return *(volatile uint8_t *)address;
	case 4:
		return *(volatile uint32_t *)address;
	case 8:
		return *(volatile uint64_t *)address;
	default:
		machine_give_up("an access of a size that is not known");
	}
}

static void store(uintptr_t address, size_t bytes, uint64_t value)
{
	switch (bytes) {
	case 1:
		*(volatile uint8_t *)address = (uint8_t)value;
		break;
	case 4:
		*(volatile uint32_t *)address = (uint32_t)value;
		break;
	case 8:
		*(volatile uint64_t *)address = value;
		break;
	default:
		machine_give_up("an access of a size that is not known");
	}
}

uint64_t memory_do(const struct next *next)
{
	uint64_t was;

	if (next->op == MODEL_FENCE || next->op == MODEL_FUTEX_WAKE || next->op == MODEL_IS_GONE ||
	    next->op == MODEL_FUTEX_WAIT)
		return 0;
	was = memory_load(next->address, next->bytes);
	switch (next->op) {
	case MODEL_STORE:
	case MODEL_EXCHANGE:
		store(next->address, next->bytes, next->value);
		break;
	case MODEL_ADD:
		store(next->address, next->bytes, was + next->value);
		break;
	case MODEL_AND:
		store(next->address, next->bytes, was & next->value);
		break;
	case MODEL_OR:
		store(next->address, next->bytes, was | next->value);
		break;
	case MODEL_CAS:
		if (was == next->expected)
			store(next->address, next->bytes, next->value);
		break;
	default:
		break;
	}
	return was;
}

void buffer_put(struct buffer *buffer, const struct next *next, const struct clock *clock)
{
	if (buffer->count == BUFFER_MOST)
		machine_give_up("a store buffer is too small");
	buffer->stores[buffer->count].address = next->address;
	buffer->stores[buffer->count].bytes = next->bytes;
	buffer->stores[buffer->count].value = next->value;
	buffer->stores[buffer->count].clock = *clock;
	buffer->count++;
}

void buffer_flush(struct buffer *buffer)
{
	store(buffer->stores[0].address, buffer->stores[0].bytes, buffer->stores[0].value);
	buffer->count--;
	memmove(&buffer->stores[0], &buffer->stores[1], buffer->count * sizeof buffer->stores[0]);
}

bool buffer_find(const struct buffer *buffer, uintptr_t address, uint64_t *value)
{
	for (unsigned i = buffer->count; i > 0; i--) {
		if (buffer->stores[i - 1].address == address) {
			*value = buffer->stores[i - 1].value;
			return true;
		}
	}
	return false;
}

static size_t variables_bytes(void)
{
	return (size_t)(_end - __data_start);
}

static void *map(size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		machine_give_up("no memory");
	return start;
}

void *memory_arena(void)
{
	return memory->arena;
}

void memory_use_thread_state(struct hs_thread_state *state)
{
	if (memory->thread_state == state)
		return;
	if (memory->thread_state != NULL)
		*memory->thread_state = hs_thread;
	memory->thread_state = state;
	hs_thread = *state;
}

static void take(struct image *image)
{
	memcpy(image->variables, __data_start, variables_bytes());
	memcpy(image->arena, memory->arena, memory_arena_used());
	memory->last = image;
}

void memory_first(void)
{
	memory = map(sizeof *memory);
	memory->arena = map(MEMORY_ARENA_BYTES);
	memory->first.variables = map(variables_bytes());
	memory->kept.variables = map(variables_bytes());
	memory->first.arena = map(MEMORY_ARENA_BYTES);
	memory->kept.arena = map(MEMORY_ARENA_BYTES);
	take(&memory->first);
}

void memory_keep(void)
{
	take(&memory->kept);
}

void memory_forget(void)
{
	memory->last = &memory->first;
	memory_restore();
}

void memory_restore(void)
{
	size_t used = memory_arena_used(), kept;

	memcpy(__data_start, memory->last->variables, variables_bytes());
	kept = memory_arena_used();
	memcpy(memory->arena, memory->last->arena, kept);
	if (used > kept)
		memset(memory->arena + kept, 0, used - kept);
	memory->thread_state = NULL;
	hs_thread = memory->no_thread_state;
}
