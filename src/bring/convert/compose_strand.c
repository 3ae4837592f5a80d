/*
 * Streams of a tape being composed: events and records are encoded to chunks, chunks are packed.
 */
#include <assert.h>

#include "convert/compose_parts.h"

enum { OPEN_MAX = 128 /* strands with a chunk buffer: 32 MiB */ };

static_assert((COMPOSE_DEPTH_MAX * sizeof(struct tape_node)) + sizeof(struct tape_chunk) +
			      TAPE_RECORD_BYTES_MAX + 2 * TAPE_EVENT_ROOM <=
		      COMPOSE_CHUNK_BYTES,
	      "the deepest stack and what names it fit in one chunk");

/* Gives the strand a buffer: a new one, or that of the next strand in turn. */
static struct err *strand_open(struct composer *composer, struct strand *strand)
{
	struct strand *other;

	if (composer->open.count < OPEN_MAX)
		return strand_vec_push(&composer->open, strand) ? NULL : err_nomem();
	other = composer->open.items[composer->open_next];
	composer->open.items[composer->open_next] = strand;
	composer->open_next = (composer->open_next + 1) % OPEN_MAX;
	return packed_stream_take_memory(&strand->stream, &other->stream);
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
		packed_stream_init(&strand->stream, composer->chunks,
				   (uint32_t)composer->strands.count - 1, 0);
		strand->last_node[0] = strand->last_node[1] = TAPE_NODE_NONE;
		strand->last_stack[0] = strand->last_stack[1] = COMPOSE_NO_STACK;
	}
	return composer->strands.items[number];
}

void compose_strand_destroy(struct strand *strand)
{
	map_deinit(&strand->nodes);
	packed_stream_deinit(&strand->stream);
	free(strand);
}

/* How many nodes of a stack this strand lacks: if one is there, so are all outer ones. */
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

static struct err *node_define(struct composer *composer, struct strand *strand, uint32_t stack)
{
	const struct stack_row *row = &composer->stacks.items[stack];
	const struct frame_row *frame = &composer->frames.items[row->frame];
	const uint64_t *parent =
		row->caller < TAPE_NODE_FIRST ? NULL : map_find(&strand->nodes, row->caller);
	uint32_t node = 0;
	struct err *err =
		packed_stream_node(&strand->stream, parent ? (uint32_t)*parent : row->caller,
				   frame->pc, frame->exact, &node);
	uint64_t *place = err ? NULL : map_put(&strand->nodes, stack, NULL);

	if (!place)
		return err ? err : err_nomem();
	*place = node;
	return NULL;
}

/* Outermost first. */
static struct err *nodes_define(struct composer *composer, struct strand *strand, uint32_t stack,
				uint32_t count)
{
	uint32_t lacking[COMPOSE_DEPTH_MAX];
	struct err *err = NULL;

	for (uint32_t i = count; i-- > 0; stack = composer->stacks.items[stack].caller)
		lacking[i] = stack;
	for (uint32_t i = 0; i < count && !err; i++)
		err = node_define(composer, strand, lacking[i]);
	return err;
}

/* Makes room for `bytes` of record and the stack's nodes; *node_ret is its number here. */
static struct err *strand_prepare(struct composer *composer, struct strand *strand, size_t bytes,
				  uint32_t stack, uint32_t *node_ret)
{
	const uint32_t lacking = nodes_lacking(composer, strand, stack);
	struct err *err = strand->stream.image ? NULL : strand_open(composer, strand);

	if (!err)
		err = packed_stream_reserve(&strand->stream, lacking, bytes);
	if (!err)
		err = nodes_define(composer, strand, stack, lacking);
	if (!err)
		*node_ret = stack < TAPE_NODE_FIRST ? stack
						    : (uint32_t)*map_find(&strand->nodes, stack);
	return err;
}

/*
 * Facts arrive in order, but among events with equal times a tape's reader takes frees first. So
 * each event is at least a nanosecond after the previous one.
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
	struct tape_event on_tape = { .fn = event->fn,
				      .address = event->address,
				      .size = event->size,
				      .usable = event->usable };
	struct err *err = NULL;

	assert(event->fn < TAPE_FN_COUNT);
	assert(event->stack < composer->stacks.count);
	if (!strand || composer->err)
		return;
	on_tape.ticks = event_time(composer);
	on_tape.node = strand->last_node[sizeless];
	if (!strand->stream.image || event->stack != strand->last_stack[sizeless])
		err = strand_prepare(composer, strand, TAPE_EVENT_BYTES_MAX, event->stack,
				     &on_tape.node);
	if (!err)
		err = packed_stream_event(&strand->stream, &on_tape);
	strand->last_stack[sizeless] = event->stack;
	strand->last_node[sizeless] = on_tape.node;
	composer->event_count++;
	if (err)
		compose_fail(composer, err);
}

void compose_record(struct composer *composer, struct strand *strand, uint64_t ticks,
		    const struct compose_record *record)
{
	uint8_t payload[256];
	uint32_t node = TAPE_NODE_NONE;
	struct err *err;

	assert(record->payload || record->bytes == 0);
	assert(record->tail || record->tail_bytes == 0);
	assert(record->node_at == 0 || record->node_at + sizeof(uint32_t) <= record->bytes);
	assert(record->bytes <= sizeof(payload));
	if (!strand || composer->err)
		return;
	if (TAPE_EXTENDED_BYTES + record->bytes + record->tail_bytes > TAPE_RECORD_BYTES_MAX) {
		compose_fail(composer, err_new(ERR_LIMIT, "a string is too long for a tape"));
		return;
	}
	err = strand_prepare(composer, strand, TAPE_RECORD_BYTES_MAX,
			     record->node_at ? record->stack : COMPOSE_NO_STACK, &node);
	if (record->bytes > 0)
		memcpy(payload, record->payload, record->bytes);
	if (record->node_at)
		store_u32(payload + record->node_at, node);
	if (!err)
		err = packed_stream_extended(&strand->stream, record->type, ticks, payload,
					     record->bytes, record->tail, record->tail_bytes);
	if (err)
		compose_fail(composer, err);
}

void compose_flush(struct composer *composer)
{
	for (size_t i = 0; i < composer->strands.count && !composer->err; i++)
		compose_fail(composer, packed_stream_flush(&composer->strands.items[i]->stream));
}
