#include "capture/cut.h"

#include <assert.h>

void capture_cut_reader(struct tape_reader *reader, const struct capture_cut *cut,
			const struct tape_chunk *chunk)
{
	assert(cut->used <= chunk->used);
	tape_reader_init(reader, chunk + 1, chunk->used, chunk->begin_ticks);
	if (cut->used == 0)
		return;
	reader->ptr += cut->used;
	reader->codec = cut->codec;
}

bool capture_cut_find(const struct tape_chunk *chunk, uint32_t used, uint32_t node_count,
		      struct capture_cut *cut)
{
	struct tape_reader reader;

	tape_reader_init(&reader, chunk + 1, chunk->used, chunk->begin_ticks);
	while (tape_reader_offset(&reader) < used && tape_reader_next(&reader))
		;
	if (tape_reader_offset(&reader) != used || node_count > chunk->node_count)
		return false;
	*cut = (struct capture_cut) { used, node_count, reader.codec };
	return true;
}

/* Re-encodes records from the cut on as in a chunk that begins there. Returns their bytes. */
static uint32_t records_rewrite(const struct capture_cut *cut, const struct tape_chunk *chunk,
				uint8_t *out)
{
	struct tape_codec_state codec;
	struct tape_reader reader;
	uint8_t *at = out;

	tape_codec_reset(&codec, cut->codec.ticks);
	capture_cut_reader(&reader, cut, chunk);
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
	memcpy(at, reader.ptr, (size_t)(reader.end - reader.ptr)); /* identical from here on */
	return (uint32_t)(at - out + (reader.end - reader.ptr));
}

void capture_cut_front(struct tape_chunk *chunk, uint32_t chunk_bytes,
		       const struct capture_cut *cut, uint8_t *scratch)
{
	uint8_t *end = (uint8_t *)chunk + chunk_bytes;
	const size_t had = chunk->node_count * sizeof(struct tape_node);
	uint32_t used;

	assert(cut->used <= chunk->used && cut->node_count <= chunk->node_count);
	if (cut->used == 0)
		return;
	used = records_rewrite(cut, chunk, scratch);
	chunk->node_count -= cut->node_count;
	memmove(end - chunk->node_count * sizeof(struct tape_node), end - had,
		chunk->node_count * sizeof(struct tape_node));
	memcpy(chunk + 1, scratch, used);
	chunk->used = used;
	chunk->first_node += cut->node_count;
	chunk->begin_ticks = cut->codec.ticks;
}
