/*
 * Nodes are defined outermost frame first, each a child of the one before, and a call site has
 * mostly few distinct callees. So parents are runs, and for each node's pc one of the last three
 * that came below the same caller is tried first (a finite context model, as in trace compressors:
 * Burtscher, "VPC3", 2004).
 */
#include "capture/columns.h"

#include <assert.h>

enum { SLOT_BITS = 10, RANKS = 3, RUN_MAX = 255 };

/* Pcs last seen below a caller, newest first. Callers that share a slot disturb each other. */
struct recent {
	uint64_t pc[1 << SLOT_BITS][RANKS];
};

static inline uint64_t *recent_below(struct recent *recent, uint64_t caller_pc)
{
	return recent->pc[caller_pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS)];
}

/* Moves pc, now at rank (RANKS: absent), to the front. Ranks are as random as the program's paths:
 * no branches. */
static inline void recent_move(uint64_t *below, unsigned rank, uint64_t pc)
{
	const uint64_t second = -(uint64_t)(rank > 0), third = -(uint64_t)(rank > 1);

	below[2] = (below[1] & third) | (below[2] & ~third);
	below[1] = (below[0] & second) | (below[1] & ~second);
	below[0] = pc;
}

static inline unsigned recent_rank(const uint64_t *below, uint64_t pc)
{
	const unsigned not_first = pc != below[0], not_second = not_first & (pc != below[1]);

	return not_first + not_second + (not_second & (pc != below[2]));
}

/* Both halves of the node at `index`, or 0 if it is not one of the first `count`. */
static inline uint64_t pc_of(const uint8_t *end, uint32_t index, uint32_t count)
{
	if (index >= count)
		return 0;
	return load_u64(end - (index + (size_t)1) * sizeof(struct tape_node) +
			offsetof(struct tape_node, pc_low));
}

struct nodes_out {
	uint8_t *run;
	uint8_t *parent;
	uint8_t *rank;
	uint8_t *pc_low;
	uint8_t *pc_high;
	unsigned chained; /* nodes of the run so far */
};

static inline void put_parent(struct nodes_out *out, uint32_t delta)
{
	if (delta == 1 && ++out->chained < RUN_MAX)
		return;
	*out->run++ = (uint8_t)out->chained;
	out->chained = 0;
	if (delta == 1)
		return;
	store_u32(out->parent, delta);
	out->parent += 4;
}

static inline void put_pc(struct nodes_out *out, uint64_t *below, uint32_t index, uint64_t pc)
{
	unsigned rank = recent_rank(below, pc), shift = (index & 3) * 2;

	*out->rank = (uint8_t)((shift ? *out->rank : 0) | rank << shift);
	out->rank += shift == 6;
	recent_move(below, rank, pc);
	if (rank < RANKS)
		return;
	store_u32(out->pc_low, (uint32_t)pc);
	store_u32(out->pc_high, (uint32_t)(pc >> 32));
	out->pc_low += 4;
	out->pc_high += 4;
}

void columns_split_nodes(struct columns *columns, const struct tape_chunk *chunk,
			 uint32_t chunk_bytes)
{
	struct column_bytes *column = columns->column;
	const uint8_t *end = (const uint8_t *)chunk + chunk_bytes;
	const uint32_t count = chunk->node_count;
	struct nodes_out out = { .run = column[COLUMN_NODE_RUN].ptr,
				 .parent = column[COLUMN_NODE_PARENT].ptr,
				 .rank = column[COLUMN_NODE_RANK].ptr,
				 .pc_low = column[COLUMN_NODE_PC_LOW].ptr,
				 .pc_high = column[COLUMN_NODE_PC_HIGH].ptr };
	struct recent recent;

	assert(chunk_fits(chunk, chunk_bytes));
	if (count > 0)
		memset(&recent, 0, sizeof(recent));
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *node = end - (i + (size_t)1) * sizeof(struct tape_node);
		uint32_t delta = chunk->first_node + i - load_u32(node);

		put_parent(&out, delta);
		put_pc(&out, recent_below(&recent, pc_of(end, i - delta, i)), i,
		       pc_of(end, i, count));
	}
	if (out.chained > 0)
		*out.run++ = (uint8_t)out.chained;
	column[COLUMN_NODE_RUN].bytes = (uint32_t)(out.run - column[COLUMN_NODE_RUN].ptr);
	column[COLUMN_NODE_PARENT].bytes = (uint32_t)(out.parent - column[COLUMN_NODE_PARENT].ptr);
	column[COLUMN_NODE_RANK].bytes = (count + 3) / 4;
	column[COLUMN_NODE_PC_LOW].bytes = (uint32_t)(out.pc_low - column[COLUMN_NODE_PC_LOW].ptr);
	column[COLUMN_NODE_PC_HIGH].bytes = column[COLUMN_NODE_PC_LOW].bytes;
}

struct nodes_in {
	const uint8_t *run, *run_end;
	const uint8_t *parent, *parent_end;
	const uint8_t *pc_low, *pc_low_end;
	const uint8_t *pc_high;
	unsigned chained; /* nodes of the run that are left */
	bool is_headed;	  /* followed by a node that is not a child of the one before */
};

/* False: the columns end early. */
static inline bool take_parent(struct nodes_in *in, uint32_t *delta_ret)
{
	*delta_ret = 1;
	while (in->chained == 0) {
		if (in->is_headed) {
			in->is_headed = false;
			*delta_ret = load_u32(in->parent);
			in->parent += 4;
			return in->parent <= in->parent_end;
		}
		if (in->run == in->run_end)
			return false;
		in->chained = *in->run++;
		in->is_headed = in->chained < RUN_MAX;
	}
	in->chained--;
	return true;
}

static inline bool take_pc(struct nodes_in *in, uint64_t *below, unsigned rank, uint64_t *pc_ret)
{
	if (rank < RANKS) {
		*pc_ret = below[rank];
	} else {
		if (in->pc_low == in->pc_low_end)
			return false;
		*pc_ret = load_u32(in->pc_low) | (uint64_t)load_u32(in->pc_high) << 32;
		in->pc_low += 4;
		in->pc_high += 4;
	}
	recent_move(below, rank, *pc_ret);
	return true;
}

static bool join_nodes(struct nodes_in *in, const uint8_t *ranks, const struct tape_chunk *chunk,
		       uint8_t *end)
{
	struct recent recent;

	if (chunk->node_count > 0)
		memset(&recent, 0, sizeof(recent));
	for (uint32_t i = 0; i < chunk->node_count; i++) {
		uint8_t *node = end - (i + (size_t)1) * sizeof(struct tape_node);
		uint32_t delta;
		uint64_t pc;

		if (!take_parent(in, &delta) ||
		    !take_pc(in, recent_below(&recent, pc_of(end, i - delta, i)),
			     ranks[i / 4] >> i % 4 * 2 & 3, &pc))
			return false;
		store_u32(node, chunk->first_node + i - delta);
		store_u64(node + offsetof(struct tape_node, pc_low), pc);
	}
	return in->chained == 0 && in->run == in->run_end && in->parent == in->parent_end &&
	       in->pc_low == in->pc_low_end;
}

bool columns_join_nodes(const struct columns *columns, struct tape_chunk *chunk,
			uint32_t chunk_bytes)
{
	const struct column_bytes *column = columns->column;
	const struct column_bytes *run = &column[COLUMN_NODE_RUN];
	const struct column_bytes *parent = &column[COLUMN_NODE_PARENT];
	const struct column_bytes *pc_low = &column[COLUMN_NODE_PC_LOW];
	struct nodes_in in = { .run = run->ptr,
			       .run_end = run->ptr + run->bytes,
			       .parent = parent->ptr,
			       .parent_end = parent->ptr + parent->bytes,
			       .pc_low = pc_low->ptr,
			       .pc_low_end = pc_low->ptr + pc_low->bytes,
			       .pc_high = column[COLUMN_NODE_PC_HIGH].ptr };

	assert(chunk_fits(chunk, chunk_bytes));
	if (column[COLUMN_NODE_RANK].bytes != (chunk->node_count + (uint64_t)3) / 4 ||
	    column[COLUMN_NODE_PC_HIGH].bytes != pc_low->bytes || pc_low->bytes % 4 != 0)
		return false;
	return join_nodes(&in, column[COLUMN_NODE_RANK].ptr, chunk, (uint8_t *)chunk + chunk_bytes);
}
