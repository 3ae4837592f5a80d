/*
 * tables: a lane's knowledge of code addresses and stacks, in hash tables of single words: nearly
 * the whole cost of new frames is cache and TLB misses, and dense tables have few.
 *
 *	places  code address -> how to step over its frame. The index of an address in the table
 *		is its number, its *place*, by which the other tables call it.
 *	near    edges (parent node, place) -> node, in a cache line that belongs to the parent and
 *		those numbered next to it: nodes of a new path are defined one after the other and
 *		used together.
 *	far     edges that did not fit in that line.
 *
 * All grow, and at their limit are emptied together: nothing grows without bound. They forget all
 * or nothing on purpose: if single nodes were evicted, each that is defined again would have a new
 * number, and all below it would miss as well. Nodes are numbered from the last emptying on, here
 * and in the lane's memo; rec_node_number() gives the number on the tape.
 *
 * Places and nodes keep their meaning until rec_tables_make_room() or rec_tables_forget(), which
 * are called between events only and clear the memo. A lane's tables belong to its thread.
 */
#ifndef MEMTAPE_REC_TABLES_H
#define MEMTAPE_REC_TABLES_H

#include "rec/rec.h"

/* A place: the pc's 47 bits (place_key()), then a short step (memo.h) or 2 * index into lane->steps. 0: empty. */
enum { PLACE_STEP_BITS = 17, PLACE_PC_BITS = 47 };
/* An edge: parent 22 bits, place 19 bits, whether the pc is exact, node 22 bits. 0: empty. */
enum { EDGE_NODE_BITS = 22, EDGE_KEY_BITS = 20, EDGE_PLACE_NONE = (1 << 19) - 1 };

enum { EDGE_LINE = 8, EDGE_LINE_PARENTS = 4, EDGE_WAYS = 4 };

static_assert(MEMO_PLACE_SHIFT == 3 && MEMO_EXACT == 4, "flags >> 2: place and exact");
static_assert((int)MEMO_SHORT_BITS == (int)PLACE_STEP_BITS, "a short step fits a place");

/* For a new lane. False: out of memory. */
bool rec_tables_init(struct rec_lane *lane);
void rec_tables_deinit(struct rec_lane *lane);
void rec_tables_forget(struct rec_lane *lane);
/* When they are crowded: makes larger ones, or empties them. */
void rec_tables_make_room(struct rec_lane *lane);

/* The slow paths of place_get() and node_get(). */
struct memo_code rec_place_far(struct rec_lane *lane, uint64_t lookup_pc);
uint32_t rec_node_far(struct rec_lane *lane, uint32_t parent, uint32_t flags, uint64_t pc);

static_assert(ARCH_ADDRESS_BITS - ARCH_CODE_SHIFT <= PLACE_PC_BITS, "a code address fits a place");

/* A return address - 1 and an exact pc never have the same, whatever is shifted out. */
static inline uint64_t place_key(uint64_t lookup_pc)
{
	return lookup_pc >> ARCH_CODE_SHIFT;
}

static inline size_t place_index(const struct rec_tables *tables, uint64_t key)
{
	return (size_t)(key * REC_SCRAMBLE >> tables->place_shift);
}

static inline struct memo_code place_code(const struct rec_lane *lane, uint64_t word, size_t index)
{
	uint32_t step = (uint32_t)word & ((1 << PLACE_STEP_BITS) - 1);

	CHECK(index < (size_t)1 << (64 - lane->tables->place_shift));
	if (unlikely(!(step & 1)))
		step = lane->steps[step >> 1];
	return (struct memo_code) { .step = step, .place = (uint32_t)index + 1 };
}

static inline struct memo_code place_get(struct rec_lane *lane, uint64_t lookup_pc)
{
	const size_t index = place_index(lane->tables, place_key(lookup_pc));
	const uint64_t word = lane->tables->places[index];

	if (likely(word >> PLACE_STEP_BITS == place_key(lookup_pc)))
		return place_code(lane, word, index);
	return rec_place_far(lane, lookup_pc);
}

static inline size_t edge_near(const struct rec_tables *tables, uint32_t parent)
{
	return (size_t)(parent / EDGE_LINE_PARENTS) * EDGE_LINE & tables->near_mask;
}

static inline uint64_t edge_key(uint32_t parent, uint32_t flags)
{
	return (uint64_t)parent << (EDGE_NODE_BITS + EDGE_KEY_BITS) | (uint64_t)(flags >> 2)
									      << EDGE_NODE_BITS;
}

/* Each parent has two words of the line first: most nodes have one child, or two. */
static inline size_t edge_slot(uint32_t parent, uint32_t flags)
{
	return ((parent << 1) + (flags >> MEMO_PLACE_SHIFT & 3)) & (EDGE_LINE - 1);
}

static inline bool edge_is(uint64_t word, uint64_t key)
{
	return (word ^ key) >> EDGE_NODE_BITS == 0;
}

static inline uint32_t edge_node(uint64_t word)
{
	return (uint32_t)word & ((1 << EDGE_NODE_BITS) - 1);
}

/* flags: of the frame's memo entry; pc with bit 63: interrupted there. */
static inline uint32_t node_get(struct rec_lane *lane, uint32_t parent, uint32_t flags, uint64_t pc)
{
	const struct rec_tables *tables = lane->tables;
	const uint64_t word = tables->near[edge_near(tables, parent) + edge_slot(parent, flags)];

	if (likely(edge_is(word, edge_key(parent, flags))))
		return edge_node(word);
	return rec_node_far(lane, parent, flags, pc);
}

static inline uint32_t rec_node_number(const struct rec_lane *lane, uint32_t node)
{
	return node + (node >= TAPE_NODE_FIRST ? lane->tables->node_base : 0);
}

#endif
