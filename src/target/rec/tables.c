#include "rec/tables.h"

#include <stdatomic.h>

#include "core/poison.h"

/* 131,072 nodes. Then all is forgotten before the next event, which may have a deep stack. */
enum { PLACE_BITS_MAX = 18, NEAR_BITS_MAX = 18, FAR_BITS_MAX = 16 };

static_assert((1 << NEAR_BITS_MAX) * EDGE_LINE_PARENTS / EDGE_LINE + 2 * REC_MEMO_ENTRIES_MAX <
		      1 << EDGE_NODE_BITS,
	      "a node's number fits an edge");
static_assert((1 << PLACE_BITS_MAX) < EDGE_PLACE_NONE, "a place's number fits an edge");

struct sizes {
	size_t places, near, far;
};

static struct sizes sizes_of(const struct rec_tables *tables)
{
	return (struct sizes) {
		.places = (size_t)1 << (64 - tables->place_shift),
		.near = tables->near_mask + 1,
		.far = (size_t)1 << (64 - tables->far_shift),
	};
}

static size_t tables_bytes(const struct rec_tables *tables)
{
	const struct sizes sizes = sizes_of(tables);

	return (sizes.places + sizes.near + sizes.far) * sizeof(uint64_t);
}

/* One mapping for all three. */
static bool tables_map(struct rec_tables *tables, uint32_t place_bits, uint32_t near_bits,
		       uint32_t far_bits)
{
	CHECK(place_bits <= PLACE_BITS_MAX && near_bits <= NEAR_BITS_MAX &&
	      far_bits <= FAR_BITS_MAX);
	*tables = (struct rec_tables) { .place_shift = 64 - place_bits,
					.near_mask = ((size_t)1 << near_bits) - 1,
					.far_shift = 64 - far_bits };
	tables->places = rec_map(tables_bytes(tables));
	if (!tables->places)
		return false;
	tables->near = tables->places + sizes_of(tables).places;
	tables->far = tables->near + sizes_of(tables).near;
	atomic_fetch_add(&rec.private_bytes, tables_bytes(tables));
	return true;
}

static void tables_unmap(struct rec_tables *tables)
{
	atomic_fetch_sub(&rec.private_bytes, tables_bytes(tables));
	rec_unmap(tables->places, tables_bytes(tables));
}

bool rec_tables_init(struct rec_lane *lane)
{
	if (!tables_map(&lane->pair[0], REC_PLACE_BITS, REC_NEAR_BITS, REC_FAR_BITS))
		return false;
	lane->tables = &lane->pair[0];
	return true;
}

void rec_tables_deinit(struct rec_lane *lane)
{
	CHECK(lane->tables == &lane->pair[0] || lane->tables == &lane->pair[1]);
	tables_unmap(lane->tables);
}

/*
 * A handler may interrupt this and leave with longjmp(): whatever is left then is usable, with the
 * mark that brought us here still set.
 */
void rec_tables_forget(struct rec_lane *lane)
{
	struct rec_tables *tables = lane->tables;
	const struct sizes sizes = sizes_of(tables);

	CHECK(lane->next_node >= TAPE_NODE_FIRST);
	unwind_memo_clear(&lane->memo);
	atomic_signal_fence(memory_order_seq_cst);
	memset(tables->near, 0, (sizes.near + sizes.far) * sizeof(uint64_t));
	atomic_signal_fence(memory_order_seq_cst);
	tables->node_base = lane->next_node - TAPE_NODE_FIRST;
	memset(tables->places, 0, sizes.places * sizeof(uint64_t));
	atomic_signal_fence(memory_order_seq_cst);
	lane->step_count = 0;
	tables->place_count = tables->far_count = 0;
	atomic_signal_fence(memory_order_seq_cst);
	tables->crowded = false;
}

/* The place of a key, or the empty one where it belongs. */
static size_t place_find(const struct rec_tables *tables, uint64_t key)
{
	size_t index = place_index(tables, key);

	CHECK(tables->place_count < sizes_of(tables).places);
	while (tables->places[index] && tables->places[index] >> PLACE_STEP_BITS != key)
		index = (index + 1) & (sizes_of(tables).places - 1);
	return index;
}

/* As stored in a place: steps too long for that are kept separately. 0: no space. */
static uint32_t step_keep(struct rec_lane *lane, uint32_t step)
{
	uint32_t index = 1;

	CHECK(lane->step_count < array_size(lane->steps));
	if (step & 1)
		return step;
	while (index <= lane->step_count && lane->steps[index] != step)
		index++;
	if (index >= array_size(lane->steps)) {
		lane->tables->crowded = true;
		return 0;
	}
	if (index > lane->step_count) {
		lane->steps[index] = step;
		lane->step_count = index;
	}
	return index << 1;
}

static struct memo_code place_define(struct rec_lane *lane, uint64_t lookup_pc)
{
	const uint32_t step = memo_step(rec_rule_get(lane, lookup_pc));
	struct rec_tables *tables = lane->tables;
	const size_t room = sizes_of(tables).places;
	const uint64_t key = place_key(lookup_pc);
	uint32_t kept;
	size_t index;

	tables->crowded |= tables->place_count > room / 8 * 3;
	kept = tables->place_count > room / 8 * 7 ? 0 : step_keep(lane, step);
	if (!kept || key >> PLACE_PC_BITS)
		return (struct memo_code) { .step = step, .place = EDGE_PLACE_NONE };
	index = place_find(tables, key);
	tables->places[index] = key << PLACE_STEP_BITS | kept;
	tables->place_count++;
	return (struct memo_code) { .step = step, .place = (uint32_t)index + 1 };
}

struct memo_code rec_place_far(struct rec_lane *lane, uint64_t lookup_pc)
{
	const size_t index = place_find(lane->tables, place_key(lookup_pc));
	const uint64_t word = lane->tables->places[index];

	return likely(word) ? place_code(lane, word, index) : place_define(lane, lookup_pc);
}

/* In the parent's line: the edge, or an empty word. NULL: the line is full of others. */
static inline uint64_t *edge_in_line(const struct rec_tables *tables, uint32_t parent,
				     uint32_t flags, uint64_t key)
{
	const size_t slot = edge_slot(parent, flags);
	uint64_t *line = tables->near + edge_near(tables, parent);

	for (size_t i = 0; i < EDGE_WAYS; i++)
		if (edge_is(line[slot ^ i], key) || !line[slot ^ i])
			return &line[slot ^ i];
	return NULL;
}

/* The edge, or the empty word where it belongs. */
static __attribute__((noinline)) uint64_t *edge_in_far(const struct rec_tables *tables,
						       uint64_t key)
{
	const uint64_t hash = (key ^ key >> 32) * REC_SCRAMBLE;
	const size_t mask = sizes_of(tables).far - 1;
	size_t index = (size_t)((hash ^ hash >> 29) * REC_SCRAMBLE >> tables->far_shift);

	CHECK(tables->far_count < sizes_of(tables).far);
	while (!edge_is(tables->far[index], key) && tables->far[index])
		index = (index + 1) & mask;
	return &tables->far[index];
}

/* The edge, or the empty word where it belongs. */
static inline uint64_t *edge_find(const struct rec_tables *tables, uint32_t parent, uint32_t flags)
{
	const uint64_t key = edge_key(parent, flags);
	uint64_t *edge = edge_in_line(tables, parent, flags, key);

	return likely(edge) ? edge : edge_in_far(tables, key);
}

/* An edge whose pc has no place is not kept, nor one for which there is no space. */
static void edge_keep(struct rec_lane *lane, uint64_t *edge, uint32_t parent, uint32_t flags,
		      uint32_t node)
{
	struct rec_tables *tables = lane->tables;
	const struct sizes sizes = sizes_of(tables);
	const bool is_far = edge >= tables->far;

	CHECK(node >> EDGE_NODE_BITS == 0);
	CHECK(parent >> EDGE_NODE_BITS == 0);
	tables->crowded |= node / EDGE_LINE_PARENTS * EDGE_LINE > tables->near_mask ||
			   tables->far_count > sizes.far / 2;
	if (flags >> MEMO_PLACE_SHIFT == EDGE_PLACE_NONE ||
	    (is_far && tables->far_count > sizes.far / 8 * 7))
		return;
	*edge = edge_key(parent, flags) | node;
	tables->far_count += is_far;
}

/*
 * A handler may leave this function for good anywhere (longjmp): what counts is the chunk's
 * node_count, the rest follows from it. Room for the node is taken before the node is there.
 */
static __attribute__((noinline)) uint32_t node_define(struct rec_lane *lane, uint64_t *edge,
						      uint32_t parent, uint32_t flags, uint64_t pc)
{
	struct tape_node *node;
	struct tape_chunk *chunk;
	uint32_t count, node_id;

	if (unlikely(!lane->chunk ||
		     lane->nodes - sizeof(*node) < lane->cursor + TAPE_EVENT_ROOM) &&
	    !rec_chunk_next(lane))
		return TAPE_NODE_NONE;
	chunk = lane->chunk;
	count = chunk->node_count;
	node = (struct tape_node *)((uint8_t *)chunk + rec.chunk_bytes) - (count + 1);
	lane->nodes = (uint8_t *)node;
	lane->limit = lane->nodes - TAPE_EVENT_ROOM;
	node->parent = rec_node_number(lane, parent);
	node->pc_low = (uint32_t)pc;
	node->pc_high = (uint32_t)(pc >> 32 & 0xffff) | (uint32_t)(pc >> 63) << 31;
	node_id = chunk->first_node + count - lane->tables->node_base;
	atomic_store_explicit(ARCH_LITTLE_WORD(chunk, node_count), arch_little_u32(count + 1),
			      memory_order_release);
	lane->next_node = chunk->first_node + count + 1;
	edge_keep(lane, edge, parent, flags, node_id);
	return node_id;
}

uint32_t rec_node_far(struct rec_lane *lane, uint32_t parent, uint32_t flags, uint64_t pc)
{
	uint64_t *edge = edge_find(lane->tables, parent, flags);

	return likely(*edge) ? edge_node(*edge) : node_define(lane, edge, parent, flags, pc);
}

/* An edge with the number that its place has in the new tables. */
static void edge_move(struct rec_tables *to, const struct rec_tables *from, uint64_t word)
{
	const uint32_t key = (uint32_t)(word >> EDGE_NODE_BITS) & ((1 << EDGE_KEY_BITS) - 1);
	const uint32_t parent = (uint32_t)(word >> (EDGE_NODE_BITS + EDGE_KEY_BITS));
	const uint64_t place_key = from->places[(key >> 1) - 1] >> PLACE_STEP_BITS;
	const uint32_t place = (uint32_t)place_find(to, place_key) + 1;
	const uint32_t flags = place << MEMO_PLACE_SHIFT | (key & 1) << 2;
	uint64_t *edge = edge_find(to, parent, flags);

	*edge = edge_key(parent, flags) | edge_node(word);
	to->far_count += edge >= to->far; /* the last of the three */
}

static void tables_move(struct rec_tables *to, const struct rec_tables *from)
{
	const struct sizes sizes = sizes_of(from);

	for (size_t i = 0; i < sizes.places; i++)
		if (from->places[i])
			to->places[place_find(to, from->places[i] >> PLACE_STEP_BITS)] =
				from->places[i];
	for (size_t i = 0; i < sizes.near + sizes.far; i++) /* one after the other */
		if (from->near[i])
			edge_move(to, from, from->near[i]);
	to->place_count = from->place_count;
	to->node_base = from->node_base;
}

static uint32_t bits_of(size_t size)
{
	return 63 - (uint32_t)__builtin_clzll(size);
}

/* Larger tables, or empty ones. The memo refers to places: it is forgotten as well. */
void rec_tables_make_room(struct rec_lane *lane)
{
	struct rec_tables *old = lane->tables;
	struct rec_tables *larger = &lane->pair[old == lane->pair];
	const struct sizes sizes = sizes_of(old);
	const uint32_t nodes = lane->next_node - old->node_base;
	const bool many_places = old->place_count > sizes.places / 8 * 3;
	const bool many_nodes = nodes / EDGE_LINE_PARENTS * EDGE_LINE > old->near_mask;
	const bool many_far = old->far_count > sizes.far / 2;
	const uint32_t place_bits = bits_of(sizes.places) + many_places;
	const uint32_t near_bits = bits_of(sizes.near) + many_nodes * 2;
	const uint32_t far_bits = bits_of(sizes.far) + many_far;

	CHECK(lane->next_node >= old->node_base);
	CHECK(old == &lane->pair[0] || old == &lane->pair[1]);
	if (!(many_places || many_nodes || many_far) || place_bits > PLACE_BITS_MAX ||
	    near_bits > NEAR_BITS_MAX || far_bits > FAR_BITS_MAX ||
	    !tables_map(larger, place_bits, near_bits, far_bits)) {
		rec_tables_forget(lane);
		return;
	}
	tables_move(larger, old);
	unwind_memo_clear(&lane->memo);
	atomic_signal_fence(memory_order_seq_cst);
	lane->tables = larger;
	atomic_signal_fence(memory_order_seq_cst);
	tables_unmap(old);
}
