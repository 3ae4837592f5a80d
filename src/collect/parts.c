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
 * event before them: where there are any, the last event stays until its own is there.
 */
static void find_end(const struct tape_chunk *chunk, bool has_latency, uint64_t until_ticks,
		     struct part *part_end)
{
	struct tape_reader reader;

	reader_begin(&reader, part_end, chunk);
	while (tape_reader_next(&reader)) {
		const bool is_event = !reader.is_extended && reader.event.fn != TAPE_FN_LATENCY;

		if (is_event && reader.event.ticks > until_ticks)
			return;
		if (is_event && has_latency)
			continue;
		part_end->used = (uint32_t)tape_reader_offset(&reader);
		part_end->codec = reader.codec;
	}
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

void parts_rest(struct parts *parts, uint32_t index, struct tape_chunk *chunk)
{
	struct part *part = part_of(parts, index, chunk);
	struct stream_place *stream;

	cut_front(parts, part, chunk);
	*part = (struct part) { 0 };
	if (chunk->stream >= STREAMS_MAX)
		return;
	stream = &parts->stream[chunk->stream];
	stream->next = chunk->seq + 1;
	chunk->seq += stream->extra;
}

bool parts_take(struct parts *parts, uint32_t index, uint64_t until_ticks, struct tape_chunk *chunk)
{
	const bool has_latency = spool_header(parts->spool)->flags & TAPE_FLAG_LATENCY;
	struct stream_place *stream;
	struct part *part, end;

	if (!spool_chunk_peek(parts->spool, index, chunk) || chunk->stream >= STREAMS_MAX)
		return false;
	stream = &parts->stream[chunk->stream];
	if (chunk->seq != stream->next)
		return false; /* one before it waits to be taken */
	part = part_of(parts, index, chunk);
	end = *part;
	find_end(chunk, has_latency, until_ticks, &end);
	if (end.used < part->used + PART_BYTES_MIN)
		return false;
	end.node_count = chunk->node_count;
	chunk->used = end.used;
	cut_front(parts, part, chunk);
	*part = end;
	chunk->seq += stream->extra++;
	return true;
}
