/*
 * Streams of the processes of a session as those of one tape: as many as there are at once at most.
 * One whose thread has ended is another thread's, as on any tape.
 */
#include "convert/merge_parts.h"

enum { RELEASED_MAX = 4096 /* strands looked at for one that is free */, NAME_BYTES_MAX = 255 };

static bool is_in_use(const struct merge *merge, const struct strand *strand)
{
	for (size_t i = 0; i < merge->streams.count; i++)
		if (merge->streams.items[i].strand == strand)
			return true;
	return false;
}

/* One that nobody writes to from now on, or a new one. */
static struct strand *strand_take(struct merge *merge)
{
	struct composer *composer = merge->composer;
	const size_t count = composer->strands.count;

	for (size_t i = COMPOSE_STREAM_THREADS; i < count && i < RELEASED_MAX; i++) {
		struct strand *strand = composer->strands.items[i];

		if (strand->stream.last_ticks < composer->now && !is_in_use(merge, strand))
			return strand;
	}
	return compose_strand(composer, (uint32_t)count);
}

void merge_thread_write(struct merge *merge, const struct merge_stream *stream)
{
	const struct tape_thread thread = { .tid = stream->tid };
	const char *name = stream->name ? stream->name : "";

	compose_record(merge->composer, stream->strand, merge->composer->now,
		       &(struct compose_record) { .type = TAPE_EXT_THREAD,
						  .payload = &thread,
						  .bytes = sizeof(thread),
						  .tail = name,
						  .tail_bytes = strnlen(name, NAME_BYTES_MAX) });
}

struct strand *merge_strand(struct merge *merge, size_t index)
{
	struct merge_stream *stream = &merge->streams.items[index];

	if (stream->strand)
		return stream->strand;
	if (stream->tid == 0)
		stream->tid = merge->session->members[merge->index].pid;
	stream->strand = strand_take(merge);
	if (stream->strand)
		merge_thread_write(merge, stream);
	return stream->strand;
}
