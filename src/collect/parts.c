#include "collect/parts.h"

#include <stdlib.h>
#include <string.h>

#include "tape/codec.h"

enum {
	STREAMS_MAX = 1 << 16, /* that are taken in parts: ids are the target's to break */
	PART_BYTES_MIN = 64    /* more than the first records grow by when they are written anew */
};

/* How far the chunk in a slot was taken. */
struct part {
	uint32_t stream;
	uint32_t seq;
	uint32_t used;
	uint32_t node_count;
	struct tape_codec_state codec; /* there */
};

struct stream_place {
	uint32_t next;	/* the chunk that comes next, by the recorder's numbers */
	uint32_t extra; /* parts taken: so much higher are its numbers on the tape */
	bool is_over;	/* what it has is too late for a tape that ends */
};

struct parts {
	const struct spool *spool;
	struct part *part; /* by slot; used 0: nothing was taken */
	struct stream_place stream[STREAMS_MAX];
	uint8_t *scratch; /* records written anew */
};

struct parts *parts_create(const struct spool *spool)
{
	struct parts *parts = calloc(1, sizeof(*parts)); /* mostly never touched */

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

void parts_destroy(struct parts *parts)
{
	if (!parts)
		return;
	free(parts->part);
	free(parts->scratch);
	free(parts);
}

/* NULL: it has no place. */
static struct stream_place *place_of(struct parts *parts, const struct tape_chunk *chunk)
{
	return chunk->stream < STREAMS_MAX ? &parts->stream[chunk->stream] : NULL;
}

static struct part *part_of(struct parts *parts, uint32_t index, const struct tape_chunk *chunk)
{
	struct part *part = &parts->part[index];

	if (part->used == 0 || part->stream != chunk->stream || part->seq != chunk->seq ||
	    part->used > chunk->used || part->node_count > chunk->node_count)
		*part = (struct part) { .stream = chunk->stream,
					.seq = chunk->seq,
					.codec = { .ticks = chunk->begin_ticks } };
	return part;
}

static void reader_begin(struct tape_reader *reader, const struct part *part,
			 const struct tape_chunk *chunk)
{
	tape_reader_init(reader, chunk + 1, chunk->used, chunk->begin_ticks);
	reader->ptr += part->used;
	reader->codec = part->codec;
}

/*
 * Moves *part_end to behind the last record that is whole and not too late. Latencies belong to the
 * event before them: where there are any, the last event stays until its own is there. Returns
 * whether no record was too late.
 */
static bool find_end(const struct tape_chunk *chunk, bool has_latency, uint64_t until_ticks,
		     struct part *part_end)
{
	struct tape_reader reader;

	reader_begin(&reader, part_end, chunk);
	while (tape_reader_next(&reader)) {
		const bool is_latency = !reader.is_extended && reader.event.fn == TAPE_FN_LATENCY;
		const uint64_t ticks =
			reader.is_extended ? reader.extended.ticks : reader.event.ticks;

		if (!is_latency && ticks > until_ticks)
			return false;
		if (!is_latency && !reader.is_extended && has_latency)
			continue;
		part_end->used = (uint32_t)tape_reader_offset(&reader);
		part_end->codec = reader.codec;
	}
	return true;
}

/* Records from the part's end on as a chunk has them that begins there. Returns their bytes. */
static uint32_t records_rewrite(const struct part *part, const struct tape_chunk *chunk,
				uint8_t *out)
{
	struct tape_codec_state codec;
	struct tape_reader reader;
	uint8_t *at = out;

	tape_codec_reset(&codec, part->codec.ticks);
	reader_begin(&reader, part, chunk);
	while (memcmp(&codec, &reader.codec, sizeof(codec)) != 0) {
		const uint8_t *begin = reader.ptr;
		const struct tape_event *event = &reader.event;

		if (!tape_reader_next(&reader))
			return (uint32_t)(at - out);
		if (!reader.is_extended && event->fn != TAPE_FN_LATENCY) {
			at = tape_event_encode(&codec, at, event->fn, event->ticks, event->address,
					       event->size, event->usable, event->node);
		} else {
			memcpy(at, begin, (size_t)(reader.ptr - begin));
			at += reader.ptr - begin;
		}
	}
	memcpy(at, reader.ptr, (size_t)(reader.end - reader.ptr)); /* the same from here on */
	return (uint32_t)(at - out + (reader.end - reader.ptr));
}

/* Takes from the chunk what was taken before. */
static void cut_front(struct parts *parts, const struct part *part, struct tape_chunk *chunk)
{
	uint8_t *end = (uint8_t *)chunk + parts->spool->chunk_bytes;
	const size_t had = chunk->node_count * sizeof(struct tape_node);
	uint32_t used;

	if (part->used == 0)
		return;
	used = records_rewrite(part, chunk, parts->scratch);
	chunk->node_count -= part->node_count;
	memmove(end - chunk->node_count * sizeof(struct tape_node), end - had,
		chunk->node_count * sizeof(struct tape_node));
	memcpy(chunk + 1, parts->scratch, used);
	chunk->used = used;
	chunk->first_node += part->node_count;
	chunk->begin_ticks = part->codec.ticks;
}

/* A chunk of which parts have all there was: the number it would have is the next one's. */
static void number_give_back(struct stream_place *stream)
{
	if (stream && stream->extra > 0)
		stream->extra--;
}

void parts_rest(struct parts *parts, uint32_t index, struct tape_chunk *chunk)
{
	struct part *part = part_of(parts, index, chunk);
	struct stream_place *stream = place_of(parts, chunk);
	const bool had_part = part->used > 0;

	cut_front(parts, part, chunk);
	*part = (struct part) { 0 };
	if (!stream)
		return;
	stream->next = chunk->seq + 1;
	chunk->seq += stream->extra;
	if (had_part && chunk->used == 0 && chunk->node_count == 0)
		number_give_back(stream);
}

/* Leaves in chunk the records up to a moment that were not taken; false: less than bytes_min. */
static bool cut(struct parts *parts, uint32_t index, const struct part *end,
		struct tape_chunk *chunk, uint32_t bytes_min)
{
	struct part *part = &parts->part[index];

	if (end->used < part->used + bytes_min)
		return false;
	chunk->used = end->used;
	cut_front(parts, part, chunk);
	*part = *end;
	return true;
}

bool parts_take(struct parts *parts, uint32_t index, uint64_t until_ticks, struct tape_chunk *chunk)
{
	const bool has_latency = spool_header(parts->spool)->flags & TAPE_FLAG_LATENCY;
	struct stream_place *stream;
	struct part end;

	if (!spool_chunk_peek(parts->spool, index, chunk))
		return false;
	stream = place_of(parts, chunk);
	if (!stream || chunk->seq != stream->next)
		return false; /* one before it waits to be taken */
	end = *part_of(parts, index, chunk);
	find_end(chunk, has_latency, until_ticks, &end);
	end.node_count = chunk->node_count;
	if (!cut(parts, index, &end, chunk, PART_BYTES_MIN))
		return false;
	chunk->seq += stream->extra++;
	return true;
}

bool parts_last(struct parts *parts, uint32_t index, uint64_t until_ticks, struct tape_chunk *chunk)
{
	struct stream_place *stream;
	struct part end;
	bool had_part, is_over;

	if (!spool_chunk_peek(parts->spool, index, chunk))
		return false;
	stream = place_of(parts, chunk);
	if (stream && stream->is_over)
		return false;
	end = *part_of(parts, index, chunk);
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
	if (stream)
		chunk->seq += stream->extra;
	return true;
}
