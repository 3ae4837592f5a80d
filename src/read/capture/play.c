/*
 * Playing merges the streams of a tape by time. Chunks are admitted in the order of their beginning
 * (a chunk's events are not earlier than it), so that only streams with events at the current time
 * are in the heap, and chunks are needed in an order known from the start.
 *
 * Stacks: a node's meaning depends on what was loaded when it was first used, so nodes are interned
 * when the first event that may name them is played, and not before.
 */
#include <assert.h>
#include <unistd.h>

#include "base/sort.h"
#include "capture/ahead.h"
#include "capture/columns.h"

enum {
	MERGED_MAX = 512,
	RUN_DIRECT_MIN = 32, /* longer runs of one stream are passed on without a copy */
	SMALL_TAPE_BYTES = 256 << 10,
	THREADS_DEFAULT_MAX = 8,
	NODE_GAP_MAX = 1 << 24,
	NODE_UNKNOWN = UINT32_MAX
};

struct stream {
	struct decoded *head, *tail; /* chunks admitted and not fully played */
	struct vec_u32 ids;	     /* stack by the stream's node number */
	uint32_t next_seq;
	uint32_t nodes_begin; /* the head's nodes: first number, and one past the last */
	uint32_t nodes_end;
	bool has_nodes; /* some of them are not interned yet */
};

struct play {
	const struct capture *capture;
	struct capture_stacks *stacks;
	const struct capture_player *player;
	struct capture_played *played;
	struct ahead_chunk *order;
	size_t order_count;
	size_t next; /* in order: first chunk not admitted */
	struct ahead *ahead;
	struct stream *streams;
	struct heap_item *heap;
	size_t heap_count;
	struct capture_event *merged;
	size_t merged_count;
};

struct heap_item {
	uint64_t key; /* ticks, frees before the rest */
	uint32_t stream;
};

static uint64_t event_key(const struct capture_event *event)
{
	return event->ticks << 1 | !tape_fn_sizeless(event->fn);
}

static bool item_less(const struct heap_item *a, const struct heap_item *b)
{
	return a->key != b->key ? a->key < b->key : a->stream < b->stream;
}

static void heap_sift_down(struct heap_item *heap, size_t count, size_t at)
{
	struct heap_item item = heap[at];

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && item_less(&heap[child + 1], &heap[child]))
			child++;
		if (!item_less(&heap[child], &item))
			break;
		heap[at] = heap[child];
	}
	heap[at] = item;
}

static void heap_push(struct play *play, struct heap_item item)
{
	size_t at = play->heap_count++;

	while (at > 0 && item_less(&item, &play->heap[(at - 1) / 2])) {
		play->heap[at] = play->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	play->heap[at] = item;
}

static void heap_pop(struct play *play)
{
	assert(play->heap_count > 0);
	play->heap[0] = play->heap[--play->heap_count];
	if (play->heap_count > 0)
		heap_sift_down(play->heap, play->heap_count, 0);
}

static struct err *flush_merged(struct play *play)
{
	size_t count = play->merged_count;

	play->merged_count = 0;
	if (count == 0)
		return NULL;
	return play->player->events(play->player->context, play->merged, count);
}

/*
 * Node numbers lost with missing chunks are marked unknown. A gap larger than those chunks can have
 * held is invalid, and so is a number defined twice: such nodes are not used.
 */
static bool nodes_admit(struct play *play, struct stream *stream, const struct decoded *decoded)
{
	uint32_t first = decoded->image->first_node, count = decoded->image->node_count;
	uint64_t chunk_nodes = play->capture->header.chunk_bytes / sizeof(struct tape_node);
	uint64_t missing = decoded->seq - stream->next_seq;
	size_t known = stream->ids.count;

	stream->next_seq = decoded->seq + 1;
	stream->has_nodes = false;
	if (count == 0)
		return true;
	if (first < known || first - known > u64_min((missing + 1) * chunk_nodes, NODE_GAP_MAX))
		return false;
	while (stream->ids.count < first)
		if (!vec_u32_push(&stream->ids, NODE_UNKNOWN))
			return false;
	stream->nodes_begin = first;
	stream->nodes_end = first + count;
	stream->has_nodes = true;
	return true;
}

static uint32_t parent_stack(const struct stream *stream, uint32_t parent)
{
	if (parent == TAPE_NODE_ROOT)
		return CAPTURE_STACK_ROOT;
	if (parent < TAPE_NODE_FIRST || parent >= stream->ids.count ||
	    stream->ids.items[parent] == NODE_UNKNOWN)
		return CAPTURE_STACK_TRUNCATED;
	return stream->ids.items[parent];
}

/* Interns the head's nodes up to and including this number. */
static struct err *nodes_intern(struct play *play, struct stream *stream, uint32_t up_to)
{
	uint32_t chunk_bytes = play->capture->header.chunk_bytes;

	while (stream->ids.count <= up_to && stream->ids.count < stream->nodes_end) {
		uint32_t index = (uint32_t)stream->ids.count - stream->nodes_begin, stack;
		struct tape_node node;

		memcpy(&node, chunk_node(stream->head->image, chunk_bytes, index), sizeof(node));
		stack = capture_stacks_intern(play->stacks, parent_stack(stream, node.parent),
					      tape_node_pc(&node),
					      (node.pc_high & TAPE_NODE_EXACT) != 0);
		if (stack == UINT32_MAX || !vec_u32_push(&stream->ids, stack))
			return err_nomem();
	}
	stream->has_nodes = stream->ids.count < stream->nodes_end;
	return NULL;
}

static struct err *load_module(struct play *play, const struct tape_extended_record *record)
{
	struct tape_module module;
	const uint8_t *tail = record->payload + sizeof(module);
	size_t rest;

	if (record->payload_bytes < sizeof(module))
		return NULL;
	memcpy(&module, record->payload, sizeof(module));
	rest = record->payload_bytes - sizeof(module);
	if (module.build_id_bytes > rest)
		return NULL;
	if (!capture_stacks_load(play->stacks, &module, tail,
				 (const char *)tail + module.build_id_bytes,
				 rest - module.build_id_bytes, record->ticks))
		return err_nomem();
	return NULL;
}

/* Modules are handled here; everything else is passed to the player. */
static struct err *see_extended(struct play *play, const struct capture_event *event)
{
	struct tape_extended_record record = capture_event_extended(event);
	struct tape_module_end module_end;

	play->played->extended_count++;
	if (record.type == TAPE_EXT_MODULE)
		return load_module(play, &record);
	if (record.type == TAPE_EXT_MODULE_END && record.payload_bytes >= sizeof(module_end)) {
		memcpy(&module_end, record.payload, sizeof(module_end));
		capture_stacks_unload(play->stacks, module_end.id, record.ticks);
	}
	return NULL;
}

/* The stack of an event whose node number is not in the table, or of an extended record. */
static struct err *resolve_slowly(struct play *play, struct stream *stream,
				  struct capture_event *event)
{
	struct err *err = NULL;
	uint32_t node = event->stack;

	play->stacks->now_ticks = event->ticks;
	if (stream->has_nodes && node >= stream->ids.count && node < stream->nodes_end)
		err = nodes_intern(play, stream, node);
	if (!err && event->fn == TAPE_FN_EXTENDED)
		err = see_extended(play, event);
	if (node < TAPE_NODE_FIRST) {
		event->stack = node;
	} else if (node < stream->ids.count && stream->ids.items[node] != NODE_UNKNOWN) {
		event->stack = stream->ids.items[node];
	} else {
		event->stack = CAPTURE_STACK_NONE;
		play->played->unknown_node_count++;
	}
	return err;
}

/*
 * Resolves events of the stream's head from its cursor on, at least one and all that come before
 * limit. Returns how many.
 */
static struct err *resolve_run(struct play *play, struct stream *stream, uint64_t limit,
			       size_t *count_ret)
{
	struct decoded *head = stream->head;
	struct capture_event *event = head->events + head->at, *end = head->events + head->count;
	struct capture_event *begin = event;

	do {
		uint32_t node = event->stack;

		if (likely(node < stream->ids.count && event->fn != TAPE_FN_EXTENDED &&
			   stream->ids.items[node] != NODE_UNKNOWN)) {
			event->stack = stream->ids.items[node];
		} else {
			struct err *err = resolve_slowly(play, stream, event);

			if (err)
				return err;
		}
		event++;
	} while (event < end && event_key(event) < limit);
	*count_ret = (size_t)(event - begin);
	return NULL;
}

static struct err *hand_on(struct play *play, const struct capture_event *events, size_t count)
{
	struct err *err = NULL;

	if (count >= RUN_DIRECT_MIN) {
		err = flush_merged(play);
		return err ? err : play->player->events(play->player->context, events, count);
	}
	if (play->merged_count + count > MERGED_MAX)
		err = flush_merged(play);
	memcpy(play->merged + play->merged_count, events, count * sizeof(*events));
	play->merged_count += count;
	return err;
}

/* Reinserts the stream into the heap with its next event. */
static struct err *head_begin(struct play *play, uint32_t index)
{
	struct stream *stream = &play->streams[index];
	struct decoded *head = stream->head;

	if (!nodes_admit(play, stream, head))
		play->played->damage_count++;
	/* Not every chunk has events, but its nodes may be named by later ones. */
	if (head->count > 0)
		heap_push(play, (struct heap_item) { event_key(head->events), index });
	return NULL;
}

static struct err *head_end(struct play *play, uint32_t index)
{
	struct stream *stream = &play->streams[index];
	struct err *err = flush_merged(play); /* extended events point into the chunk */

	if (!err && stream->has_nodes)
		err = nodes_intern(play, stream, UINT32_MAX);
	play->played->event_count += stream->head->event_count;
	struct decoded *done = stream->head;

	stream->head = done->next;
	ahead_give(play->ahead, done);
	return err;
}

/* Begins the stream's head chunk; skips chunks without events. */
static struct err *heads_begin(struct play *play, uint32_t index)
{
	struct stream *stream = &play->streams[index];
	struct err *err = NULL;

	while (stream->head && !err) {
		err = head_begin(play, index);
		if (stream->head->count > 0)
			break;
		if (!err)
			err = head_end(play, index);
	}
	return err;
}

static struct err *admit(struct play *play)
{
	const struct ahead_chunk *chunk = &play->order[play->next++];
	struct stream *stream = &play->streams[chunk->stream];
	struct decoded *decoded = ahead_take(play->ahead);
	struct err *err;

	if (!decoded)
		return err_nomem();
	decoded->next = NULL;
	if (decoded->damage && play->played->damage_count++ == 0)
		play->played->damage_offset =
			capture_chunk_get(play->capture, chunk->chunk)->offset;
	err = steal(decoded->err);
	if (stream->head) {
		stream->tail->next = decoded;
		stream->tail = decoded;
		return err;
	}
	stream->head = stream->tail = decoded;
	return err ? err : heads_begin(play, chunk->stream);
}

/* The next events in time: those of one stream that precede all others'. */
static struct err *play_run(struct play *play)
{
	uint32_t index = play->heap[0].stream;
	struct stream *stream = &play->streams[index];
	struct decoded *head = stream->head;
	uint64_t limit = UINT64_MAX;
	size_t count;
	struct err *err;

	if (play->heap_count > 1)
		limit = play->heap[1].key;
	if (play->heap_count > 2)
		limit = u64_min(limit, play->heap[2].key);
	if (play->next < play->order_count)
		limit = u64_min(limit, play->order[play->next].ticks << 1);
	err = resolve_run(play, stream, limit, &count);
	if (!err)
		err = hand_on(play, head->events + head->at, count);
	if (err)
		return err;
	head->at += count;
	if (head->at < head->count) {
		play->heap[0].key = event_key(&head->events[head->at]);
		heap_sift_down(play->heap, play->heap_count, 0);
		return NULL;
	}
	heap_pop(play);
	err = head_end(play, index);
	return err ? err : heads_begin(play, index);
}

static struct err *play_all(struct play *play)
{
	struct err *err = NULL;

	while (!err) {
		if (play->next < play->order_count &&
		    (play->heap_count == 0 ||
		     play->order[play->next].ticks << 1 <= play->heap[0].key))
			err = admit(play);
		else if (play->heap_count > 0)
			err = play_run(play);
		else
			break;
	}
	return err ? err : flush_merged(play);
}

static int compare_order(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct ahead_chunk *)a)->ticks,
				((const struct ahead_chunk *)b)->ticks);
}

/* By start time, but never before an earlier chunk of the same stream. */
static bool order_chunks(struct play *play)
{
	const struct capture *capture = play->capture;
	uint32_t stream = 0;

	play->order_count = capture->by_stream.count;
	play->order = calloc(play->order_count + 1, sizeof(*play->order));
	for (size_t i = 0; play->order && i < play->order_count; i++) {
		uint32_t index = capture->by_stream.items[i];
		const struct capture_chunk *chunk = &capture->chunks.items[index];
		uint64_t ticks = chunk->begin_ticks;

		while (capture->stream_ids.items[stream] != chunk->stream)
			stream++;
		if (i > 0 && play->order[i - 1].stream == stream)
			ticks = u64_max(ticks, play->order[i - 1].ticks);
		play->order[i] = (struct ahead_chunk) { index, stream, ticks };
	}
	return play->order && sort_stable(play->order, play->order_count, sizeof(*play->order),
					  compare_order, NULL);
}

static unsigned default_threads(const struct capture *capture)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (capture->facts.record_bytes < SMALL_TAPE_BYTES || processors < 2)
		return 0;
	return (unsigned)u64_min((uint64_t)processors - 1, THREADS_DEFAULT_MAX);
}

static bool streams_begin(struct play *play)
{
	size_t count = play->capture->stream_ids.count;

	play->streams = calloc(count + 1, sizeof(*play->streams));
	play->heap = calloc(count + 1, sizeof(*play->heap));
	play->merged = malloc(MERGED_MAX * sizeof(*play->merged));
	if (!play->streams || !play->heap || !play->merged)
		return false;
	for (size_t i = 0; i < count; i++)
		for (uint32_t node = 0; node < TAPE_NODE_FIRST; node++)
			if (!vec_u32_push(&play->streams[i].ids, node))
				return false;
	return true;
}

static void play_deinit(struct play *play)
{
	for (size_t i = 0; play->streams && i < play->capture->stream_ids.count; i++) {
		struct stream *stream = &play->streams[i];

		while (stream->head) {
			struct decoded *next = stream->head->next;

			decoded_destroy(stream->head);
			stream->head = next;
		}
		vec_u32_deinit(&stream->ids);
	}
	ahead_destroy(play->ahead);
	free(play->order);
	free(play->streams);
	free(play->heap);
	free(play->merged);
}

struct err *capture_play(const struct capture *capture, struct capture_stacks *stacks,
			 const struct capture_player *player, struct capture_played *played_ret)
{
	struct capture_played played = { 0 };
	struct play play = {
		.capture = capture, .stacks = stacks, .player = player, .played = &played
	};
	unsigned thread_count =
		player->thread_count ? player->thread_count : default_threads(capture);
	struct err *err = NULL;

	assert(player->events);
	assert(stacks->nodes.count >= CAPTURE_STACK_FIRST);
	if (!order_chunks(&play) || !streams_begin(&play))
		err = err_nomem();
	if (!err)
		err = ahead_create(capture, play.order, play.order_count, thread_count,
				   &play.ahead);
	if (!err)
		err = play_all(&play);
	play_deinit(&play);
	if (!err)
		*played_ret = played;
	return err;
}
