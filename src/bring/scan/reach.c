#include "scan/reach.h"

#include <assert.h>

#include "base/big.h"

enum {
	/* How far ahead of the queue's head rows and their items are fetched. */
	ROW_AHEAD = 72,
	ITEM_AHEAD = 48,
	CLASS_AHEAD = 24,
	LONG_ROW = 16,	     /* items: from there on a row is fetched as it is walked */
	VISITED_BIT = 1 << 7 /* of classes: reachable, and its other pointers were followed */
};

struct reach {
	const struct pointers *pointers;
	struct scan_image_block *blocks;
	uint8_t *classes;
	/*
	 * What is alive in the order in which it was reached, then what is lost in groups: each has
	 * what was first reached from one block, the last first. A way to a block leads through
	 * blocks that were reached before it, or by blocks of which it was not known yet that they
	 * lead to others that were taken to be lost by themselves: these groups come later.
	 */
	uint32_t *queue;
	size_t head, tail;
};

/* A pointer that is being followed. */
struct pointer {
	uint64_t item;
	uint32_t from; /* node */
	uint64_t word;
};

static void hold(struct reach *reach, const struct pointer *pointer, enum tape_scan_class class)
{
	const uint32_t block = pointer_block(pointer->item);
	struct scan_image_block *held = &reach->blocks[block];

	held->parent = pointer->from;
	held->offset = reach->pointers->row_offsets[pointer->from] +
		       pointer->word * reach->pointers->pointer_bytes;
	held->heuristic = pointer_heuristic(pointer->item);
	held->is_interior = pointer_kind(pointer->item) != POINTER_START;
	reach->classes[block] = (uint8_t) class;
}

static void enqueue(struct reach *reach, uint32_t block)
{
	reach->queue[reach->tail++] = block;
}

/* By pointers to beginnings. */
static inline void follow_start(struct reach *reach, const struct pointer *pointer)
{
	const uint32_t block = pointer_block(pointer->item);

	if (!pointer_is_start(pointer->item) || reach->classes[block] == TAPE_SCAN_REACHABLE)
		return;
	hold(reach, pointer, TAPE_SCAN_REACHABLE);
	__builtin_prefetch(&reach->pointers->row_begins[block]);
	enqueue(reach, block);
}

/* By any; what is reachable stays so, but leads on. */
static inline void follow_any(struct reach *reach, const struct pointer *pointer)
{
	const uint32_t block = pointer_block(pointer->item);
	uint8_t *class = &reach->classes[block];

	if (*class == TAPE_SCAN_REACHABLE)
		*class |= VISITED_BIT;
	else if (*class == TAPE_SCAN_UNKNOWN)
		hold(reach, pointer, TAPE_SCAN_POSSIBLE);
	else
		return;
	enqueue(reach, block);
}

/*
 * In lost memory. What was taken to be lost by itself is not, and its own pointers need not be
 * followed again: what they lead to has been found.
 */
static inline void follow_lost(struct reach *reach, const struct pointer *pointer, uint32_t leader)
{
	const uint32_t block = pointer_block(pointer->item);
	const uint8_t class = reach->classes[block];

	if (block == leader || (class != TAPE_SCAN_UNKNOWN && class != TAPE_SCAN_DEFINITE))
		return;
	hold(reach, pointer, TAPE_SCAN_INDIRECT);
	if (class == TAPE_SCAN_UNKNOWN)
		enqueue(reach, block);
}

/* What will be needed of the blocks that an item points to. */
static inline void item_fetch(const struct reach *reach, uint64_t item)
{
	const uint32_t block = pointer_block(item);

	__builtin_prefetch(&reach->classes[block]);
	__builtin_prefetch(&reach->blocks[block], 1);
}

static inline void row_fetch(const struct reach *reach, uint32_t node)
{
	const struct pointers *pointers = reach->pointers;
	const uint64_t begin = pointers->row_begins[node];
	const uint64_t end = u64_min(pointers->row_begins[node + 1], begin + LONG_ROW);

	for (uint64_t at = begin; at < end; at++)
		item_fetch(reach, pointers->items[at]);
}

/* What will be needed for blocks further down the queue. */
static inline void look_ahead(const struct reach *reach)
{
	const struct pointers *pointers = reach->pointers;
	const uint32_t *queue = &reach->queue[reach->head];
	const size_t waiting = reach->tail - reach->head;

	if (waiting > ROW_AHEAD)
		__builtin_prefetch(&pointers->row_begins[queue[ROW_AHEAD]]);
	if (waiting > ITEM_AHEAD)
		__builtin_prefetch(&pointers->items[pointers->row_begins[queue[ITEM_AHEAD]]]);
	if (waiting > CLASS_AHEAD)
		row_fetch(reach, queue[CLASS_AHEAD]);
}

#define ROW_EACH(reach, node, call)                                                                \
	do {                                                                                       \
		const struct pointers *of_ = (reach)->pointers;                                    \
		const uint64_t end_ = of_->row_begins[(node) + 1];                                 \
		struct pointer pointer = { .from = (node) };                                       \
                                                                                                   \
		for (uint64_t at_ = of_->row_begins[node]; at_ < end_; at_++) {                    \
			pointer.item = of_->items[at_];                                            \
			pointer.word += pointer_step(pointer.item);                                \
			if (end_ - at_ > LONG_ROW)                                                 \
				item_fetch(reach, of_->items[at_ + LONG_ROW]);                     \
			if (pointer_block(pointer.item) != POINTER_GAP)                            \
				call;                                                              \
		}                                                                                  \
	} while (0)

static uint32_t dequeue(struct reach *reach)
{
	look_ahead(reach);
	return reach->queue[reach->head++];
}

static void walk_reachable(struct reach *reach)
{
	reach->head = reach->tail = 0;
	for (uint32_t node = reach->pointers->block_count; node < reach->pointers->row_count;
	     node++)
		ROW_EACH(reach, node, follow_start(reach, &pointer));
	while (reach->head < reach->tail) {
		const uint32_t node = dequeue(reach);

		ROW_EACH(reach, node, follow_start(reach, &pointer));
	}
}

static void walk_possible(struct reach *reach)
{
	reach->head = reach->tail = 0;
	for (uint32_t node = reach->pointers->block_count; node < reach->pointers->row_count;
	     node++)
		ROW_EACH(reach, node, follow_any(reach, &pointer));
	while (reach->head < reach->tail) {
		const uint32_t node = dequeue(reach);

		ROW_EACH(reach, node, follow_any(reach, &pointer));
	}
	for (uint32_t block = 0; block < reach->pointers->block_count; block++)
		reach->classes[block] &= (uint8_t)~VISITED_BIT;
}

/* Here the queue is short, and what comes after it is the next blocks without a class. */
static inline void look_ahead_of_leader(const struct reach *reach, uint32_t leader)
{
	const struct pointers *pointers = reach->pointers;

	if (leader + ROW_AHEAD >= pointers->block_count)
		return;
	if (reach->classes[leader + ROW_AHEAD] == TAPE_SCAN_UNKNOWN) {
		const uint64_t at = pointers->row_begins[leader + ROW_AHEAD];

		row_fetch(reach, leader + ROW_AHEAD);
		if (at < pointers->item_count)
			__builtin_prefetch(
				&pointers->row_begins[pointer_block(pointers->items[at])]);
	}
	if (reach->classes[leader + CLASS_AHEAD] == TAPE_SCAN_UNKNOWN) {
		const uint64_t at = pointers->row_begins[leader + CLASS_AHEAD];

		if (at < pointers->item_count && pointer_block(pointers->items[at]) != POINTER_GAP)
			__builtin_prefetch(&pointers->items[pointers->row_begins[pointer_block(
				pointers->items[at])]]);
	}
}

/* The first block comes last. */
static void turn_around(uint32_t *blocks, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		const uint32_t block = blocks[i];

		blocks[i] = blocks[count - 1 - i];
		blocks[count - 1 - i] = block;
	}
}

static void walk_lost(struct reach *reach)
{
	for (uint32_t leader = 0; leader < reach->pointers->block_count; leader++) {
		size_t begin;

		look_ahead_of_leader(reach, leader);
		if (reach->classes[leader] != TAPE_SCAN_UNKNOWN)
			continue;
		reach->classes[leader] = TAPE_SCAN_DEFINITE;
		begin = reach->tail;
		enqueue(reach, leader);
		reach->head = reach->tail;
		ROW_EACH(reach, leader, follow_lost(reach, &pointer, leader));
		while (reach->head < reach->tail) {
			const uint32_t node = dequeue(reach);

			ROW_EACH(reach, node, follow_lost(reach, &pointer, leader));
		}
		turn_around(&reach->queue[begin], reach->tail - begin);
	}
}

/* Whether something reachable points to the middle of what is not: without, the long way is not
   gone. */
static bool leads_further(const struct reach *reach)
{
	const struct pointers *pointers = reach->pointers;

	for (uint32_t node = 0; node < pointers->row_count; node++) {
		if (node < pointers->block_count && reach->classes[node] != TAPE_SCAN_REACHABLE)
			continue;
		for (uint64_t at = pointers->row_begins[node]; at < pointers->row_begins[node + 1];
		     at++) {
			const uint64_t item = pointers->items[at];

			if (!pointer_is_start(item) &&
			    reach->classes[pointer_block(item)] == TAPE_SCAN_UNKNOWN)
				return true;
		}
	}
	return false;
}

static void classes_copy(const struct reach *reach)
{
	for (uint32_t block = 0; block < reach->pointers->block_count; block++) {
		assert(reach->classes[block] != TAPE_SCAN_UNKNOWN);
		reach->blocks[block].class = reach->classes[block];
		if (reach->classes[block] == TAPE_SCAN_DEFINITE)
			reach->blocks[block].parent = SCAN_NODE_NONE;
	}
}

struct err *reach_fill(const struct pointers *pointers, struct scan_image_block *blocks,
		       uint32_t *order)
{
	CLEAN(free) uint8_t *classes = big_calloc((size_t)pointers->block_count + 1, 1);
	struct reach reach = { pointers, blocks, classes, order, 0, 0 };
	size_t alive_count;

	if (!classes)
		return err_nomem();
	walk_reachable(&reach);
	if (leads_further(&reach))
		walk_possible(&reach);
	alive_count = reach.tail;
	walk_lost(&reach);
	assert(reach.tail == pointers->block_count);
	turn_around(order, alive_count);
	classes_copy(&reach);
	return NULL;
}
