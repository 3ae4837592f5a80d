/*
 * What a program may have done to the spool that it shares with the collector: slots with any
 * bytes, changed between one look and the next. What parts leave of a slot is a chunk that fits it.
 *
 * An input is a list of steps: a byte that says which slot and what is done, and what that needs.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/parts.h"
#include "tape/codec.h"

enum { SLOTS = 4, SLOT_BYTES = 1024, STEPS_MAX = 200 };

struct input {
	const uint8_t *at, *end;
};

static uint32_t next(struct input *input, size_t bytes)
{
	uint32_t value = 0;

	for (size_t i = 0; i < bytes && input->at < input->end; i++)
		value |= (uint32_t)*input->at++ << 8 * i;
	return value;
}

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_chunk(const struct tape_chunk *chunk)
{
	const size_t room = SLOT_BYTES - sizeof(*chunk);
	struct tape_reader reader;

	check(chunk->node_count <= room / sizeof(struct tape_node));
	check(chunk->used <= room - chunk->node_count * sizeof(struct tape_node));
	tape_reader_init(&reader, chunk + 1, chunk->used, chunk->begin_ticks);
	while (tape_reader_next(&reader))
		check(reader.ptr > reader.begin);
}

/* A header that is plausible, for others are refused at once. */
static void write_header(struct tape_chunk *slot, struct input *input)
{
	*slot = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(*slot),
		.state = TAPE_CHUNK_OPEN,
		.stream = next(input, 1),
		.seq = next(input, 1),
		.used = next(input, 2) % SLOT_BYTES,
		.node_count = next(input, 1),
		.first_node = next(input, 1),
		.begin_ticks = next(input, 2),
	};
	if (slot->stream == UINT8_MAX)
		slot->stream = UINT32_MAX;
}

static void write_records(struct tape_chunk *slot, struct input *input)
{
	uint8_t *bytes = (uint8_t *)(slot + 1);
	const size_t offset = next(input, 2) % (SLOT_BYTES - sizeof(*slot));
	const size_t wanted = next(input, 2) % (SLOT_BYTES - sizeof(*slot) - offset + 1);
	const size_t len = u64_min(wanted, (size_t)(input->end - input->at));

	if (len > 0)
		memcpy(bytes + offset, input->at, len);
	input->at += len;
}

static bool chunk_take(struct parts *parts, const struct spool *spool, uint32_t slot,
		       struct input *input, struct tape_chunk *chunk)
{
	const uint32_t kind = next(input, 1);
	const uint64_t until_ticks = next(input, 3);

	switch (kind % 3) {
	case 0:
		return parts_take(parts, slot, until_ticks, chunk);
	case 1:
		return parts_last(parts, slot, until_ticks, chunk);
	default:
		if (!spool_chunk_copy(spool, slot, chunk))
			return false;
		parts_rest(parts, slot, chunk);
		return true;
	}
}

static const struct spool *spool_get(void)
{
	static struct spool spool;

	if (!spool.map) {
		check(!spool_open(&spool, SLOT_BYTES, SLOTS, 0, "/tmp"));
		spool_unlink(&spool);
	}
	memset(spool_chunk(&spool, 0), 0, SLOTS * SLOT_BYTES);
	return &spool;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, data + size };
	const struct spool *spool = spool_get();
	CLEAN(parts_destroy) struct parts *parts = parts_create(spool);
	CLEAN(free) struct tape_chunk *chunk = malloc(SLOT_BYTES);

	check(parts && chunk);
	spool_header(spool)->flags = next(&input, 1) & 1 ? TAPE_FLAG_LATENCY : 0;
	for (unsigned i = 0; i < STEPS_MAX && input.at < input.end; i++) {
		const uint32_t step = next(&input, 1), slot = step % SLOTS;

		switch (step / SLOTS % 4) {
		case 0:
			write_header(spool_chunk(spool, slot), &input);
			break;
		case 1:
			write_records(spool_chunk(spool, slot), &input);
			break;
		case 2:
			spool_chunk(spool, slot)->used = next(&input, 2);
			break;
		case 3:
			if (chunk_take(parts, spool, slot, &input, chunk))
				check_chunk(chunk);
			break;
		}
	}
	return 0;
}
