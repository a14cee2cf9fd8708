/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four writers and a reader on a small ring: each writer's records come whole and in its order, and
 * none is lost: read + abandoned = reserved.
 */
#include "sample/ring.h"

#include <pthread.h>

#include "../unit/check.h"
#include "../unit/random_numbers.h"
#include "../unit/sample_testing.h"
#include "base/sys.h"

#define WRITERS 4
#define DATA_BYTES 16384u
#define RUN_NS 3000000000u

struct message {
	uint64_t writer;
	uint64_t number;
	uint64_t bytes;
	uint64_t sum;
};

struct writer {
	pthread_t thread;
	uint64_t id;
	uint64_t committed, abandoned, refused;
};

static struct hs_ring ring;
static _Atomic bool stop;

static uint64_t checksum(const unsigned char *bytes, size_t count)
{
	uint64_t sum = 1469598103934665603u;

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ bytes[i]) * 1099511628211u;
	return sum;
}

static void write_one(struct writer *writer, uint64_t *random)
{
	size_t bytes = sizeof(struct message) + random_next(random) % 1500;
	int kind = random_next(random) % 8 == 0 ? HS_RING_KEPT : HS_RING_ORDINARY;
	uint32_t space = hs_ring_space_counter(&ring);
	struct message *message;
	unsigned char *body;
	uint64_t open;

	message = hs_ring_reserve(&ring, bytes, kind, (uint32_t)writer->id, writer->id, &open);
	if (message == NULL) {
		if (writer->refused++ % 4 == 0)
			hs_ring_wait_for_space(&ring, space, 1000000);
		return;
	}
	body = (unsigned char *)(message + 1);
	for (size_t i = 0; i < bytes - sizeof *message; i++)
		body[i] = (unsigned char)(writer->id * 37 + writer->committed + i);
	*message = (struct message){writer->id, writer->committed, bytes,
				    checksum(body, bytes - sizeof *message)};
	if (random_next(random) % 16 == 0) {
		CHECK(hs_ring_abandon(&ring, hs_ring_ticket(open), (uint32_t)writer->id));
		writer->abandoned++;
	} else {
		hs_ring_note_sequence(&ring, hs_ring_ticket(open), writer->committed + 1);
		CHECK(hs_ring_commit(&ring, hs_ring_ticket(open)));
		writer->committed++;
	}
	hs_ring_wake_reader(&ring);
}

static void *write_many(void *argument)
{
	struct writer *writer = argument;
	uint64_t random = writer->id + 1;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		write_one(writer, &random);
	return NULL;
}

static uint64_t read_count[WRITERS], abandoned_count[WRITERS];

static void check_item(const struct hs_ring_item *item)
{
	const struct message *message = item->data;

	CHECK(item->cookie < WRITERS && item->tid == item->cookie);
	if (item->cookie >= WRITERS)
		return;
	if (item->state == HS_RING_ABANDONED) {
		abandoned_count[item->cookie]++;
		return;
	}
	CHECK_INT(message->writer, item->cookie);
	CHECK_INT(message->number, read_count[item->cookie]);
	CHECK_INT(item->sequence, message->number + 1);
	CHECK_INT(message->bytes, item->bytes);
	CHECK(message->sum ==
	      checksum((const unsigned char *)(message + 1), item->bytes - sizeof *message));
	read_count[item->cookie]++;
}

/* Reads until all writers have ended and the ring is empty. */
static void read_until(uint64_t end_ns, struct writer *writers)
{
	struct hs_ring_item item;
	bool joined = false;

	for (;;) {
		hs_ring_read(&ring, &item);
		if (item.state == HS_RING_COMMITTED || item.state == HS_RING_ABANDONED) {
			check_item(&item);
			ring_release(&ring);
			if (joined || hs_sys_monotonic_ns() < end_ns)
				continue;
		} else if (joined) {
			CHECK_INT(item.state, HS_RING_EMPTY);
			return;
		}
		if (hs_sys_monotonic_ns() < end_ns) {
			hs_ring_reader_sleep(&ring, 100000000);
			continue;
		}
		atomic_store(&stop, true);
		for (unsigned i = 0; i < WRITERS; i++)
			pthread_join(writers[i].thread, NULL);
		joined = true;
	}
}

static void test_conservation(void)
{
	void *memory = hs_sys_map(hs_ring_memory_bytes(DATA_BYTES), 3);
	static struct writer writers[WRITERS];
	uint64_t total = 0, refused = 0;

	hs_ring_init(&ring, memory, DATA_BYTES);
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i].id = i;
		CHECK_INT(pthread_create(&writers[i].thread, NULL, write_many, &writers[i]), 0);
	}
	read_until(hs_sys_monotonic_ns() + RUN_NS, writers);
	for (unsigned i = 0; i < WRITERS; i++) {
		CHECK(writers[i].committed > 0);
		CHECK_INT(read_count[i], writers[i].committed);
		CHECK_INT(abandoned_count[i], writers[i].abandoned);
		total += read_count[i] + abandoned_count[i];
		refused += writers[i].refused;
	}
	printf("%llu records, %llu refused\n", (unsigned long long)total,
	       (unsigned long long)refused);
}

int main(void)
{
	RUN(test_conservation);
	return CHECK_RESULT();
}
