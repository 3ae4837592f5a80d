#include "capture/rotate.h"

#include <assert.h>
#include <errno.h>

#include "capture/rewrite.h"
#include "capture/rotate_plan.h"

enum {
	CHUNK_ROOM = 4096, /* of a chunk, that is not used */
	CHUNKS_MORE = 3,   /* of a stream: where its nodes begin anew, and at its end */
	PLANS_MAX = 4
};

/* What is old of a stream. */
struct old_stream {
	uint64_t record_bytes;
	uint64_t node_bytes;
	uint64_t same_bytes;   /* of these, of nodes that keep their numbers: */
	uint32_t same_from;    /* those from here on; see same_from() in rewrite.c */
	bool has_more;	       /* a chunk that is not old */
	uint64_t number_count; /* numbers of chunks, up to the last one's */
	bool is_whole;	       /* nothing is left out of it */
};

struct rotate {
	const struct capture *capture;
	const struct rotate_settings *settings;
	struct rotate_plan plan;
	struct old_stream *streams; /* by stream */
	struct map by_id;	    /* index of a stream + 1 */
	size_t stream;		    /* that is being written, */
	uint64_t record_number;
	bool has_stream;
};

static struct old_stream *stream_of(const struct rotate *rotate, const struct capture_chunk *chunk)
{
	const uint64_t *index = map_find(&rotate->by_id, chunk->stream);

	return index ? &rotate->streams[*index] : NULL;
}

/* The collector's stream is always rewritten: it has records alone. */
static bool is_old(const void *context, const struct capture_chunk *chunk)
{
	const struct rotate *rotate = context;
	const struct old_stream *stream = stream_of(rotate, chunk);

	if (chunk->is_slot)
		return false;
	if (chunk->stream == TAPE_COLLECTOR_STREAM)
		return true;
	return chunk->offset < rotate->settings->kept_from && stream && !stream->is_whole;
}

/* --- the plan -------------------------------------------------------------------------------- */

static void same_find(struct rotate *rotate, const struct capture_chunk *chunk)
{
	struct old_stream *stream = stream_of(rotate, chunk);

	if (is_old(rotate, chunk)) {
		if (!stream->has_more)
			stream->same_from =
				(uint32_t)u64_max(stream->same_from, chunk->oldest_node);
	} else {
		stream->same_from =
			stream->has_more ? (uint32_t)u64_min(stream->same_from, chunk->oldest_node)
					 : chunk->oldest_node;
		stream->has_more = true;
	}
}

static void chunk_measure(struct rotate *rotate, const struct capture_chunk *chunk)
{
	struct old_stream *stream = stream_of(rotate, chunk);
	const uint64_t end = (uint64_t)chunk->first_node + chunk->node_count;
	const uint64_t from = u64_max(chunk->first_node, stream->same_from);

	if (!is_old(rotate, chunk))
		return;
	stream->record_bytes += chunk->used;
	stream->node_bytes += chunk->node_count * sizeof(struct tape_node);
	stream->same_bytes += end > from ? (end - from) * sizeof(struct tape_node) : 0;
	stream->number_count = u64_max(stream->number_count, (uint64_t)chunk->seq + 1);
}

static struct err *streams_measure(struct rotate *rotate)
{
	const struct capture *capture = rotate->capture;
	const size_t stream_count = capture_stream_count(capture);

	rotate->streams = calloc(stream_count + 1, sizeof(*rotate->streams));
	if (!rotate->streams)
		return err_nomem();
	for (size_t i = 0; i < stream_count; i++) {
		uint64_t *index = map_put(&rotate->by_id, capture_stream_id(capture, i), NULL);

		if (!index)
			return err_nomem();
		*index = i;
	}
	for (size_t i = 0; i < capture_chunk_count(capture); i++)
		same_find(rotate, capture_chunk_get(capture, i));
	for (size_t i = 0; i < capture_chunk_count(capture); i++)
		chunk_measure(rotate, capture_chunk_get(capture, i));
	return NULL;
}

/*
 * What is left of a stream must fit into chunks with the numbers of the old ones. Where little is
 * left out, it may not: such a stream stays as it is. *has_more_ret: then the plan is another one.
 */
static void streams_check(struct rotate *rotate, bool *has_more_ret)
{
	const uint64_t chunk_bytes = capture_header(rotate->capture)->chunk_bytes - CHUNK_ROOM;

	*has_more_ret = false;
	for (size_t i = 0; i < rotate->plan.stream_count; i++) {
		const struct rotate_stream *planned = &rotate->plan.streams[i];
		struct old_stream *stream = &rotate->streams[i];
		const double part = planned->old_count > 0 ? (double)planned->kept_count /
								     (double)planned->old_count
							   : 0;
		const double bytes = (double)(stream->record_bytes + stream->node_bytes) * part +
				     (double)stream->same_bytes;

		if (stream->is_whole || i == rotate->plan.collector ||
		    bytes / (double)chunk_bytes + CHUNKS_MORE < (double)stream->number_count)
			continue;
		stream->is_whole = true;
		*has_more_ret |= stream->number_count > 0;
	}
}

static struct err *plan_make(struct rotate *rotate)
{
	bool has_more = true;
	struct err *err = NULL;

	for (int i = 0; i < PLANS_MAX && has_more && !err; i++) {
		rotate_plan_deinit(&rotate->plan);
		rotate->plan.stop = rotate->settings->stop;
		rotate->plan.settled_ticks = rotate->settings->settled_ticks;
		err = rotate_plan_make(rotate->capture, is_old, rotate, &rotate->plan);
		if (!err)
			streams_check(rotate, &has_more);
	}
	return err ? err : has_more ? err_new(ERR_LIMIT, "too little can be left out") : NULL;
}

/* --- what is written ------------------------------------------------------------------------- */

/* A realloc is left of which only one half is: what it did to the block. */
static enum tape_fn whole_fn(const struct rotate_stream *stream, uint64_t ordinal, enum tape_fn fn)
{
	switch (fn) {
	case TAPE_FN_REALLOC_IN:
		return TAPE_FN_REALLOC;
	case TAPE_FN_REALLOCARRAY_IN:
		return TAPE_FN_REALLOCARRAY;
	case TAPE_FN_REALLOC_OUT:
	case TAPE_FN_REALLOCARRAY_OUT:
		return ordinal == stream->open_out ? fn : TAPE_FN_FREE;
	case TAPE_FN_REALLOC_FREE:
		return TAPE_FN_FREE;
	default:
		return fn;
	}
}

static bool on_event(void *context, size_t index, uint64_t ordinal, struct tape_event *event)
{
	const struct rotate *rotate = context;
	const struct rotate_stream *stream = &rotate->plan.streams[index];

	if (!rotate_bit(&stream->events, ordinal))
		return false;
	event->fn = whole_fn(stream, ordinal, event->fn);
	return true;
}

static struct err *on_extended(void *context, size_t index, struct rewrite_record *record,
			       bool *keeps_ret)
{
	struct rotate *rotate = context;

	if (!rotate->has_stream || index != rotate->stream)
		rotate->record_number = 0;
	rotate->has_stream = true;
	rotate->stream = index;
	*keeps_ret = rotate_bit(&rotate->plan.streams[index].records, rotate->record_number++);
	if (!*keeps_ret && record->type != TAPE_EXT_ROTATED && record->type != TAPE_EXT_STRIPPED)
		rotate->plan.sums.record_count++;
	return NULL;
}

static struct err *check(void *context, uint64_t bytes_out)
{
	const struct rotate *rotate = context;

	if (bytes_out > rotate->settings->bytes_max)
		return err_errno_new(EFBIG, "more than %llu bytes would be left",
				     (unsigned long long)rotate->settings->bytes_max);
	return rotate_stopped(rotate->settings->stop);
}

static struct err *finish(void *context, struct packed_stream *collector)
{
	const struct rotate *rotate = context;

	return packed_stream_extended(collector, TAPE_EXT_ROTATED, collector->last_ticks,
				      &rotate->plan.sums, sizeof(rotate->plan.sums), NULL, 0);
}

static struct err *write_tape(struct rotate *rotate, int fd, struct rewritten *rewritten)
{
	const struct rewriter rewriter = {
		.context = rotate,
		.event = on_event,
		.extended = on_extended,
		.rewrites = is_old,
		.check = check,
		.finish = finish,
	};

	return rewrite_tape(rotate->capture, fd, capture_header(rotate->capture),
			    rotate->settings->level, &rewriter, rewritten);
}

struct err *rotate_tape(const struct capture *capture, int fd,
			const struct rotate_settings *settings, struct rotated *rotated_ret)
{
	struct rotate rotate = { .capture = capture, .settings = settings };
	struct rewritten rewritten;
	struct err *err;

	assert(settings->level != 0);
	if (capture_damage_count(capture) > 0)
		return err_new(ERR_FORMAT, "what was recorded before is damaged: %s",
			       capture_damage_get(capture, 0)->text);
	if (capture_facts(capture)->missing_chunk_count > 0)
		return err_new(ERR_FORMAT, "of what was recorded before %llu chunks are missing",
			       (unsigned long long)capture_facts(capture)->missing_chunk_count);
	err = streams_measure(&rotate);
	if (!err)
		err = plan_make(&rotate);
	if (!err)
		err = write_tape(&rotate, fd, &rewritten);
	if (!err)
		*rotated_ret = (struct rotated) { .bytes = rewritten.bytes_out,
						  .chunk_count = rewritten.chunk_count,
						  .event_count = rewritten.event_count,
						  .sums = rotate.plan.sums };
	rotate_plan_deinit(&rotate.plan);
	map_deinit(&rotate.by_id);
	free(rotate.streams);
	return err;
}
