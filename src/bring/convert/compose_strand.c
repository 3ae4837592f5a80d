/*
 * The streams of a tape being composed: events and records become chunks, chunks are packed.
 */
#include <assert.h>

#include "capture/chunk.h"
#include "convert/compose_parts.h"

enum {
	CHUNK_BYTES = 256 << 10,
	OPEN_MAX = 128 /* chunks in memory: 32 MiB */
};

static_assert((COMPOSE_DEPTH_MAX * sizeof(struct tape_node)) + sizeof(struct tape_chunk) +
			      TAPE_RECORD_BYTES_MAX + TAPE_EVENT_ROOM <=
		      CHUNK_BYTES,
	      "the deepest stack and what names it fit in one chunk");

static void strand_pack(struct composer *composer, struct strand *strand)
{
	struct tape_chunk *image = strand->image;
	size_t bytes = 0;
	struct err *err;

	assert(strand->ptr >= (uint8_t *)(image + 1));
	image->used = (uint32_t)(strand->ptr - (uint8_t *)(image + 1));
	if (image->used == 0)
		return;
	image->state = TAPE_CHUNK_SEALED;
	err = capture_pack(composer->packer, image, CHUNK_BYTES, composer->packed, &bytes, NULL);
	if (!err)
		err = writer_append(&composer->writer, composer->packed, bytes, WRITER_NORMAL);
	compose_fail(composer, err);
	strand->seq++;
}

/* An empty chunk in the same memory. */
static void strand_begin(struct composer *composer, struct strand *strand)
{
	assert(strand->image && strand->next_node >= TAPE_NODE_FIRST);
	*strand->image = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(*strand->image),
		.state = TAPE_CHUNK_OPEN,
		.stream = strand->number,
		.seq = strand->seq,
		.first_node = strand->next_node,
		.begin_ticks = strand->number == COMPOSE_STREAM_FACTS ? 0 : composer->now,
	};
	strand->ptr = (uint8_t *)(strand->image + 1);
	tape_codec_reset(&strand->codec, strand->image->begin_ticks);
}

/* Memory for a chunk: new, or that of the strand whose turn it is to give its own. */
static bool strand_open(struct composer *composer, struct strand *strand)
{
	assert(!strand->image);
	if (composer->open.count < OPEN_MAX) {
		strand->image = calloc(1, CHUNK_BYTES + CHUNK_IMAGE_PAD);
		if (!strand->image || !strand_vec_push(&composer->open, strand)) {
			compose_fail(composer, err_nomem());
			return false;
		}
		strand->open_at = (uint32_t)composer->open.count - 1;
	} else {
		struct strand *other = composer->open.items[composer->open_next];

		strand_pack(composer, other);
		strand->image = steal(other->image);
		strand->open_at = (uint32_t)composer->open_next;
		composer->open.items[strand->open_at] = strand;
		composer->open_next = (composer->open_next + 1) % OPEN_MAX;
	}
	strand_begin(composer, strand);
	return true;
}

static size_t strand_room(const struct strand *strand)
{
	return CHUNK_BYTES - (size_t)(strand->ptr - (uint8_t *)strand->image) -
	       strand->image->node_count * sizeof(struct tape_node);
}

static bool strand_reserve(struct composer *composer, struct strand *strand, size_t bytes)
{
	assert(bytes <= CHUNK_BYTES);
	if (composer->err)
		return false;
	if (!strand->image)
		return strand_open(composer, strand);
	if (strand_room(strand) >= bytes)
		return true;
	strand_pack(composer, strand);
	strand_begin(composer, strand);
	return !composer->err;
}

struct strand *compose_strand(struct composer *composer, uint32_t number)
{
	while (composer->strands.count <= number) {
		struct strand *strand = calloc(1, sizeof(*strand));

		if (!strand || !strand_vec_push(&composer->strands, strand)) {
			free(strand);
			compose_fail(composer, err_nomem());
			return NULL;
		}
		strand->number = (uint32_t)composer->strands.count - 1;
		strand->next_node = TAPE_NODE_FIRST;
		strand->last_node[0] = strand->last_node[1] = TAPE_NODE_NONE;
		strand->last_stack[0] = strand->last_stack[1] = COMPOSE_NO_STACK;
	}
	return composer->strands.items[number];
}

void compose_strand_destroy(struct strand *strand)
{
	map_deinit(&strand->nodes);
	free(strand->image);
	free(strand);
}

/* How many nodes a stack lacks in this strand: those of its outer frames are there or not. */
static uint32_t nodes_lacking(const struct composer *composer, const struct strand *strand,
			      uint32_t stack)
{
	uint32_t count = 0;

	while (stack >= TAPE_NODE_FIRST && !map_find(&strand->nodes, stack)) {
		stack = composer->stacks.items[stack].caller;
		count++;
	}
	return count;
}

static bool node_define(struct composer *composer, struct strand *strand, uint32_t stack)
{
	const struct stack_row *row = &composer->stacks.items[stack];
	const struct frame_row *frame = &composer->frames.items[row->frame];
	const uint64_t *parent =
		row->caller < TAPE_NODE_FIRST ? NULL : map_find(&strand->nodes, row->caller);
	const struct tape_node node = {
		.parent = parent ? (uint32_t)*parent : row->caller,
		.pc_low = (uint32_t)frame->pc,
		.pc_high =
			(uint32_t)(frame->pc >> 32 & 0xffff) | (frame->exact ? TAPE_NODE_EXACT : 0),
	};
	uint64_t *place = map_put(&strand->nodes, stack, NULL);

	if (!place) {
		compose_fail(composer, err_nomem());
		return false;
	}
	*place = strand->next_node++;
	strand->image->node_count++;
	memcpy((uint8_t *)strand->image + CHUNK_BYTES - strand->image->node_count * sizeof(node),
	       &node, sizeof(node));
	return true;
}

/* Outermost first; there is room for all of them. */
static bool nodes_define(struct composer *composer, struct strand *strand, uint32_t stack,
			 uint32_t count)
{
	uint32_t lacking[COMPOSE_DEPTH_MAX];

	for (uint32_t i = count; i-- > 0; stack = composer->stacks.items[stack].caller)
		lacking[i] = stack;
	for (uint32_t i = 0; i < count; i++)
		if (!node_define(composer, strand, lacking[i]))
			return false;
	return true;
}

/* Room for `bytes` of record and the stack's nodes; *node_ret is its number here. */
static bool strand_prepare(struct composer *composer, struct strand *strand, size_t bytes,
			   uint32_t stack, uint32_t *node_ret)
{
	const uint32_t lacking = nodes_lacking(composer, strand, stack);

	if (!strand_reserve(composer, strand, bytes + lacking * sizeof(struct tape_node)) ||
	    !nodes_define(composer, strand, stack, lacking))
		return false;
	*node_ret = stack < TAPE_NODE_FIRST ? stack : (uint32_t)*map_find(&strand->nodes, stack);
	return true;
}

/*
 * Facts come in the order in which they happened, but for what happened at one time a tape's reader
 * takes frees first. So each event is at least a nanosecond after the one before.
 */
static uint64_t event_time(struct composer *composer)
{
	composer->now += composer->had_event;
	composer->had_event = true;
	return composer->now;
}

void compose_event(struct composer *composer, struct strand *strand,
		   const struct compose_event *event)
{
	const unsigned sizeless = tape_fn_sizeless(event->fn);
	uint64_t ticks;
	uint32_t node;

	assert(event->fn < TAPE_FN_COUNT);
	assert(event->stack < composer->stacks.count);
	if (!strand || composer->err)
		return;
	ticks = event_time(composer);
	if (strand->image && event->stack == strand->last_stack[sizeless] &&
	    strand_room(strand) >= TAPE_EVENT_ROOM)
		node = strand->last_node[sizeless];
	else if (!strand_prepare(composer, strand, TAPE_EVENT_ROOM, event->stack, &node))
		return;
	strand->last_stack[sizeless] = event->stack;
	strand->last_node[sizeless] = node;
	strand->ptr = tape_event_encode(&strand->codec, strand->ptr, event->fn, ticks,
					event->address, event->size, event->usable, node);
	composer->event_count++;
}

void compose_record(struct composer *composer, struct strand *strand, uint64_t ticks,
		    const struct compose_record *record)
{
	uint8_t payload[256];
	uint32_t node;

	assert(record->payload || record->bytes == 0);
	assert(record->tail || record->tail_bytes == 0);
	assert(record->node_at == 0 || record->node_at + sizeof(uint32_t) <= record->bytes);
	assert(record->bytes <= sizeof(payload));
	if (!strand || composer->err)
		return;
	if (TAPE_EXTENDED_BYTES + record->bytes + record->tail_bytes > TAPE_RECORD_BYTES_MAX) {
		compose_fail(composer, err_new(ERR_LIMIT, "a text is too long for a tape"));
		return;
	}
	if (!strand_prepare(composer, strand, TAPE_RECORD_BYTES_MAX,
			    record->node_at ? record->stack : COMPOSE_NO_STACK, &node))
		return;
	if (record->bytes > 0)
		memcpy(payload, record->payload, record->bytes);
	if (record->node_at)
		store_u32(payload + record->node_at, node);
	strand->ptr = tape_extended_encode(strand->ptr, record->type, ticks, payload, record->bytes,
					   record->tail, record->tail_bytes);
}

void compose_flush(struct composer *composer)
{
	for (size_t i = 0; i < composer->strands.count && !composer->err; i++)
		if (composer->strands.items[i]->image)
			strand_pack(composer, composer->strands.items[i]);
}
