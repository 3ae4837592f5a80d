#include "collect/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cut.h"

enum { STREAMS_MAX = 1 << 16 }; /* taken in parts; limited because the target can corrupt ids */

/* How much of the chunk in a slot has been taken. */
struct part {
	uint32_t stream;
	uint32_t seq;
	struct capture_cut cut; /* used 0: nothing has been taken */
};

struct stream_place {
	uint32_t next;	/* the next expected chunk, in the recorder's numbering */
	uint32_t extra; /* parts taken: numbers on the tape are higher by this */
	bool is_over;	/* the rest is too late for a tape that is ending */
};

struct parts {
	const struct spool *spool;
	struct part *part; /* by slot */
	struct stream_place stream[STREAMS_MAX];
	uint8_t *scratch; /* re-encoded records */
	bool has_begun;
};

struct parts *parts_create(const struct spool *spool)
{
	struct parts *parts = calloc(1, sizeof(*parts)); /* mostly never touched */

	assert(spool->chunk_count > 0);
	if (!parts)
		return NULL;
	parts->spool = spool;
	parts->part = calloc(spool->chunk_count, sizeof(*parts->part));
	parts->scratch = malloc(spool->chunk_bytes + TAPE_EVENT_ROOM);
	if (parts->part && parts->scratch)
		return parts;
	parts_destroy(parts);
	return NULL;
}

/* Slots whose chunks are not on the tape say so already: struct tape_taken is all zeros. */
void parts_begin(struct parts *parts)
{
	__atomic_store_n(&spool_live(parts->spool)->in_parts, 1, __ATOMIC_RELEASE);
	parts->has_begun = true;
}

bool parts_have_begun(const struct parts *parts)
{
	return parts->has_begun;
}

void parts_destroy(struct parts *parts)
{
	if (!parts)
		return;
	free(parts->part);
	free(parts->scratch);
	free(parts);
}

/* NULL: it has none. */
static struct stream_place *place_of(struct parts *parts, const struct tape_chunk *chunk)
{
	return chunk->stream < STREAMS_MAX ? &parts->stream[chunk->stream] : NULL;
}

static struct part *part_of(struct parts *parts, uint32_t index, const struct tape_chunk *chunk)
{
	struct part *part = &parts->part[index];

	if (part->cut.used == 0 || part->stream != chunk->stream || part->seq != chunk->seq ||
	    part->cut.used > chunk->used || part->cut.node_count > chunk->node_count)
		*part = (struct part) { .stream = chunk->stream,
					.seq = chunk->seq,
					.cut.codec = { .ticks = chunk->begin_ticks } };
	return part;
}

/*
 * Announces what is about to be written to the tape under a number, for readers of the spool of a
 * collector that was killed: at each moment it says how much of the chunk is there (struct
 * tape_taken).
 */
static void intend(const struct parts *parts, uint32_t index, uint32_t used, uint32_t node_count,
		   uint32_t seq)
{
	struct tape_chunk *slot = spool_chunk(parts->spool, index);
	struct tape_taken *taken = (struct tape_taken *)(void *)&slot->event_count;

	__atomic_store_n(&taken->used, taken->next_used, __ATOMIC_RELEASE);
	__atomic_store_n(&taken->nodes, taken->next_nodes, __ATOMIC_RELEASE);
	__atomic_store_n(&taken->seq, seq + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&taken->next_used, used, __ATOMIC_RELEASE);
	__atomic_store_n(&taken->next_nodes, node_count, __ATOMIC_RELEASE);
}

/*
 * Moves *end past the last record that is whole and not too late. Latencies belong to the event
 * before them: if they are recorded, the last event is left until its latency is there. Returns
 * false if a record was too late.
 */
static bool find_end(const struct tape_chunk *chunk, bool has_latency, uint64_t until_ticks,
		     struct capture_cut *end)
{
	struct tape_reader reader;

	capture_cut_reader(&reader, end, chunk);
	while (tape_reader_next(&reader)) {
		const bool is_latency = !reader.is_extended && reader.event.fn == TAPE_FN_LATENCY;
		const uint64_t ticks =
			reader.is_extended ? reader.extended.ticks : reader.event.ticks;

		if (!is_latency && ticks > until_ticks)
			return false;
		if (!is_latency && !reader.is_extended && has_latency)
			continue;
		end->used = (uint32_t)tape_reader_offset(&reader);
		end->codec = reader.codec;
	}
	return true;
}

/* Removes from the chunk what was taken before. */
static void cut_front(const struct parts *parts, const struct part *part, struct tape_chunk *chunk)
{
	capture_cut_front(chunk, parts->spool->chunk_bytes, &part->cut, parts->scratch);
}

/* A chunk completely taken in parts: its number goes to the next chunk. */
static void number_give_back(struct stream_place *stream)
{
	if (stream && stream->extra > 0)
		stream->extra--;
}

void parts_rest(struct parts *parts, uint32_t index, struct tape_chunk *chunk)
{
	struct part *part = part_of(parts, index, chunk);
	struct stream_place *stream = place_of(parts, chunk);
	const bool had_part = part->cut.used > 0;
	const uint32_t used = chunk->used, node_count = chunk->node_count;

	assert(index < parts->spool->chunk_count);
	if (!parts->has_begun) {
		if (stream)
			stream->next = chunk->seq + 1;
		return;
	}
	cut_front(parts, part, chunk);
	*part = (struct part) { 0 };
	if (stream) {
		stream->next = chunk->seq + 1;
		chunk->seq += stream->extra;
		if (had_part && chunk->used == 0 && chunk->node_count == 0)
			number_give_back(stream);
	}
	intend(parts, index, used, node_count, chunk->seq);
}

void parts_whole(struct parts *parts, struct tape_chunk *chunk)
{
	struct stream_place *stream = place_of(parts, chunk);

	if (stream)
		chunk->seq += stream->extra;
}

/*
 * Reduces chunk to the records up to a given time that were not taken, and sets its number on the
 * tape. False: there are none, or fewer than bytes_min bytes with those that were taken before.
 */
static bool cut(struct parts *parts, uint32_t index, const struct capture_cut *end,
		struct tape_chunk *chunk, uint32_t bytes_min)
{
	struct part *part = &parts->part[index];
	const struct stream_place *stream = place_of(parts, chunk);

	if (end->used < bytes_min || end->used == part->cut.used)
		return false;
	chunk->used = end->used;
	cut_front(parts, part, chunk);
	part->cut = *end;
	chunk->seq += stream ? stream->extra : 0;
	intend(parts, index, end->used, end->node_count, chunk->seq);
	return true;
}

bool parts_take(struct parts *parts, uint32_t index, uint64_t until_ticks, struct tape_chunk *chunk)
{
	const bool has_latency = spool_header(parts->spool)->flags & TAPE_FLAG_LATENCY;
	struct stream_place *stream;
	struct capture_cut end;

	assert(index < parts->spool->chunk_count);
	if (!spool_chunk_peek(parts->spool, index, chunk))
		return false;
	stream = place_of(parts, chunk);
	if (!stream || chunk->seq != stream->next)
		return false; /* an earlier one has not been taken yet */
	end = part_of(parts, index, chunk)->cut;
	find_end(chunk, has_latency, until_ticks, &end);
	end.node_count = chunk->node_count;
	if (!cut(parts, index, &end, chunk, CAPTURE_CUT_BYTES_MIN))
		return false;
	stream->extra++;
	return true;
}

bool parts_last(struct parts *parts, uint32_t index, uint64_t until_ticks, struct tape_chunk *chunk)
{
	struct stream_place *stream;
	struct capture_cut end;
	bool had_part, is_over;

	assert(index < parts->spool->chunk_count);
	if (!spool_chunk_peek(parts->spool, index, chunk))
		return false;
	stream = place_of(parts, chunk);
	if (stream && stream->is_over)
		return false;
	end = part_of(parts, index, chunk)->cut;
	had_part = end.used > 0;
	is_over = !find_end(chunk, false, until_ticks, &end);
	end.node_count = chunk->node_count;
	if (stream)
		stream->is_over = is_over;
	if (!cut(parts, index, &end, chunk, 1)) {
		if (had_part)
			number_give_back(stream);
		return false;
	}
	return true;
}
