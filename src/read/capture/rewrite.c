#include "capture/rewrite.h"

#include <assert.h>

#include "capture/chunk.h"
#include "capture/closing.h"
#include "capture/columns.h"

enum { CHUNK_BYTES_MIN = 64 << 10, NODE_GAP_MAX = 1 << 24 };

static const uint32_t NODE_UNKNOWN = UINT32_MAX; /* as a parent: lost with another chunk */

struct old_node {
	uint64_t pc;	 /* exact in its highest bit */
	uint32_t parent; /* less than its own number; NODE_UNKNOWN: nothing is known of this node */
	uint32_t now;	 /* its number on the new tape; 0: none yet */
};

static const uint64_t PC_EXACT = UINT64_C(1) << 63;

VEC_DEFINE(old_node_vec, struct old_node);

struct rewrite {
	const struct capture *capture;
	const struct rewriter *rewriter;
	struct chunk_loader loader;
	struct packed_file *file;
	struct decoded *decoded;
	struct rewrite_record record;
	uint64_t damage_count;
	uint64_t event_count;
	/* State of the stream being written */
	size_t index;
	struct packed_stream out;
	struct old_node_vec nodes; /* by number */
	struct vec_u32 path;	   /* nodes to be defined, innermost first */
	uint32_t next_seq;
	uint32_t next_defined; /* with keeps_stacks: all before it are defined */
	uint64_t ordinal;
	bool was_dropped;   /* the event before */
	bool is_gap_marked; /* since the last allocation that was kept */
};

/* --- stacks ---------------------------------------------------------------------------------- */

/* Numbers lost with missing chunks are unknown; bad ones are damage: nodes_admit in play.c. */
static bool nodes_are_admissible(const struct rewrite *rewrite)
{
	const struct tape_chunk *image = rewrite->decoded->image;
	const uint64_t chunk_nodes =
		capture_header(rewrite->capture)->chunk_bytes / sizeof(struct tape_node);
	const uint64_t missing = rewrite->decoded->seq - rewrite->next_seq;
	const size_t known = rewrite->nodes.count;

	return image->first_node >= known &&
	       image->first_node - known <= u64_min((missing + 1) * chunk_nodes, NODE_GAP_MAX);
}

static struct err *nodes_admit(struct rewrite *rewrite)
{
	const struct tape_chunk *image = rewrite->decoded->image;
	const uint32_t chunk_bytes = capture_header(rewrite->capture)->chunk_bytes;

	if (image->node_count == 0)
		return NULL;
	if (!nodes_are_admissible(rewrite)) {
		rewrite->damage_count++;
		return NULL;
	}
	while (rewrite->nodes.count < image->first_node)
		if (!old_node_vec_push(&rewrite->nodes,
				       (struct old_node) { .parent = NODE_UNKNOWN }))
			return err_nomem();
	for (uint32_t i = 0; i < image->node_count; i++) {
		struct tape_node node;
		bool is_sound;

		memcpy(&node, chunk_node(image, chunk_bytes, i), sizeof(node));
		is_sound = node.parent != TAPE_NODE_NONE && node.parent < rewrite->nodes.count &&
			   (node.parent < TAPE_NODE_FIRST ||
			    rewrite->nodes.items[node.parent].parent != NODE_UNKNOWN);
		if (!old_node_vec_push(
			    &rewrite->nodes,
			    (struct old_node) {
				    .pc = tape_node_pc(&node) |
					  (node.pc_high & TAPE_NODE_EXACT ? PC_EXACT : 0),
				    .parent = is_sound ? node.parent
						       : (uint32_t)TAPE_NODE_TRUNCATED }))
			return err_nomem();
	}
	return NULL;
}

static struct err *node_define(struct rewrite *rewrite, uint32_t number)
{
	struct old_node *node = &rewrite->nodes.items[number];
	const struct rewriter *rewriter = rewrite->rewriter;
	const uint64_t pc = node->pc & ~PC_EXACT;
	const uint32_t parent = node->parent < TAPE_NODE_FIRST
					? node->parent
					: rewrite->nodes.items[node->parent].now;

	return packed_stream_node(&rewrite->out, parent,
				  rewriter->pc ? rewriter->pc(rewriter->context, pc) : pc,
				  node->pc & PC_EXACT, &node->now);
}

/* With keeps_stacks: all nodes before `end` are defined, in their order. */
static struct err *nodes_define(struct rewrite *rewrite, size_t end)
{
	struct err *err = NULL;

	for (; rewrite->next_defined < end && !err; rewrite->next_defined++)
		if (rewrite->nodes.items[rewrite->next_defined].parent != NODE_UNKNOWN)
			err = node_define(rewrite, rewrite->next_defined);
	return err;
}

/* The number on the new tape, defined there if needed, with a record of record_bytes to follow. */
static struct err *node_translate(struct rewrite *rewrite, uint32_t *number, size_t record_bytes)
{
	const uint32_t wanted = *number;
	struct err *err = NULL;

	if (wanted < TAPE_NODE_FIRST)
		return NULL;
	if (wanted >= rewrite->nodes.count || rewrite->nodes.items[wanted].parent == NODE_UNKNOWN) {
		*number = TAPE_NODE_NONE;
		return NULL;
	}
	rewrite->path.count = 0;
	if (rewrite->rewriter->keeps_stacks && wanted >= rewrite->next_defined) {
		err = packed_stream_reserve(&rewrite->out, wanted + 1 - rewrite->next_defined,
					    record_bytes);
		if (!err)
			err = nodes_define(rewrite, (size_t)wanted + 1);
		if (err)
			return err;
	}
	for (uint32_t at = wanted; at >= TAPE_NODE_FIRST && !rewrite->nodes.items[at].now;
	     at = rewrite->nodes.items[at].parent)
		if (!vec_u32_push(&rewrite->path, at))
			return err_nomem();
	err = packed_stream_reserve(&rewrite->out, rewrite->path.count, record_bytes);
	for (size_t i = rewrite->path.count; i-- > 0 && !err;)
		err = node_define(rewrite, rewrite->path.items[i]);
	if (!err)
		*number = rewrite->nodes.items[wanted].now;
	return err;
}

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
	err = node_translate(rewrite, &event.node, TAPE_EVENT_BYTES_MAX);
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
		err = node_translate(rewrite, &node, TAPE_EXTENDED_BYTES + record->payload.count);
	if (err || !keeps)
		return err;
	if (from.type == TAPE_EXT_THREAD) /* another thread's stream from here on */
		rewrite->is_gap_marked = false;
	if (node_at != CHUNK_NO_NODE)
		store_u32(record->payload.items + node_at, node);
	return packed_stream_extended(&rewrite->out, record->type, record->ticks,
				      record->payload.items, record->payload.count, NULL, 0);
}

static struct err *chunk_write(struct rewrite *rewrite, const struct capture_chunk *chunk)
{
	struct decoded *decoded = rewrite->decoded;
	struct err *err;

	chunk_decode(&rewrite->loader, chunk, (uint32_t)rewrite->index, decoded);
	if (decoded->err)
		return steal(decoded->err);
	rewrite->damage_count += decoded->damage != NULL;
	err = nodes_admit(rewrite);
	rewrite->next_seq = decoded->seq + 1;
	for (size_t i = 0; i < decoded->count && !err; i++)
		err = decoded->events[i].fn == TAPE_FN_EXTENDED
			      ? extended_write(rewrite, &decoded->events[i])
			      : event_write(rewrite, &decoded->events[i]);
	if (!err && rewrite->rewriter->keeps_stacks)
		err = nodes_define(rewrite, rewrite->nodes.count);
	return err;
}

/* --- streams --------------------------------------------------------------------------------- */

static struct err *collector_finish(struct rewrite *rewrite)
{
	const struct rewriter *rewriter = rewrite->rewriter;
	struct err *err = NULL;

	if (capture_has_live(rewrite->capture))
		err = closing_write(rewrite->capture, &rewrite->out);
	if (!err && rewriter->finish)
		err = rewriter->finish(rewriter->context, &rewrite->out);
	return err;
}

/* The stream's chunks are by_stream[begin .. end - 1]. */
static struct err *stream_write(struct rewrite *rewrite, uint32_t id, size_t begin, size_t end)
{
	struct err *err = NULL;

	packed_stream_init(&rewrite->out, rewrite->file, id, 0);
	rewrite->nodes.count = 0;
	rewrite->next_defined = TAPE_NODE_FIRST;
	rewrite->next_seq = 0;
	rewrite->ordinal = 0;
	rewrite->was_dropped = rewrite->is_gap_marked = false;
	for (unsigned i = 0; i < TAPE_NODE_FIRST && !err; i++)
		if (!old_node_vec_push(&rewrite->nodes, (struct old_node) { .now = i }))
			err = err_nomem();
	for (size_t i = begin; i < end && !err; i++)
		err = chunk_write(
			rewrite,
			&rewrite->capture->chunks.items[rewrite->capture->by_stream.items[i]]);
	if (!err && id == TAPE_COLLECTOR_STREAM)
		err = collector_finish(rewrite);
	if (!err)
		err = packed_stream_flush(&rewrite->out);
	packed_stream_deinit(&rewrite->out);
	return err;
}

static struct err *streams_write(struct rewrite *rewrite)
{
	const struct capture *capture = rewrite->capture;
	const size_t stream_count = capture->stream_ids.count;
	struct err *err = NULL;
	size_t begin = 0;

	if (stream_count == 0 || capture->stream_ids.items[0] != TAPE_COLLECTOR_STREAM)
		err = stream_write(rewrite, TAPE_COLLECTOR_STREAM, 0, 0);
	for (size_t i = 0; i < stream_count && !err; i++) {
		const uint32_t id = capture->stream_ids.items[i];
		size_t end = begin;

		while (end < capture->by_stream.count &&
		       capture->chunks.items[capture->by_stream.items[end]].stream == id)
			end++;
		rewrite->index = i;
		err = stream_write(rewrite, id, begin, end);
		begin = end;
	}
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
	err = rewrite.decoded ? streams_write(&rewrite) : err_nomem();
	if (!err)
		*rewritten_ret = (struct rewritten) {
			.bytes_in = capture_facts(capture)->file_bytes,
			.bytes_out = packed_file_bytes(rewrite.file),
			.event_count = rewrite.event_count,
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
