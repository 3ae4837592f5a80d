/*
 * tape_input: checksums of a tape put right, and changes to one that leave its chunks where they
 * are: to the header, to one chunk's header, to its records or its nodes.
 */
#ifndef MEMTAPE_TESTS_FUZZ_TAPE_INPUT_H
#define MEMTAPE_TESTS_FUZZ_TAPE_INPUT_H

#include "core/hash.h"
#include "mutate.h"
#include "tape/tape.h"

static inline void put_checksums_right(uint8_t *bytes, size_t size)
{
	size_t at = TAPE_HEADER_BYTES;
	struct tape_chunk chunk;

	while (at + sizeof(chunk) <= size) {
		memcpy(&chunk, bytes + at, sizeof(chunk));
		if (chunk.stored_bytes > size - at - sizeof(chunk))
			return;
		chunk.checksum = 0;
		chunk.checksum = hash_bytes(bytes + at + sizeof(chunk), chunk.stored_bytes,
					    hash_bytes(&chunk, sizeof(chunk), 0));
		memcpy(bytes + at, &chunk, sizeof(chunk));
		at += sizeof(chunk) + chunk.stored_bytes;
	}
}

/* Where a chunk lies that is in the file as a whole. */
struct tape_input_chunk {
	size_t at;
	size_t records_bytes; /* as stored, after its header */
	size_t nodes_bytes;   /* at the end of a slot */
	size_t end;
};

/* The next chunk at this place; false: there is none. */
static inline bool tape_input_next(const uint8_t *data, size_t size, size_t at,
				   struct tape_input_chunk *chunk_ret)
{
	struct tape_header header;
	struct tape_chunk chunk;
	size_t room;

	memcpy(&header, data, sizeof(header));
	if (at > size || size - at <= sizeof(chunk))
		return false;
	memcpy(&chunk, data + at, sizeof(chunk));
	room = size - at - sizeof(chunk);
	*chunk_ret = (struct tape_input_chunk) { .at = at };
	if (header.kind == TAPE_KIND_PACKED) {
		chunk_ret->records_bytes = u64_min(chunk.stored_bytes, room);
	} else {
		room = u64_min(room, header.chunk_bytes);
		chunk_ret->records_bytes = u64_min(chunk.used, room);
		chunk_ret->nodes_bytes =
			u64_min((uint64_t)chunk.node_count * sizeof(struct tape_node),
				room - chunk_ret->records_bytes);
	}
	chunk_ret->end = header.kind == TAPE_KIND_PACKED
				 ? at + sizeof(chunk) + chunk_ret->records_bytes
				 : u64_min(at + header.chunk_bytes, size);
	return chunk_ret->end > at;
}

static inline void tape_chunk_mutate(struct dice *dice, uint8_t *data,
				     const struct tape_input_chunk *chunk)
{
	uint8_t *records = data + chunk->at + sizeof(struct tape_chunk);
	const uint64_t what = dice_roll(dice, 8);

	if (what == 0 || chunk->records_bytes == 0)
		mutate_part(dice, data + chunk->at, sizeof(struct tape_chunk));
	else if (what == 1 && chunk->nodes_bytes > 0)
		mutate_part(dice, data + chunk->end - chunk->nodes_bytes, chunk->nodes_bytes);
	else
		mutate_part(dice, records, chunk->records_bytes);
}

static inline size_t tape_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct dice dice = { .state = seed };
	struct tape_input_chunk chunk = { .end = TAPE_HEADER_BYTES }, next;
	uint64_t skip = dice_roll(&dice, 4);

	if (size <= TAPE_HEADER_BYTES || dice_roll(&dice, 8) == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (dice_roll(&dice, 8) == 0) {
		mutate_part(&dice, data, sizeof(struct tape_header));
		return size;
	}
	while (tape_input_next(data, size, chunk.end, &next)) {
		chunk = next;
		if (skip-- == 0)
			break;
	}
	if (chunk.at == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	tape_chunk_mutate(&dice, data, &chunk);
	return size;
}

#endif
