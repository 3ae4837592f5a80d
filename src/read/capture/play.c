/*
 * Stacks: a node's meaning depends on what was loaded when it was first used, so nodes are interned
 * when the first event that names them, or one defined later, is played, and not before. So the
 * order depends on the order of the events alone, and not on where chunks begin and end.
 */
#include "capture/play.h"

#include <assert.h>

#include "capture/columns.h"

enum {
	MERGED_MAX = 512,
	RUN_DIRECT_MIN = 32, /* longer runs of one stream are passed on without a copy */
	NODE_GAP_MAX = 1 << 24,
	NODE_UNKNOWN = UINT32_MAX
};

static bool item_less(const struct play_item *a, const struct play_item *b)
{
	return a->key != b->key ? a->key < b->key : a->stream < b->stream;
}

static void heap_sift_down(struct play_item *heap, size_t count, size_t at)
{
	struct play_item item = heap[at];

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && item_less(&heap[child + 1], &heap[child]))
			child++;
		if (!item_less(&heap[child], &item))
			break;
		heap[at] = heap[child];
	}
	heap[at] = item;
}

static void heap_push(struct play *play, struct play_item item)
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

struct err *play_flush(struct play *play)
{
	size_t count = play->merged_count;

	play->merged_count = 0;
	if (count == 0)
		return NULL;
	return play->player->events(play->player->context, play->merged, count);
}

/* One past the number of the last node that is interned. */
static uint32_t ids_end(const struct play_stream *stream)
{
	return stream->ids_base + (uint32_t)stream->ids.count;
}

/* The stack of a node; NODE_UNKNOWN: it is a root, or not interned. */
static inline uint32_t id_find(const struct play_stream *stream, uint32_t number)
{
	const uint32_t place = number - stream->ids_base; /* below the base: a huge one */

	return place < stream->ids.count ? stream->ids.items[place] : NODE_UNKNOWN;
}

static uint32_t parent_stack(const struct play_stream *stream, uint32_t parent)
{
	const uint32_t id = parent < TAPE_NODE_FIRST ? NODE_UNKNOWN : id_find(stream, parent);

	if (parent == TAPE_NODE_ROOT)
		return CAPTURE_STACK_ROOT;
	return id == NODE_UNKNOWN ? (uint32_t)CAPTURE_STACK_TRUNCATED : id;
}

/* The node with this number, which is not interned yet. */
static struct tape_node node_get(const struct play *play, const struct play_stream *stream,
				 uint32_t number)
{
	struct tape_node node;

	if (number - stream->waiting_begin < stream->waiting.count)
		return stream->waiting.items[number - stream->waiting_begin];
	assert(number >= stream->nodes_begin && number < stream->nodes_end);
	memcpy(&node,
	       chunk_node(stream->head->image, play->chunk_bytes, number - stream->nodes_begin),
	       sizeof(node));
	return node;
}

/* Interns nodes up to and including this number. */
static struct err *nodes_intern(struct play *play, struct play_stream *stream, uint32_t up_to)
{
	while (ids_end(stream) <= up_to && ids_end(stream) < stream->nodes_end) {
		const struct tape_node node = node_get(play, stream, ids_end(stream));
		const uint32_t stack = capture_stacks_intern(
			play->stacks, parent_stack(stream, node.parent), tape_node_pc(&node),
			(node.pc_high & TAPE_NODE_EXACT) != 0);

		if (stack == UINT32_MAX || !vec_u32_push(&stream->ids, stack))
			return err_nomem();
	}
	stream->has_nodes = ids_end(stream) < stream->nodes_end;
	return NULL;
}

/* Nodes before `oldest` are named no more: their numbers take no room. */
static struct err *nodes_forget(struct play *play, struct play_stream *stream, uint32_t oldest)
{
	const uint32_t base = oldest - TAPE_NODE_FIRST;
	size_t kept;
	struct err *err;

	if (oldest < TAPE_NODE_FIRST || base <= stream->ids_base)
		return NULL;
	err = nodes_intern(play, stream, UINT32_MAX);
	if (err)
		return err;
	kept = stream->nodes_end > oldest ? stream->nodes_end - oldest : 0;
	memmove(stream->ids.items + TAPE_NODE_FIRST, stream->ids.items + stream->ids.count - kept,
		kept * sizeof(*stream->ids.items));
	stream->ids.count = TAPE_NODE_FIRST + kept;
	for (size_t i = 0; i < TAPE_NODE_FIRST; i++)
		stream->ids.items[i] = NODE_UNKNOWN;
	stream->ids_base = base;
	stream->nodes_begin = stream->nodes_end = (uint32_t)u64_max(stream->nodes_end, oldest);
	return NULL;
}

/*
 * Node numbers lost with missing chunks are marked unknown. A gap larger than those chunks can have
 * held is invalid, and so is a number defined twice: such nodes are not used.
 */
static struct err *nodes_admit(struct play *play, struct play_stream *stream,
			       const struct decoded *decoded)
{
	const uint32_t first = decoded->image->first_node, count = decoded->image->node_count;
	const uint64_t chunk_nodes = play->chunk_bytes / sizeof(struct tape_node);
	const uint64_t missing = decoded->seq - stream->next_seq;
	struct err *err = NULL;
	uint32_t known;

	stream->next_seq = decoded->seq + 1;
	if (decoded->image->flags & TAPE_CHUNK_JUMP)
		err = nodes_forget(play, stream, decoded->image->oldest_node);
	if (err || count == 0)
		return err;
	known = stream->nodes_end;
	if (first < known || first - known > u64_min((missing + 1) * chunk_nodes, NODE_GAP_MAX)) {
		play->played->damage_count++;
		return NULL;
	}
	if (first > known)
		err = nodes_intern(play, stream, UINT32_MAX);
	while (!err && ids_end(stream) < first && first > known)
		if (!vec_u32_push(&stream->ids, NODE_UNKNOWN))
			err = err_nomem();
	stream->nodes_begin = first;
	stream->nodes_end = first + count;
	stream->has_nodes = true;
	return err;
}

/* The head's nodes that no event has named yet outlive it. */
static bool nodes_keep(struct play *play, struct play_stream *stream)
{
	uint32_t number = (uint32_t)u64_max(ids_end(stream), stream->nodes_begin);

	if (ids_end(stream) >= stream->waiting_begin + stream->waiting.count) {
		stream->waiting.count = 0;
		stream->waiting_begin = number;
	}
	for (; number < stream->nodes_end; number++)
		if (!play_nodes_push(&stream->waiting, node_get(play, stream, number)))
			return false;
	stream->nodes_begin = stream->nodes_end;
	return true;
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
static struct err *resolve_slowly(struct play *play, struct play_stream *stream,
				  struct capture_event *event)
{
	struct err *err = NULL;
	uint32_t node = event->stack;

	play->stacks->now_ticks = event->ticks;
	if (stream->has_nodes && node >= ids_end(stream) && node < stream->nodes_end)
		err = nodes_intern(play, stream, node);
	if (!err && event->fn == TAPE_FN_EXTENDED)
		err = see_extended(play, event);
	if (node < TAPE_NODE_FIRST) {
		event->stack = node;
	} else if (id_find(stream, node) != NODE_UNKNOWN) {
		event->stack = id_find(stream, node);
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
static struct err *resolve_run(struct play *play, struct play_stream *stream, uint64_t limit,
			       size_t *count_ret)
{
	struct decoded *head = stream->head;
	struct capture_event *event = head->events + head->at, *end = head->events + head->count;
	struct capture_event *begin = event;

	do {
		const uint32_t place = event->stack - stream->ids_base;

		if (likely(place < stream->ids.count && event->fn != TAPE_FN_EXTENDED &&
			   stream->ids.items[place] != NODE_UNKNOWN)) {
			event->stack = stream->ids.items[place];
		} else {
			struct err *err = resolve_slowly(play, stream, event);

			if (err)
				return err;
		}
		event++;
	} while (event < end && play_event_key(event) < limit);
	*count_ret = (size_t)(event - begin);
	return NULL;
}

static struct err *hand_on(struct play *play, const struct capture_event *events, size_t count)
{
	struct err *err = NULL;

	if (count >= RUN_DIRECT_MIN) {
		err = play_flush(play);
		return err ? err : play->player->events(play->player->context, events, count);
	}
	if (play->merged_count + count > MERGED_MAX)
		err = play_flush(play);
	memcpy(play->merged + play->merged_count, events, count * sizeof(*events));
	play->merged_count += count;
	return err;
}

/* Reinserts the stream into the heap with its next event. */
static struct err *head_begin(struct play *play, uint32_t index)
{
	struct play_stream *stream = &play->streams[index];
	struct decoded *head = stream->head;

	/* Not every chunk has events, but its nodes may be named by later ones. */
	if (head->count > 0)
		heap_push(play, (struct play_item) { play_event_key(head->events), index });
	return nodes_admit(play, stream, head);
}

static struct err *head_end(struct play *play, uint32_t index)
{
	struct play_stream *stream = &play->streams[index];
	struct decoded *done = stream->head;
	struct err *err = play_flush(play); /* extended events point into the chunk */

	if (!err && !nodes_keep(play, stream))
		err = err_nomem();
	play->played->event_count += done->event_count;
	stream->head = done->next;
	play->give(play->context, done);
	return err;
}

/* Begins the stream's head chunk; skips chunks without events. */
static struct err *heads_begin(struct play *play, uint32_t index)
{
	struct play_stream *stream = &play->streams[index];
	struct err *err = NULL;

	while (stream->head && !err) {
		bool is_over = true;

		if (stream->head->has_source)
			err = play->refill(play->context, index, &is_over);
		if (!err)
			err = head_begin(play, index);
		if (stream->head->count > 0 || !is_over)
			break;
		if (!err)
			err = head_end(play, index);
	}
	return err;
}

struct err *play_admit(struct play *play, uint32_t index, struct decoded *decoded)
{
	struct play_stream *stream = &play->streams[index];

	assert(index < play->stream_count);
	decoded->next = NULL;
	if (stream->head) {
		stream->tail->next = decoded;
		stream->tail = decoded;
		return NULL;
	}
	stream->head = stream->tail = decoded;
	return heads_begin(play, index);
}

void play_resume(struct play *play, uint32_t index)
{
	struct play_stream *stream = &play->streams[index];
	const struct decoded *head = stream->head;

	assert(head->at < head->count);
	heap_push(play, (struct play_item) { play_event_key(&head->events[head->at]), index });
}

struct err *play_end_head(struct play *play, uint32_t index)
{
	struct err *err = head_end(play, index);

	return err ? err : heads_begin(play, index);
}

/* The heap's first stream has no more events in its head's window. */
static struct err *window_end(struct play *play, uint32_t index)
{
	struct decoded *head = play->streams[index].head;
	bool is_over = true;
	struct err *err = NULL;

	if (head->has_source)
		err = play->refill(play->context, index, &is_over);
	if (err)
		return err;
	if (head->at < head->count) {
		play->heap[0].key = play_event_key(&head->events[head->at]);
		heap_sift_down(play->heap, play->heap_count, 0);
		return NULL;
	}
	heap_pop(play);
	return is_over ? play_end_head(play, index) : NULL;
}

struct err *play_run(struct play *play, uint64_t limit)
{
	uint32_t index = play->heap[0].stream;
	struct play_stream *stream = &play->streams[index];
	struct decoded *head = stream->head;
	size_t count;
	struct err *err;

	assert(play->heap_count > 0);
	if (play->heap_count > 1)
		limit = u64_min(limit, play->heap[1].key);
	if (play->heap_count > 2)
		limit = u64_min(limit, play->heap[2].key);
	err = resolve_run(play, stream, limit, &count);
	if (!err)
		err = hand_on(play, head->events + head->at, count);
	if (err)
		return err;
	head->at += count;
	if (head->at == head->count)
		return window_end(play, index);
	play->heap[0].key = play_event_key(&head->events[head->at]);
	heap_sift_down(play->heap, play->heap_count, 0);
	return NULL;
}

bool play_reserve(struct play *play, size_t count)
{
	const size_t room = u64_max(count, play->stream_room * 2);
	struct play_stream *streams;
	struct play_item *heap;

	if (!play->merged)
		play->merged = malloc(MERGED_MAX * sizeof(*play->merged));
	if (!play->merged)
		return false;
	if (count > play->stream_room) {
		streams = realloc(play->streams, room * sizeof(*streams));
		play->streams = streams ? streams : play->streams;
		heap = realloc(play->heap, room * sizeof(*heap));
		play->heap = heap ? heap : play->heap;
		if (!streams || !heap)
			return false;
		play->stream_room = room;
	}
	while (play->stream_count < count) {
		struct play_stream *stream = &play->streams[play->stream_count++];

		*stream = (struct play_stream) { .nodes_begin = TAPE_NODE_FIRST,
						 .nodes_end = TAPE_NODE_FIRST };
		for (uint32_t node = 0; node < TAPE_NODE_FIRST; node++)
			if (!vec_u32_push(&stream->ids, node))
				return false;
	}
	return true;
}

void play_deinit(struct play *play)
{
	for (size_t i = 0; i < play->stream_count; i++) {
		struct play_stream *stream = &play->streams[i];

		while (stream->head) {
			struct decoded *head = stream->head;

			stream->head = head->next;
			play->give(play->context, head);
		}
		vec_u32_deinit(&stream->ids);
		play_nodes_deinit(&stream->waiting);
	}
	free(play->streams);
	free(play->heap);
	free(play->merged);
}
