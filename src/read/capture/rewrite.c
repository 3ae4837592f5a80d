#include "capture/rewrite.h"

#include <assert.h>

#include "capture/closing.h"
#include "capture/rewrite_state.h"

enum { CHUNK_BYTES_MIN = 64 << 10 };

/* --- records --------------------------------------------------------------------------------- */

static bool makes_block(const struct tape_event *event)
{
	const enum tape_event_class class = tape_fn_class(event->fn);

	return event->address != 0 && (class == TAPE_CLASS_ALLOC || class == TAPE_CLASS_REALLOC_IN);
}

static struct err *event_drop(struct rewrite *rewrite, const struct tape_event *event)
{
	rewrite->was_dropped = true;
	if (rewrite->is_gap_marked || !makes_block(event))
		return NULL;
	rewrite->is_gap_marked = true;
	return packed_stream_extended(&rewrite->out, TAPE_EXT_STRIPPED, event->ticks, NULL, 0, NULL,
				      0);
}

static struct err *event_write(struct rewrite *rewrite, const struct capture_event *from)
{
	const struct rewriter *rewriter = rewrite->rewriter;
	struct tape_event event = {
		.fn = (enum tape_fn)from->fn,
		.node = from->stack,
		.ticks = from->ticks,
		.address = from->address,
		.size = from->size,
		.usable = from->usable,
	};
	struct err *err;

	if (event.fn == TAPE_FN_LATENCY)
		return rewrite->was_dropped ? NULL : packed_stream_event(&rewrite->out, &event);
	if (rewriter->event &&
	    !rewriter->event(rewriter->context, rewrite->index, rewrite->ordinal++, &event))
		return event_drop(rewrite, &event);
	rewrite->was_dropped = false;
	rewrite->event_count++;
	if (makes_block(&event))
		rewrite->is_gap_marked = false;
	err = rewrite_node(rewrite, &event.node, TAPE_EVENT_BYTES_MAX);
	return err ? err : packed_stream_event(&rewrite->out, &event);
}

static struct err *extended_write(struct rewrite *rewrite, const struct capture_event *event)
{
	const struct tape_extended_record from = capture_event_extended(event);
	const struct rewriter *rewriter = rewrite->rewriter;
	struct rewrite_record *record = &rewrite->record;
	const size_t node_at = chunk_extended_node(&from);
	uint32_t node = event->stack;
	bool keeps = true;
	struct err *err = NULL;

	record->type = from.type;
	record->ticks = from.ticks;
	if (!vec_u8_reserve(&record->payload, (size_t)from.payload_bytes + 1))
		return err_nomem();
	memcpy(record->payload.items, from.payload, from.payload_bytes);
	record->payload.count = from.payload_bytes;
	if (rewriter->extended)
		err = rewriter->extended(rewriter->context, rewrite->index, record, &keeps);
	if (!err && keeps)
		err = rewrite_node(rewrite, &node, TAPE_EXTENDED_BYTES + record->payload.count);
	if (err || !keeps)
		return err;
	if (from.type == TAPE_EXT_THREAD) /* another thread's stream from here on */
		rewrite->is_gap_marked = false;
	if (node_at != CHUNK_NO_NODE)
		store_u32(record->payload.items + node_at, node);
	return packed_stream_extended(&rewrite->out, record->type, record->ticks,
				      record->payload.items, record->payload.count, NULL, 0);
}

static struct err *rewrite_check(const struct rewrite *rewrite)
{
	const struct rewriter *rewriter = rewrite->rewriter;

	return rewriter->check
		       ? rewriter->check(rewriter->context, packed_file_bytes(rewrite->file))
		       : NULL;
}

static struct err *chunk_write(struct rewrite *rewrite, const struct capture_chunk *chunk)
{
	struct decoded *decoded = rewrite->decoded;
	struct err *err;

	err = rewrite_check(rewrite);
	if (err)
		return err;
	chunk_decode(&rewrite->loader, chunk, (uint32_t)rewrite->index, decoded);
	if (decoded->err)
		return steal(decoded->err);
	rewrite->damage_count += decoded->damage != NULL;
	err = rewrite_nodes_admit(rewrite);
	rewrite->next_seq = decoded->seq + 1;
	for (size_t i = 0; i < decoded->count && !err; i++)
		err = decoded->events[i].fn == TAPE_FN_EXTENDED
			      ? extended_write(rewrite, &decoded->events[i])
			      : event_write(rewrite, &decoded->events[i]);
	if (!err && rewrite->rewriter->keeps_stacks)
		err = rewrite_nodes_define(rewrite, rewrite_nodes_end(rewrite));
	if (decoded->count > 0)
		rewrite->last_ticks =
			u64_max(rewrite->last_ticks, decoded->events[decoded->count - 1].ticks);
	return err;
}

/* --- streams --------------------------------------------------------------------------------- */

static struct err *collector_finish(struct rewrite *rewrite)
{
	const struct rewriter *rewriter = rewrite->rewriter;
	struct err *err = NULL;

	if (capture_has_live(rewrite->capture) && !rewriter->rewrites)
		err = closing_write(rewrite->capture, &rewrite->out);
	if (!err && rewriter->finish)
		err = rewriter->finish(rewriter->context, &rewrite->out);
	return err;
}

static const struct capture_chunk *chunk_of(const struct rewrite *rewrite, size_t place)
{
	const struct capture *capture = rewrite->capture;

	return &capture->chunks.items[capture->by_stream.items[place]];
}

/*
 * From which node on the stream's numbers stay, for the chunks from `end` on and those that are not
 * there yet.
 */
static uint32_t same_from(const struct rewrite *rewrite, size_t end, bool has_more)
{
	const struct capture_chunk *last = chunk_of(rewrite, end - 1);
	const uint32_t oldest = has_more ? chunk_of(rewrite, end)->oldest_node : last->oldest_node;

	return (uint32_t)u64_max(u64_min(oldest, last->first_node + last->node_count),
				 TAPE_NODE_FIRST);
}

/* What others come after: the new chunks take the place of all the old ones. */
static struct err *stream_end(struct rewrite *rewrite, uint32_t id, uint32_t last_seq)
{
	struct packed_stream *out = &rewrite->out;
	struct err *err = NULL;

	if (id != TAPE_COLLECTOR_STREAM) /* which has no nodes, and a record at its end */
		err = rewrite_nodes_define_same(rewrite, rewrite_nodes_end(rewrite), 0);
	if (!err && id != TAPE_COLLECTOR_STREAM)
		err = packed_stream_extended(out, TAPE_EXT_STRIPPED,
					     u64_max(rewrite->last_ticks, out->last_ticks), NULL, 0,
					     NULL, 0);
	return err ? err : packed_stream_end_as(out, last_seq, rewrite->same_from);
}

/* The stream's chunks are by_stream[begin .. end - 1]. */
static struct err *stream_write(struct rewrite *rewrite, uint32_t id, size_t begin, size_t end,
				bool has_more)
{
	const bool goes_on = rewrite->rewriter->rewrites && end > begin;
	struct err *err = NULL;

	packed_stream_init(&rewrite->out, rewrite->file, id, 0);
	rewrite->nodes.count = 0;
	rewrite->node_base = 0;
	rewrite->same_from = goes_on ? same_from(rewrite, end, has_more) : UINT32_MAX;
	rewrite->same_next = 0;
	rewrite->last_ticks = 0;
	rewrite->next_defined = TAPE_NODE_FIRST;
	rewrite->next_seq = 0;
	rewrite->ordinal = 0;
	rewrite->was_dropped = rewrite->is_gap_marked = false;
	for (unsigned i = 0; i < TAPE_NODE_FIRST && !err; i++)
		if (!old_node_vec_push(&rewrite->nodes, (struct old_node) { .now = i }))
			err = err_nomem();
	for (size_t i = begin; i < end && !err; i++)
		err = chunk_write(rewrite, chunk_of(rewrite, i));
	if (!err && id == TAPE_COLLECTOR_STREAM)
		err = collector_finish(rewrite);
	if (!err)
		err = goes_on ? stream_end(rewrite, id, chunk_of(rewrite, end - 1)->seq)
			      : packed_stream_flush(&rewrite->out);
	packed_stream_deinit(&rewrite->out);
	return err;
}

/* One past the stream's last chunk that is rewritten. */
static size_t old_end(const struct rewrite *rewrite, size_t begin, size_t end)
{
	const struct rewriter *rewriter = rewrite->rewriter;

	if (!rewriter->rewrites)
		return end;
	while (begin < end && rewriter->rewrites(rewriter->context, chunk_of(rewrite, begin)))
		begin++;
	return begin;
}

/* The streams but the collector's, or that one alone. */
static struct err *streams_write(struct rewrite *rewrite, bool collectors)
{
	const struct capture *capture = rewrite->capture;
	struct err *err = NULL;
	size_t begin = 0;

	for (size_t i = 0; i < capture->stream_ids.count && !err; i++) {
		const uint32_t id = capture->stream_ids.items[i];
		size_t end = begin, old;

		while (end < capture->by_stream.count && chunk_of(rewrite, end)->stream == id)
			end++;
		rewrite->index = i;
		old = old_end(rewrite, begin, end);
		if ((id == TAPE_COLLECTOR_STREAM) == collectors && old > begin)
			err = stream_write(rewrite, id, begin, old, old < end);
		begin = end;
	}
	return err;
}

static struct err *collector_write(struct rewrite *rewrite)
{
	const struct capture *capture = rewrite->capture;

	if (capture->stream_ids.count == 0 || capture->stream_ids.items[0] != TAPE_COLLECTOR_STREAM)
		return stream_write(rewrite, TAPE_COLLECTOR_STREAM, 0, 0, false);
	return streams_write(rewrite, true);
}

/* Chunks that stay as they are. */
static struct err *chunks_copy(struct rewrite *rewrite)
{
	const struct rewriter *rewriter = rewrite->rewriter;
	struct err *err = NULL;

	for (size_t i = 0; i < rewrite->capture->chunks.count && !err; i++) {
		const struct capture_chunk *chunk = &rewrite->capture->chunks.items[i];
		const struct tape_chunk *packed = NULL;

		if (chunk->is_slot || rewriter->rewrites(rewriter->context, chunk))
			continue;
		err = rewrite_check(rewrite);
		if (!err)
			err = chunk_read_packed(&rewrite->loader, chunk, &packed);
		if (!err)
			err = packed_file_copy(rewrite->file, packed);
	}
	return err;
}

static struct err *all_write(struct rewrite *rewrite)
{
	const bool goes_on = rewrite->rewriter->rewrites != NULL;
	struct err *err = goes_on ? streams_write(rewrite, false) : collector_write(rewrite);

	if (!err)
		err = goes_on ? collector_write(rewrite) : streams_write(rewrite, false);
	if (!err && goes_on)
		err = chunks_copy(rewrite);
	return err ? err : packed_file_finish(rewrite->file);
}

struct err *rewrite_tape(const struct capture *capture, int fd, const struct tape_header *header,
			 int level, const struct rewriter *rewriter,
			 struct rewritten *rewritten_ret)
{
	struct rewrite rewrite = { .capture = capture,
				   .rewriter = rewriter,
				   .loader.capture = capture,
				   .damage_count = capture_damage_count(capture) };
	struct tape_header written = *header;
	struct err *err;

	assert(fd >= 0);
	written.chunk_bytes = (uint32_t)u64_max(written.chunk_bytes, CHUNK_BYTES_MIN);
	err = packed_file_create(fd, &written, level, &rewrite.file);
	if (err)
		return err;
	rewrite.decoded = decoded_create(capture);
	err = rewrite.decoded ? all_write(&rewrite) : err_nomem();
	if (!err)
		*rewritten_ret = (struct rewritten) {
			.bytes_in = capture_facts(capture)->file_bytes,
			.bytes_out = packed_file_bytes(rewrite.file),
			.chunk_count = packed_file_chunk_count(rewrite.file),
			.event_count = packed_file_event_count(rewrite.file),
			.damage_count = rewrite.damage_count,
		};
	packed_file_destroy(rewrite.file);
	chunk_loader_deinit(&rewrite.loader);
	decoded_destroy(rewrite.decoded);
	old_node_vec_deinit(&rewrite.nodes);
	vec_u32_deinit(&rewrite.path);
	vec_u8_deinit(&rewrite.record.payload);
	return err;
}
