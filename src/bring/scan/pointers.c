#include "scan/pointers.h"

#include <assert.h>

#include "base/big.h"
#include "base/sort.h"
#include "scan/shapes.h"

enum {
	PIECE_BYTES = 1 << 20,
	PAGE_BYTES = 4096,
	/* Less than this between two blocks is read and thrown away. */
	SKIP_BYTES = PAGE_BYTES,
	ITEMS_FIRST = 1 << 18
};

#define STEP_MAX (UINT64_MAX >> POINTER_STEP_SHIFT)

struct range {
	uint64_t begin, end;
};
VEC_DEFINE(vec_range, struct range);

struct finder {
	const struct graph *graph;
	const struct block_index *index;
	struct pointers *pointers;
	struct shapes shapes;
	struct pointer_word batch[POINTER_BATCH];
	size_t batch_count;
	bool starts_only; /* of the batch */
	uint32_t row;	  /* of the last item, and its word */
	uint64_t word;
	bool failed;	/* out of memory */
	uint8_t *piece; /* memory from piece_begin on; zeros where it could not be read */
	uint64_t piece_begin, piece_end;
	struct vec_range holes; /* what could not be read of the piece */
};

static void finder_deinit(struct finder *finder)
{
	shapes_deinit(&finder->shapes);
	free(finder->piece);
	vec_range_deinit(&finder->holes);
}
CLEAN_DEFINE_DEINIT(finder_deinit, struct finder);

void pointers_deinit(struct pointers *pointers)
{
	if (pointers->items)
		big_free(pointers->items, pointers->item_room * sizeof(*pointers->items));
	free(pointers->row_begins);
	free(pointers->row_offsets);
	*pointers = (struct pointers) { 0 };
}

/* Words that are pointers become items. */

static void row_reach(struct finder *finder, uint32_t row)
{
	assert(row >= finder->row);
	if (row == finder->row)
		return;
	while (finder->row < row)
		finder->pointers->row_begins[++finder->row] = finder->pointers->item_count;
	finder->word = 0;
}

/* Grows by doubling; pages that were not written yet are not there. */
static bool items_grow(struct pointers *pointers)
{
	const size_t room = pointers->item_room ? pointers->item_room * 2 : ITEMS_FIRST;
	const size_t item_bytes = sizeof(*pointers->items);
	uint64_t *items =
		big_resize(pointers->items, pointers->item_room * item_bytes, room * item_bytes);

	if (!items)
		return false;
	pointers->items = items;
	pointers->item_room = room;
	return true;
}

static void item_push(struct finder *finder, uint64_t item, uint64_t step)
{
	struct pointers *pointers = finder->pointers;

	if (unlikely(pointers->item_count == pointers->item_room) && !items_grow(pointers)) {
		finder->failed = true;
		return;
	}
	pointers->items[pointers->item_count++] = item | step << POINTER_STEP_SHIFT;
}

static void word_push(struct finder *finder, const struct pointer_word *word)
{
	const enum pointer_kind kind =
		word->inside == 0 ? POINTER_START : shapes_place(&finder->shapes, word->inside);
	uint64_t step;

	row_reach(finder, word->row);
	assert(word->word >= finder->word);
	step = word->word - finder->word;
	finder->word = word->word;
	for (; step > STEP_MAX; step -= STEP_MAX)
		item_push(finder, POINTER_GAP, STEP_MAX);
	if (kind != POINTER_START)
		finder->failed |=
			!shapes_note(&finder->shapes, word->address, finder->pointers->item_count);
	item_push(finder, word->block | (uint64_t)kind << POINTER_BLOCK_BITS, step);
}

static void batch_flush(struct finder *finder)
{
	block_index_find(finder->index, finder->batch, finder->batch_count);
	for (size_t i = 0; i < finder->batch_count; i++) {
		const struct pointer_word *word = &finder->batch[i];

		if (word->block != BLOCK_NONE && !(word->inside && finder->starts_only))
			word_push(finder, word);
	}
	finder->batch_count = 0;
}

static void batch_add(struct finder *finder, uint64_t address, uint64_t word, uint32_t row)
{
	struct pointer_word *place = &finder->batch[finder->batch_count++];

	place->address = address;
	place->word = word;
	place->row = row;
	if (finder->batch_count == POINTER_BATCH)
		batch_flush(finder);
}

/* first: the number of the first word in its row. */
static void words_look(struct finder *finder, const uint8_t *bytes, size_t count, uint64_t first,
		       uint32_t row)
{
	const uint64_t begin = finder->index->begin, span_bytes = finder->index->span_bytes;

	if (finder->graph->pointer_bytes == 8) {
		for (size_t i = 0; i < count; i++) {
			const uint64_t address = load_u64(bytes + i * 8);

			if (unlikely(address - begin < span_bytes))
				batch_add(finder, address, first + i, row);
		}
	} else {
		for (size_t i = 0; i < count; i++) {
			const uint64_t address = load_u32(bytes + i * 4);

			if (unlikely(address - begin < span_bytes))
				batch_add(finder, address, first + i, row);
		}
	}
}

/* Memory comes in pieces. */

static void piece_read(struct finder *finder, uint64_t begin, uint64_t end)
{
	const struct graph_memory *memory = &finder->graph->memory;
	uint64_t at = begin;

	assert(end - begin <= PIECE_BYTES);
	finder->piece_begin = begin;
	finder->piece_end = end;
	finder->holes.count = 0;
	while (at < end) {
		const size_t got =
			memory->read(memory->context, at, finder->piece + (at - begin), end - at);
		struct range hole;

		assert(got <= end - at);
		if (got == end - at)
			break;
		/* Half a word is none. */
		hole.begin = at + got - (at + got) % finder->graph->pointer_bytes;
		hole.begin = u64_max(hole.begin, at);
		hole.end = u64_min(align_up(at + got + 1, PAGE_BYTES), end);
		memset(finder->piece + (hole.begin - begin), 0, hole.end - hole.begin);
		finder->failed |= !vec_range_push(&finder->holes, hole);
		at = hole.end;
	}
}

static uint64_t unread_in(const struct finder *finder, uint64_t begin, uint64_t end)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < finder->holes.count; i++) {
		const uint64_t from = u64_max(begin, finder->holes.items[i].begin);
		const uint64_t to = u64_min(end, finder->holes.items[i].end);

		bytes += from < to ? to - from : 0;
	}
	return bytes;
}

/* The part of [begin, end) that is in the piece; base: where the row's first word is. */
static void part_look(struct finder *finder, uint64_t begin, uint64_t end, uint64_t base,
		      uint32_t row, uint64_t *read_bytes)
{
	const uint32_t word_bytes = finder->graph->pointer_bytes;
	uint64_t unread;

	begin = u64_max(begin, finder->piece_begin);
	end = u64_min(end, finder->piece_end);
	if (begin >= end)
		return;
	unread = unread_in(finder, begin, end);
	finder->pointers->unread_bytes += unread;
	*read_bytes += end - begin - unread;
	begin = align_up(begin, word_bytes);
	end -= end % word_bytes;
	if (begin < end)
		words_look(finder, finder->piece + (begin - finder->piece_begin),
			   (end - begin) / word_bytes, (begin - base) / word_bytes, row);
}

/* Blocks. */

static void block_look(struct finder *finder, uint32_t block)
{
	const uint64_t begin = finder->graph->blocks[block].address;
	const uint64_t size_bytes = block_index_size(finder->index, block);
	const uint64_t seen_bytes = u64_min(size_bytes, SHAPE_BYTES);
	const uint64_t base = align_up(begin, finder->graph->pointer_bytes);

	if (begin >= finder->piece_begin && !unread_in(finder, begin, begin + seen_bytes))
		shapes_see(&finder->shapes, block, finder->piece + (begin - finder->piece_begin),
			   size_bytes);
	finder->pointers->row_offsets[block] = (uint8_t)(base - begin);
	part_look(finder, begin, begin + size_bytes, base, block, &finder->pointers->block_bytes);
}

/* One past the last block that fits whole into a piece that begins there with this block. */
static uint32_t piece_blocks(const struct finder *finder, uint64_t begin, uint32_t block)
{
	uint64_t end = block_index_end(finder->index, block);

	for (block++; block < finder->index->block_count; block++) {
		const uint64_t address = finder->graph->blocks[block].address;
		const uint64_t block_end = block_index_end(finder->index, block);

		if (address - end > SKIP_BYTES || block_end - begin > PIECE_BYTES)
			break;
		end = block_end;
	}
	return block;
}

static void blocks_look(struct finder *finder)
{
	uint32_t block = 0;

	while (block < finder->index->block_count) {
		const uint64_t address = finder->graph->blocks[block].address;
		const uint64_t end = block_index_end(finder->index, block);
		uint64_t begin = address - address % finder->graph->pointer_bytes;
		uint32_t next;

		for (; end - begin > PIECE_BYTES; begin += PIECE_BYTES) {
			piece_read(finder, begin, begin + PIECE_BYTES);
			block_look(finder, block);
		}
		next = piece_blocks(finder, begin, block);
		piece_read(finder, begin, block_index_end(finder->index, next - 1));
		for (; block < next; block++)
			block_look(finder, block);
	}
	batch_flush(finder);
}

/* Roots. */

/* The piece without the blocks that are in the root; from block on. */
static void root_piece_look(struct finder *finder, uint64_t begin, uint64_t end, size_t *block,
			    uint64_t base, uint32_t row)
{
	const struct block_index *index = finder->index;
	uint64_t at = u64_max(begin, finder->piece_begin);

	while (*block < index->block_count && index->blocks[*block].address < finder->piece_end) {
		const uint64_t block_end = block_index_end(index, *block);

		if (block_end > end)
			break;
		part_look(finder, at, index->blocks[*block].address, base, row,
			  &finder->pointers->root_bytes);
		at = u64_max(at, block_end);
		if (block_end > finder->piece_end)
			break;
		++*block;
	}
	part_look(finder, at, end, base, row, &finder->pointers->root_bytes);
}

static void root_look(struct finder *finder, const struct graph_root *root, uint64_t begin,
		      uint64_t base, uint32_t row)
{
	const uint32_t word_bytes = finder->graph->pointer_bytes;
	size_t block = block_index_before(finder->index, begin);

	if (root->bytes) {
		words_look(finder, root->bytes, (root->end - root->begin) / word_bytes,
			   root->begin / word_bytes, row);
		finder->pointers->root_bytes += root->end - root->begin;
		return;
	}
	for (uint64_t at = begin; at < root->end;) {
		const uint64_t aligned = at - at % word_bytes;

		piece_read(finder, aligned, aligned + u64_min(root->end - aligned, PIECE_BYTES));
		root_piece_look(finder, begin, root->end, &block, base, row);
		at = finder->piece_end;
		/* The rest of a block of the root need not be read. */
		if (block < finder->index->block_count &&
		    finder->index->blocks[block].address < at &&
		    block_index_end(finder->index, block) <= root->end)
			at = u64_max(at, block_index_end(finder->index, block));
	}
}

/* By holder, then address. */
static int root_compare(const void *context, const void *a, const void *b)
{
	const struct graph_root *const *left = a, *const *right = b;

	(void)context;
	return (*left)->holder != (*right)->holder
		       ? sort_compare_u64((*left)->holder, (*right)->holder)
		       : sort_compare_u64((*left)->begin, (*right)->begin);
}

/* Offsets count from the lowest root of the holder, of registers from 0. */
static void roots_look(struct finder *finder, const struct graph_root *const *roots)
{
	const struct graph *graph = finder->graph;
	uint64_t base = 0, end = 0;

	for (size_t i = 0; i < graph->root_count; i++) {
		const struct graph_root *root = roots[i];
		const uint32_t row = (uint32_t)(graph->block_count + root->holder);

		assert(root->begin <= root->end);
		assert(root->holder < graph->holder_count);
		if (i == 0 || roots[i - 1]->holder != root->holder) {
			base = root->bytes ? 0 : align_up(root->begin, graph->pointer_bytes);
			end = 0;
			finder->pointers->row_offsets[row] =
				(uint8_t)(root->bytes ? 0 : base - root->begin);
		}
		finder->starts_only = root->starts_only;
		root_look(finder, root, u64_max(root->begin, end), base, row);
		batch_flush(finder);
		end = u64_max(end, root->end);
	}
}

static struct err *roots_order_and_look(struct finder *finder)
{
	const struct graph *graph = finder->graph;
	CLEAN(free) const struct graph_root **roots = calloc(graph->root_count + 1, sizeof(*roots));

	if (!roots)
		return err_nomem();
	for (size_t i = 0; i < graph->root_count; i++)
		roots[i] = &graph->roots[i];
	if (!sort_stable(roots, graph->root_count, sizeof(*roots), root_compare, NULL))
		return err_nomem();
	roots_look(finder, roots);
	return NULL;
}

static bool rows_create(struct pointers *pointers, const struct graph *graph)
{
	pointers->pointer_bytes = graph->pointer_bytes;
	pointers->block_count = (uint32_t)graph->block_count;
	pointers->row_count = (uint32_t)(graph->block_count + graph->holder_count);
	pointers->row_begins =
		big_calloc((size_t)pointers->row_count + 1, sizeof(*pointers->row_begins));
	pointers->row_offsets = calloc((size_t)pointers->row_count + 1, 1);
	return pointers->row_begins && pointers->row_offsets;
}

struct err *pointers_init(struct pointers *pointers_ret, const struct graph *graph,
			  const struct block_index *index)
{
	CLEAN(pointers_deinit) struct pointers pointers = { 0 };
	CLEAN(finder_deinit)
	struct finder finder = { .graph = graph, .index = index, .pointers = &pointers };
	struct err *err;

	finder.piece = malloc(PIECE_BYTES);
	if (!finder.piece || !shapes_init(&finder.shapes, graph) || !rows_create(&pointers, graph))
		return err_nomem();
	blocks_look(&finder);
	err = roots_order_and_look(&finder);
	if (err)
		return err;
	row_reach(&finder, pointers.row_count);
	if (finder.failed)
		return err_nomem();
	err = shapes_settle(&finder.shapes, index, &pointers);
	if (err)
		return err;
	*pointers_ret = pointers;
	pointers = (struct pointers) { 0 };
	return NULL;
}
