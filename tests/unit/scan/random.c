/*
 * Thousands of small programs, scanned and compared with what the definitions say, computed here by
 * the shortest way to write it, and sharing nothing with the scan.
 */
#include "../test.h"

#include "heap.h"

enum {
	PROGRAMS = 6000,
	NODES_MAX = 24,
	HOLDERS = 3,
	FAR = 1000, /* no chain */
	ROOTS = 0x3000
};

static uint64_t state = 88172645463325252u;

static uint64_t roll(uint64_t sides)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % sides;
}

/* Pointers by what they are: [from][to], and at which offsets. */
enum link { LINK_START = 1, LINK_ANY = 2 };

struct truth {
	const struct heap *heap;
	size_t blocks, nodes;
	uint8_t links[NODES_MAX][NODES_MAX];
	int class[NODES_MAX];
	size_t leader[NODES_MAX]; /* of lost memory: by which it was found */
	int distance[NODES_MAX];  /* from there */
	int start_distance[NODES_MAX], any_distance[NODES_MAX];
};

static uint64_t random_pointer(const struct heap *heap)
{
	const struct graph_block *to = &heap->blocks[roll(heap->graph.block_count)];
	const uint64_t word_bytes = heap->graph.pointer_bytes;

	switch (roll(8)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return to->address;
	case 4:
		return to->address + roll(to->size_bytes + 2);
	case 5:
		return to->address + word_bytes * (1 + roll(4));
	case 6:
		return to->address - roll(9);
	default:
		return HEAP_BEGIN + roll(HEAP_BYTES);
	}
}

/* What heuristics look for, near enough. */
static uint64_t random_filling(const struct graph_block *block, uint64_t word_bytes)
{
	switch (roll(5)) {
	case 0:
		return HEAP_VTABLES + roll(4) * word_bytes;
	case 1:
		return block->size_bytes - 3 * word_bytes - 1;
	case 2:
		return block->size_bytes - 8;
	case 3:
		return roll(5);
	default:
		return 0;
	}
}

static void random_blocks(struct heap *heap)
{
	const bool is_dense = roll(3) == 0;
	const size_t count = 1 + roll(NODES_MAX - HOLDERS);
	uint64_t at = roll(64);

	for (size_t i = 0; i < count; i++) {
		if (!is_dense)
			at = (at + 31 + roll(3) * 16) & ~UINT64_C(15);
		else
			at += roll(3) ? 0 : roll(20);
		heap_block(heap, at, is_dense ? roll(30) : roll(64));
		at += heap->blocks[i].size_bytes + !heap->blocks[i].size_bytes;
	}
	for (size_t i = 0; i + 1 < count; i++)
		if (roll(30) == 0) /* overlaps */
			heap->blocks[i].size_bytes += roll(100);
}

static void random_memory(struct heap *heap, const struct graph_block *block, unsigned percent)
{
	const uint64_t word_bytes = heap->graph.pointer_bytes;

	for (uint64_t at = align_up(block->address, word_bytes);
	     at + word_bytes <= block->address + block->size_bytes; at += word_bytes)
		heap_store(heap, at,
			   roll(100) < percent ? random_pointer(heap)
					       : random_filling(block, word_bytes));
}

static void random_heap(struct heap *heap)
{
	const unsigned percent = (unsigned)roll(60);

	heap_init(heap);
	heap->graph.pointer_bytes = roll(4) ? 8 : 4;
	heap->graph.heuristics = roll(2) ? (uint32_t)roll(16) : 0;
	heap->graph.holder_count = HOLDERS;
	random_blocks(heap);
	for (size_t i = 0; i < heap->graph.block_count; i++)
		random_memory(heap, &heap->blocks[i], percent);
	for (size_t i = 0; i < roll(6); i++) {
		struct graph_root *root = &heap->roots[heap->graph.root_count++];

		*root = (struct graph_root) {
			.begin = HEAP_BEGIN + ROOTS + i * 64 + roll(9),
			.holder = (uint32_t)roll(HOLDERS),
			.starts_only = roll(4) == 0,
		};
		root->end = root->begin + roll(32);
		random_memory(heap, &(struct graph_block) { root->begin, root->end - root->begin },
			      70);
	}
}

/* The truth. */

static uint64_t end_of(const struct truth *truth, size_t block, uint64_t at_least)
{
	const struct graph_block *at = &truth->heap->blocks[block];
	const uint64_t end = at->address + u64_max(at->size_bytes, at_least);

	return block + 1 < truth->blocks ? u64_min(end, at[1].address) : end;
}

static uint64_t word_at(const struct truth *truth, uint64_t address)
{
	return heap_load(truth->heap, address);
}

/* As Memcheck tries them. */
static int heuristic_of(const struct truth *truth, size_t block, uint64_t address)
{
	const uint64_t word = truth->heap->graph.pointer_bytes;
	const uint64_t begin = truth->heap->blocks[block].address;
	const uint64_t size = end_of(truth, block, 0) - begin;
	const uint32_t wanted = truth->heap->graph.heuristics;
	uint64_t first8;

	memcpy(&first8, truth->heap->bytes + (begin - HEAP_BEGIN), 8);
	if (wanted & TAPE_SCAN_STDSTRING && address == begin + 3 * word &&
	    3 * word + word_at(truth, begin + word) + 1 == size &&
	    word_at(truth, begin) <= word_at(truth, begin + word))
		return TAPE_SCAN_STDSTRING;
	if (wanted & TAPE_SCAN_LENGTH64 && address == begin + 8 && size - 8 == first8)
		return TAPE_SCAN_LENGTH64;
	if (wanted & TAPE_SCAN_NEWARRAY && address == begin + word && word_at(truth, begin) > 0 &&
	    (size - word) % word_at(truth, begin) == 0)
		return TAPE_SCAN_NEWARRAY;
	if (wanted & TAPE_SCAN_INHERITANCE && address % word == 0 &&
	    address + word <= begin + size) {
		const uint64_t inner = word_at(truth, address), first = word_at(truth, begin);

		if (inner % word == 0 && first % word == 0 && heap_is_vtable(NULL, inner) &&
		    heap_is_vtable(NULL, first))
			return TAPE_SCAN_INHERITANCE;
	}
	return 0;
}

/* The block that a word points to, or -1. */
static int target_of(const struct truth *truth, uint64_t value, bool *is_interior, int *heuristic)
{
	for (size_t b = 0; b < truth->blocks; b++) {
		if (value < truth->heap->blocks[b].address || value >= end_of(truth, b, 1))
			continue;
		*is_interior = value != truth->heap->blocks[b].address;
		*heuristic = *is_interior ? heuristic_of(truth, b, value) : 0;
		return (int)b;
	}
	return -1;
}

static void link_words(struct truth *truth, size_t node, uint64_t begin, uint64_t end,
		       bool starts_only)
{
	const uint64_t word = truth->heap->graph.pointer_bytes;

	for (uint64_t at = begin; at + word <= end; at++) {
		bool is_interior;
		int heuristic;
		const int to =
			at % word ? -1
				  : target_of(truth, word_at(truth, at), &is_interior, &heuristic);

		if (to < 0 || (is_interior && starts_only))
			continue;
		truth->links[node][to] |= LINK_ANY;
		if (!is_interior || heuristic)
			truth->links[node][to] |= LINK_START;
	}
}

/* Lengths of shortest chains over nodes that are in, to nodes that are in or may end a chain. */
static void measure(const struct truth *truth, int kind, const bool *in, const bool *ends,
		    int *distance)
{
	for (size_t round = 0; round < truth->nodes; round++)
		for (size_t from = 0; from < truth->nodes; from++)
			for (size_t to = 0; to < truth->blocks; to++)
				if (in[from] && (in[to] || ends[to]) &&
				    truth->links[from][to] & kind &&
				    distance[from] + 1 < distance[to])
					distance[to] = distance[from] + 1;
}

static void measure_roots(const struct truth *truth, int kind, size_t without, int *distance)
{
	bool in[NODES_MAX], ends[NODES_MAX] = { false };

	for (size_t i = 0; i < truth->nodes; i++) {
		in[i] = i != without;
		distance[i] = i >= truth->blocks && i != without ? 0 : FAR;
	}
	measure(truth, kind, in, ends, distance);
}

/* A leader takes what it reaches among blocks without a class, and leaders before it. */
static void lead(struct truth *truth, size_t leader)
{
	bool in[NODES_MAX], ends[NODES_MAX];
	int distance[NODES_MAX];

	for (size_t i = 0; i < truth->nodes; i++) {
		in[i] = i == leader || (i < truth->blocks && truth->class[i] == 0);
		ends[i] = i < truth->blocks && truth->class[i] == TAPE_SCAN_DEFINITE;
		distance[i] = i == leader ? 0 : FAR;
	}
	measure(truth, LINK_ANY, in, ends, distance);
	for (size_t i = 0; i < truth->blocks; i++)
		if (distance[i] < FAR) {
			truth->class[i] = i == leader ? TAPE_SCAN_DEFINITE : TAPE_SCAN_INDIRECT;
			truth->distance[i] = distance[i];
			truth->leader[i] = leader;
		}
}

static void truth_find(struct truth *truth, const struct heap *heap)
{
	*truth = (struct truth) { .heap = heap,
				  .blocks = heap->graph.block_count,
				  .nodes = heap->graph.block_count + HOLDERS };
	for (size_t b = 0; b < truth->blocks; b++)
		link_words(truth, b, heap->blocks[b].address, end_of(truth, b, 0), false);
	for (size_t i = 0; i < heap->graph.root_count; i++)
		link_words(truth, truth->blocks + heap->roots[i].holder, heap->roots[i].begin,
			   heap->roots[i].end, heap->roots[i].starts_only);
	measure_roots(truth, LINK_START, SIZE_MAX, truth->start_distance);
	measure_roots(truth, LINK_ANY, SIZE_MAX, truth->any_distance);
	for (size_t b = 0; b < truth->blocks; b++) {
		if (truth->start_distance[b] < FAR)
			truth->class[b] = TAPE_SCAN_REACHABLE;
		else if (truth->any_distance[b] < FAR)
			truth->class[b] = TAPE_SCAN_POSSIBLE;
	}
	for (size_t b = 0; b < truth->blocks; b++)
		if (truth->class[b] == 0)
			lead(truth, b);
}

/* Comparison. */

/* The pointer that a block is held by is there, and is what is said of it. */
static void check_pointer(const struct truth *truth, const struct scan_image_block *block, size_t b)
{
	uint64_t begin = UINT64_MAX;
	bool is_interior;
	int heuristic;

	if (block->parent < truth->blocks)
		begin = truth->heap->blocks[block->parent].address;
	for (size_t i = 0; i < truth->heap->graph.root_count; i++)
		if (truth->heap->roots[i].holder + truth->blocks == block->parent)
			begin = u64_min(begin, truth->heap->roots[i].begin);
	assert_int_equal((begin + block->offset) % truth->heap->graph.pointer_bytes, 0);
	assert_int_equal(
		target_of(truth, word_at(truth, begin + block->offset), &is_interior, &heuristic),
		b);
	assert_int_equal(block->is_interior, is_interior);
	assert_int_equal(block->heuristic, heuristic);
	if (block->class == TAPE_SCAN_REACHABLE)
		assert_true(!is_interior || heuristic);
}

static void check_chain(const struct truth *truth, const struct scan_image_block *block, size_t b)
{
	switch (block->class) {
	case TAPE_SCAN_REACHABLE:
		assert_int_equal(truth->start_distance[block->parent] + 1,
				 truth->start_distance[b]);
		break;
	case TAPE_SCAN_POSSIBLE:
		assert_int_equal(truth->any_distance[block->parent] + 1, truth->any_distance[b]);
		break;
	case TAPE_SCAN_DEFINITE:
		assert_int_equal(block->parent, SCAN_NODE_NONE);
		return;
	default: /* the leader may have been demoted since */
		if (truth->distance[b] == 1)
			assert_int_equal(block->parent, truth->leader[b]);
		else
			assert_int_equal(truth->distance[block->parent] + 1, truth->distance[b]);
		assert_true(truth->class[block->parent] >= TAPE_SCAN_INDIRECT);
	}
	check_pointer(truth, block, b);
}

static bool is_lost(const struct truth *truth, size_t node)
{
	return node < truth->blocks && truth->class[node] >= TAPE_SCAN_INDIRECT;
}

/* What is still reached without a node; lost memory from its leaders, within itself. */
static void reached_without(const struct truth *truth, size_t without, bool *reached)
{
	for (size_t i = 0; i < truth->nodes; i++)
		reached[i] = i != without &&
			     (i >= truth->blocks || truth->class[i] == TAPE_SCAN_DEFINITE);
	for (size_t round = 0; round < truth->nodes; round++)
		for (size_t from = 0; from < truth->nodes; from++)
			for (size_t to = 0; to < truth->blocks; to++)
				if (reached[from] && to != without && truth->links[from][to] &&
				    is_lost(truth, from) <= is_lost(truth, to))
					reached[to] = true;
}

/* [x][y]: y cannot be reached without x; x itself not. */
static void check_dominators(const struct truth *truth, const struct scan_image *image)
{
	bool dominates[NODES_MAX][NODES_MAX];
	size_t depth[NODES_MAX] = { 0 };

	for (size_t x = 0; x < truth->nodes; x++) {
		bool reached[NODES_MAX];
		uint64_t retained = 0;

		reached_without(truth, x, reached);
		for (size_t y = 0; y < truth->blocks; y++) {
			dominates[x][y] = y != x && !reached[y];
			depth[y] += dominates[x][y];
			retained += reached[y] ? 0 : image->blocks[y].size_bytes;
		}
		assert_int_equal(x < truth->blocks
					 ? image->blocks[x].retained_bytes
					 : image->holders[x - truth->blocks].retained_bytes,
				 retained);
	}
	for (size_t y = 0; y < truth->blocks; y++) {
		size_t nearest = SCAN_NODE_NONE;

		for (size_t x = 0; x < truth->nodes; x++)
			if (dominates[x][y] && depth[x] + 1 == depth[y])
				nearest = x;
		assert_int_equal(image->blocks[y].dominator, nearest);
	}
}

static void check_image(const struct heap *heap, size_t counts[TAPE_SCAN_CLASS_COUNT])
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	CLEAN(scan_image_deinit) struct scan_image back = { 0 };
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	struct truth truth;

	assert_null(graph_scan(&heap->graph, &image));
	truth_find(&truth, heap);
	for (size_t b = 0; b < truth.blocks; b++) {
		assert_int_equal(image.blocks[b].address, heap->blocks[b].address);
		assert_int_equal(image.blocks[b].class, truth.class[b]);
		check_chain(&truth, &image.blocks[b], b);
		counts[truth.class[b]]++;
	}
	check_dominators(&truth, &image);
	for (size_t i = 0; i < image.holder_count; i++)
		image.holders[i].kind = TAPE_SCAN_GLOBAL;
	assert_true(scan_image_write(&image, &bytes));
	assert_null(scan_image_read(bytes.items, bytes.count, &back));
	assert_memory_equal(back.blocks, image.blocks, image.block_count * sizeof(*image.blocks));
}

static void random_programs_are_what_the_definitions_say(void **unused)
{
	size_t counts[TAPE_SCAN_CLASS_COUNT] = { 0 };

	(void)unused;
	for (size_t i = 0; i < PROGRAMS; i++) {
		struct heap heap;

		random_heap(&heap);
		check_image(&heap, counts);
	}
	for (size_t i = TAPE_SCAN_REACHABLE; i < TAPE_SCAN_CLASS_COUNT; i++)
		assert_true(counts[i] > PROGRAMS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs_are_what_the_definitions_say),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
