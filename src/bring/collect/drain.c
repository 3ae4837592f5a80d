#include "collect/drain.h"

#include <assert.h>

#include "core/hash.h"
#include "tape/codec.h"
#include "tape/tape_spool.h"

struct err *drain_open(struct drain *drain, const struct spool *spool, struct writer *writer,
		       int level, bool in_parts)
{
	assert(spool->chunk_bytes > sizeof(struct tape_chunk));
	assert(spool->chunk_count > 0);
	*drain = (struct drain) {
		.spool = spool,
		.writer = writer,
		.chunk = malloc(spool->chunk_bytes),
		.seen = calloc(spool->chunk_count, sizeof(*drain->seen)),
		.taken = calloc(spool->chunk_count, sizeof(*drain->taken)),
		.packer = level ? capture_packer_create(level) : NULL,
		.parts = parts_create(spool),
		.encoded = malloc(capture_pack_bound(spool->chunk_bytes)),
	};
	if (drain->chunk && drain->seen && drain->taken && drain->encoded &&
	    (drain->packer || !level) && drain->parts) {
		if (in_parts)
			parts_begin(drain->parts);
		return NULL;
	}
	drain_close(drain);
	return err_nomem();
}

void drain_begin_parts(struct drain *drain)
{
	parts_begin(drain->parts);
}

bool drain_is_in_parts(const struct drain *drain)
{
	return parts_have_begun(drain->parts);
}

void drain_close(struct drain *drain)
{
	free(drain->chunk);
	free(drain->seen);
	free(drain->taken);
	free(drain->encoded);
	capture_packer_destroy(drain->packer);
	parts_destroy(drain->parts);
	err_destroy(drain->fault);
	*drain = (struct drain) { 0 };
}

static size_t node_bytes(const struct tape_chunk *chunk)
{
	return chunk->node_count * sizeof(struct tape_node);
}

/* Truncates a chunk after its last whole record and counts its events. */
static void measure(struct tape_chunk *chunk)
{
	struct tape_reader reader;
	size_t whole = 0;

	chunk->event_count = 0;
	tape_reader_init(&reader, chunk + 1, chunk->used, chunk->begin_ticks);
	while (tape_reader_next(&reader)) {
		chunk->event_count += !reader.is_extended && reader.event.fn != TAPE_FN_LATENCY;
		whole = (size_t)(reader.ptr - reader.begin);
	}
	chunk->used = (uint32_t)whole;
}

/* Returns the bytes of the whole encoded chunk. */
static size_t encode_raw(const struct tape_chunk *chunk, uint32_t slot_bytes, uint8_t *out)
{
	const uint32_t stored = (uint32_t)(chunk->used + node_bytes(chunk));
	uint8_t *payload = out + sizeof(*chunk);
	struct tape_chunk header = *chunk;

	header.codec = TAPE_CODEC_RAW;
	header.state = TAPE_CHUNK_SEALED;
	header.stored_bytes = stored;
	header.checksum = 0;
	memcpy(payload, chunk + 1, chunk->used);
	memcpy(payload + chunk->used, (const uint8_t *)chunk + slot_bytes - node_bytes(chunk),
	       node_bytes(chunk));
	header.checksum = hash_bytes(payload, stored, hash_bytes(&header, sizeof(header), 0));
	memcpy(out, &header, sizeof(header));
	return sizeof(header) + stored;
}

static struct err *encode(const struct drain *drain, struct tape_chunk *chunk, uint32_t slot_bytes,
			  size_t *bytes_ret)
{
	struct err *err;

	if (!drain->packer) {
		measure(chunk);
		*bytes_ret = encode_raw(chunk, slot_bytes, drain->encoded);
		return NULL;
	}
	err = capture_pack(drain->packer, chunk, slot_bytes, drain->encoded, bytes_ret, NULL);
	if (!err)
		chunk->event_count = ((const struct tape_chunk *)drain->encoded)->event_count;
	return err;
}

struct err *drain_append(struct drain *drain, struct tape_chunk *chunk, uint32_t slot_bytes,
			 enum writer_urgency urgency)
{
	size_t bytes;
	struct err *err = encode(drain, chunk, slot_bytes, &bytes);

	assert(slot_bytes <= drain->spool->chunk_bytes);
	if (!err)
		err = writer_append(drain->writer, drain->encoded, bytes, urgency);
	if (!err && drain->companion)
		companion_keep(drain->companion, chunk, slot_bytes,
			       ((const struct tape_chunk *)(void *)drain->encoded)->used);
	return err;
}

static void give_up(struct drain *drain, struct err *err)
{
	drain->fault = err;
	spool_give_up(drain->spool, err_errno_of(err));
}

/* Writes a copied slot to the tape, or counts it as missing. */
static void keep(struct drain *drain, struct tape_chunk *chunk)
{
	struct err *err;

	if (drain->fault) {
		measure(chunk);
	} else if (chunk->used > 0 || chunk->node_count > 0) {
		err = drain_append(drain, chunk, drain->spool->chunk_bytes, WRITER_NORMAL);
		if (!err) {
			drain->event_count += chunk->event_count;
			return;
		}
		give_up(drain, err);
	}
	drain->missing_count += chunk->event_count;
}

/*
 * Takes one slot out of the spool; state is the one it was found in. It is freed only once it is on
 * the tape: otherwise it would be lost if this process were killed in between.
 */
static void chunk_take(struct drain *drain, uint32_t index, enum tape_chunk_state state)
{
	struct tape_chunk *chunk = drain->chunk;

	if (!spool_chunk_copy(drain->spool, index, chunk)) {
		drain->damaged_count += state == TAPE_CHUNK_SEALED;
	} else {
		parts_rest(drain->parts, index, chunk);
		keep(drain, chunk);
	}
	spool_chunk_free(drain->spool, index);
}

static void take_appended(void *context, struct tape_chunk *chunk)
{
	struct drain *drain = context;

	parts_whole(drain->parts, chunk);
	keep(drain, chunk);
}

enum { OPEN = 1 << TAPE_CHUNK_OPEN, SEALED = 1 << TAPE_CHUNK_SEALED };

/*
 * Collects slots in the given states, sorted by stream and position in it. The lowest free slot is
 * always taken first, so no slot beyond the first unused one was ever used; examining each costs
 * one cache line.
 */
static size_t gather(const struct drain *drain, unsigned states, struct sort_pair *pairs)
{
	size_t count = 0;

	for (uint32_t i = 0; i < drain->spool->chunk_count; i++) {
		const struct tape_chunk *chunk = spool_chunk(drain->spool, i);
		const uint32_t found = spool_chunk_state(drain->spool, i);

		if (found == TAPE_CHUNK_FREE && chunk->magic == 0)
			break;
		if (found >= 32 || !(states & 1u << found))
			continue;
		pairs[count++] = (struct sort_pair) {
			.key = (uint64_t)chunk->stream << 32 | chunk->seq,
			.index = i,
		};
	}
	if (!sort_pairs(pairs, count))
		return count; /* no memory: the reader sorts as well */
	return count;
}

/*
 * Slots are examined one after the other, so a pass may see a stream's newer chunk and have missed
 * the older one, sealed a moment before in a slot already passed. A second pass sees every chunk
 * older than one seen by the first: what it finds up to there, per stream, has no gaps.
 */
static bool was_seen(const struct drain *drain, size_t seen_count, size_t *at, uint64_t key)
{
	while (*at < seen_count && drain->seen[*at].key < key)
		++*at;
	return *at < seen_count && drain->seen[*at].key >> 32 == key >> 32;
}

static uint32_t take_sealed(struct drain *drain, uint32_t most)
{
	size_t seen_count = gather(drain, SEALED, drain->seen);
	size_t taken_count = seen_count ? gather(drain, SEALED, drain->taken) : 0;
	uint32_t done = 0;
	size_t at = 0;

	for (size_t i = 0; i < taken_count && !drain->fault && done < most; i++) {
		const struct sort_pair *pair = &drain->taken[i];

		if (!was_seen(drain, seen_count, &at, pair->key))
			continue;
		chunk_take(drain, pair->index, TAPE_CHUNK_SEALED);
		done++;
	}
	return done;
}

uint32_t drain_sealed(struct drain *drain)
{
	return take_sealed(drain, UINT32_MAX);
}

uint32_t drain_some(struct drain *drain, uint32_t most)
{
	return take_sealed(drain, most);
}

struct err *drain_each(struct drain *drain,
		       struct err *(*visit)(void *context, uint32_t index,
					    const struct tape_chunk *chunk),
		       void *context)
{
	const size_t seen_count = gather(drain, OPEN | SEALED, drain->seen);
	const size_t count = gather(drain, OPEN | SEALED, drain->taken);
	struct err *err = NULL;
	size_t at = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct sort_pair *pair = &drain->taken[i];
		struct tape_chunk *chunk = drain->chunk;

		if (!was_seen(drain, seen_count, &at, pair->key) ||
		    !spool_chunk_peek(drain->spool, pair->index, chunk) ||
		    ((uint64_t)chunk->stream << 32 | chunk->seq) != pair->key)
			continue;
		memcpy(&chunk->event_count, &spool_chunk(drain->spool, pair->index)->event_count,
		       sizeof(struct tape_taken)); /* as in the spool */
		err = visit(context, pair->index, chunk);
	}
	return err;
}

void drain_open_ones(struct drain *drain, uint64_t until_ticks)
{
	const size_t count = gather(drain, OPEN, drain->taken);

	assert(drain_is_in_parts(drain));
	for (size_t i = 0; i < count && !drain->fault; i++) {
		if (parts_take(drain->parts, drain->taken[i].index, until_ticks, drain->chunk))
			keep(drain, drain->chunk);
	}
}

uint32_t drain_discard(struct drain *drain)
{
	const size_t count = gather(drain, SEALED, drain->taken);

	for (size_t i = 0; i < count; i++)
		spool_chunk_free(drain->spool, drain->taken[i].index);
	return (uint32_t)count;
}

void drain_until(struct drain *drain, uint64_t until_ticks)
{
	/* Each slot is examined only once, so it does not matter when it is sealed. */
	const size_t count = gather(drain, OPEN | SEALED, drain->taken);

	assert(drain_is_in_parts(drain));
	for (size_t i = 0; i < count && !drain->fault; i++) {
		const uint32_t index = drain->taken[i].index;
		const bool has_some = parts_last(drain->parts, index, until_ticks, drain->chunk);

		if (spool_chunk_state(drain->spool, index) == TAPE_CHUNK_SEALED)
			spool_chunk_free(drain->spool, index);
		if (has_some)
			keep(drain, drain->chunk);
	}
}

void drain_rest(struct drain *drain)
{
	static const enum tape_chunk_state states[] = { TAPE_CHUNK_SEALED, TAPE_CHUNK_OPEN };

	for (size_t s = 0; s < array_size(states); s++) {
		size_t count = gather(drain, 1u << states[s], drain->taken);

		for (size_t i = 0; i < count; i++)
			chunk_take(drain, drain->taken[i].index, states[s]);
	}
	err_destroy(spool_appended_each(drain->spool, drain->chunk, take_appended, drain));
}
