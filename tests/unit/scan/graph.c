#include "../test.h"

#include "heap.h"

enum {
	NONE = TAPE_SCAN_UNKNOWN,
	R = TAPE_SCAN_REACHABLE,
	P = TAPE_SCAN_POSSIBLE,
	I = TAPE_SCAN_INDIRECT,
	D = TAPE_SCAN_DEFINITE
};

static void scan(struct heap *heap, struct scan_image *image)
{
	*image = (struct scan_image) { 0 };
	assert_null(graph_scan(&heap->graph, image));
	assert_int_equal(image->block_count, heap->graph.block_count);
	assert_int_equal(image->holder_count, heap->graph.holder_count);
}

/*
 * Small programs in words. Blocks a, b, ... of 32 bytes, 64 apart, in this order; root words. "a"
 * is a pointer to its beginning, "A" one 16 bytes into it.
 */
struct story {
	const char *what;
	const char *roots;
	const char *pointers[5]; /* of each block */
	uint8_t classes[5];
};

static const struct story stories[] = {
	{ "nothing points to it", "", { "" }, { D } },
	{ "a root points to it", "a", { "" }, { R } },
	{ "a root points into it", "A", { "" }, { P } },
	{ "both kinds of pointers", "Aa", { "" }, { R } },
	{ "a chain", "a", { "b", "c", "" }, { R, R, R } },
	{ "a chain with an interior pointer", "a", { "B", "c", "" }, { R, P, P } },
	{ "possible first, reachable later", "Ac", { "b", "", "a" }, { R, R, R } },
	{ "interior in one chain, none in the other", "ab", { "C", "d", "", "c" }, { R, R, R, R } },
	{ "a lost tree", "", { "bc", "", "" }, { D, I, I } },
	{ "a lost tree by interior pointers", "", { "BC", "", "" }, { D, I, I } },
	{ "a lost tree, its top behind", "", { "", "", "ab" }, { I, I, D } },
	{ "a leader is demoted with its group", "", { "b", "", "a" }, { I, I, D } },
	{ "a lost circle", "", { "b", "c", "a" }, { D, I, I } },
	{ "a lost block that points to itself", "", { "a" }, { D } },
	{ "a lost block that points into itself", "", { "A" }, { D } },
	{ "a possible block that points to itself", "A", { "a" }, { P } },
	{ "two leaders of one block", "", { "c", "c", "" }, { D, D, I } },
	{ "lost memory points to what is alive", "b", { "b", "" }, { D, R } },
	{ "a circle with a tail before it", "", { "b", "c", "b" }, { D, I, I } },
	{ "a circle found before its tail", "", { "b", "a", "a" }, { I, I, D } },
	{ "a leader behind a group that leads back", "", { "b", "a", "b" }, { D, I, D } },
	{ "an interior chain", "A", { "B", "C", "" }, { P, P, P } },
};

static uint64_t story_block(char letter)
{
	return HEAP_BEGIN + (uint64_t)((letter | 32) - 'a') * 64 + (letter < 'a' ? 16 : 0);
}

static void story_run(const struct story *story, struct scan_image *image)
{
	struct heap heap;

	heap_init(&heap);
	heap_root(&heap, 0x1000, 4);
	for (size_t i = 0; story->roots[i]; i++)
		heap_store(&heap, HEAP_BEGIN + 0x1000 + i * 8, story_block(story->roots[i]));
	for (size_t b = 0; b < 5 && story->classes[b]; b++) {
		heap_block(&heap, b * 64, 32);
		for (size_t i = 0; story->pointers[b][i]; i++)
			heap_store(&heap, HEAP_BEGIN + b * 64 + i * 8,
				   story_block(story->pointers[b][i]));
	}
	scan(&heap, image);
}

static void blocks_are_classified(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(stories); i++) {
		CLEAN(scan_image_deinit) struct scan_image image = { 0 };

		story_run(&stories[i], &image);
		for (size_t b = 0; b < image.block_count; b++)
			if (image.blocks[b].class != stories[i].classes[b])
				fail_msg("%s: block %zu is %d", stories[i].what, b,
					 image.blocks[b].class);
	}
}

static void only_aligned_words_inside_count(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	uint64_t a, b, root;

	(void)state;
	heap_init(&heap);
	a = heap_block(&heap, 0, 20); /* two words and a half */
	b = heap_block(&heap, 64, 8);
	heap_block(&heap, 128, 8);
	root = heap_root(&heap, 0x1000, 1);
	heap_store(&heap, root, a);
	heap_store(&heap, a + 16, b);
	memcpy(heap.bytes + 4, &(uint64_t) { HEAP_BEGIN + 128 }, 8); /* not aligned */
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].class, R);
	assert_int_equal(image.blocks[1].class, D);
	assert_int_equal(image.blocks[2].class, D);
}

static void a_block_without_bytes_has_one(void **state)
{
	for (uint64_t past = 0; past < 2; past++) {
		struct heap heap;
		CLEAN(scan_image_deinit) struct scan_image image = { 0 };
		uint64_t a;

		(void)state;
		heap_init(&heap);
		a = heap_block(&heap, 32, 0);
		heap_store(&heap, heap_root(&heap, 0x1000, 1), a + past);
		scan(&heap, &image);
		assert_int_equal(image.blocks[0].class, past ? D : R);
	}
}

static void an_end_is_not_inside_and_a_last_byte_is(void **state)
{
	static const struct {
		uint64_t offset;
		uint8_t first, second;
	} rows[] = { { 0, R, D },  { 1, P, D },	 { 15, P, D },
		     { 16, D, R }, { 17, D, P }, { 32, D, D } };

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) { /* adjacent blocks */
		struct heap heap;
		CLEAN(scan_image_deinit) struct scan_image image = { 0 };

		heap_init(&heap);
		heap_block(&heap, 32, 16);
		heap_block(&heap, 48, 16);
		heap_store(&heap, heap_root(&heap, 0x1000, 1), HEAP_BEGIN + 32 + rows[i].offset);
		scan(&heap, &image);
		assert_int_equal(image.blocks[0].class, rows[i].first);
		assert_int_equal(image.blocks[1].class, rows[i].second);
	}
}

/* One block of these words, a root that points into it. */
static const struct {
	const char *what;
	uint64_t size_bytes, inside;
	uint64_t words[4];
	uint8_t heuristic;
	uint32_t pointer_bytes;
} shapes[] = {
	{ "a string", 25 + 7, 24, { 3, 7 }, TAPE_SCAN_STDSTRING, 8 },
	{ "a full string", 25 + 7, 24, { 7, 7 }, TAPE_SCAN_STDSTRING, 8 },
	{ "longer than its capacity", 25 + 7, 24, { 8, 7 }, 0, 8 },
	{ "a block too large for its capacity", 25 + 8, 24, { 3, 7 }, 0, 8 },
	{ "not to its characters", 25 + 7, 25, { 3, 7 }, 0, 8 },
	{ "an empty string", 25, 24, { 0, 0 }, TAPE_SCAN_STDSTRING, 8 },
	{ "a length", 40, 8, { 32 }, TAPE_SCAN_LENGTH64, 8 },
	{ "an array", 32, 8, { 3 }, TAPE_SCAN_NEWARRAY, 8 },
	{ "an array that does not divide", 32, 8, { 5 }, 0, 8 },
	{ "an array of nothing", 32, 8, { 0 }, 0, 8 },
	{ "not behind the number", 32, 16, { 3 }, 0, 8 },
	{ "a second base class",
	  32,
	  16,
	  { HEAP_VTABLES, 0, HEAP_VTABLES + 64 },
	  TAPE_SCAN_INHERITANCE,
	  8 },
	{ "a second base class behind one word",
	  32,
	  8,
	  { HEAP_VTABLES, HEAP_VTABLES },
	  TAPE_SCAN_INHERITANCE,
	  8 },
	{ "no vtable there", 32, 16, { HEAP_VTABLES, 0, HEAP_VTABLES_END }, 0, 8 },
	{ "no vtable first", 32, 16, { 0, 0, HEAP_VTABLES }, 0, 8 },
	{ "not aligned", 32, 17, { HEAP_VTABLES, 0, HEAP_VTABLES }, 0, 8 },
	{ "half a word at the end", 20, 16, { HEAP_VTABLES, 0, HEAP_VTABLES }, 0, 8 },
	{ "a string of short words", 13 + 7, 12, { 3 | 7ull << 32 }, TAPE_SCAN_STDSTRING, 4 },
	{ "a length before short words", 40, 8, { 32 }, TAPE_SCAN_LENGTH64, 4 },
	{ "an array of short words", 32, 4, { 7 }, TAPE_SCAN_NEWARRAY, 4 },
};

static void shape_scan(size_t i, uint32_t heuristics, struct scan_image *image)
{
	struct heap heap;

	heap_init(&heap);
	heap.graph.pointer_bytes = shapes[i].pointer_bytes;
	heap.graph.heuristics = heuristics;
	memcpy(heap.bytes + 64, shapes[i].words, sizeof(shapes[i].words));
	heap_store(&heap, heap_root(&heap, 0x1000, 1),
		   heap_block(&heap, 64, shapes[i].size_bytes) + shapes[i].inside);
	scan(&heap, image);
}

static void a_heuristic_makes_an_interior_pointer_count(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(shapes); i++) {
		CLEAN(scan_image_deinit) struct scan_image with = { 0 }, without = { 0 };

		shape_scan(i, TAPE_SCAN_HEURISTICS, &with);
		shape_scan(i, TAPE_SCAN_HEURISTICS & ~(uint32_t)shapes[i].heuristic, &without);
		if (with.blocks[0].heuristic != shapes[i].heuristic)
			fail_msg("%s: %d", shapes[i].what, with.blocks[0].heuristic);
		assert_int_equal(with.blocks[0].class, shapes[i].heuristic ? R : P);
		assert_true(with.blocks[0].is_interior);
		/* a length is an array of one, too, or of as many */
		if (shapes[i].heuristic != TAPE_SCAN_LENGTH64 || shapes[i].pointer_bytes == 4)
			assert_int_equal(without.blocks[0].class, P);
	}
}

/* A table of as many things as its own number, and they begin with a vtable. */
static void a_number_of_elements_is_taken_for_one_first(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	uint64_t a;

	(void)state;
	heap_init(&heap);
	a = heap_block(&heap, 0, HEAP_VTABLES + 8);
	heap_store(&heap, a, HEAP_VTABLES);
	heap_store(&heap, a + 8, HEAP_VTABLES);
	heap_store(&heap, heap_root(&heap, 0x3000, 1), a + 8);
	heap.graph.heuristics &= ~(uint32_t)TAPE_SCAN_LENGTH64;
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].heuristic, TAPE_SCAN_NEWARRAY);
}

static void a_parent_says_where_its_pointer_is(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	uint64_t a, b, c, root;

	(void)state;
	heap_init(&heap);
	root = heap_root(&heap, 0x1000, 4);
	heap.registers[2] = c = HEAP_BEGIN + 128;
	heap.roots[heap.graph.root_count++] = (struct graph_root) {
		.end = sizeof(heap.registers),
		.holder = (uint32_t)heap.graph.holder_count++,
		.bytes = (const uint8_t *)heap.registers,
	};
	a = heap_block(&heap, 4, 40); /* its first word is 4 bytes in it */
	b = heap_block(&heap, 64, 40);
	heap_block(&heap, 128, 40);
	heap_store(&heap, root + 24, a);
	heap_store(&heap, a + 4 + 16, b + 9);
	(void)c;
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].parent, 3);
	assert_int_equal(image.blocks[0].offset, 24);
	assert_int_equal(image.blocks[1].parent, 0);
	assert_int_equal(image.blocks[1].offset, 20);
	assert_true(image.blocks[1].is_interior);
	assert_int_equal(image.blocks[2].parent, 4);
	assert_int_equal(image.blocks[2].offset, 16);
	assert_false(image.blocks[2].is_interior);
	assert_int_equal(image.holders[0].retained_bytes, 80);
	assert_int_equal(image.holders[1].retained_bytes, 40);
	assert_int_equal(image.facts.root_bytes, 64);
	assert_int_equal(image.facts.block_bytes, 120);
}

static void interior_pointers_may_mean_nothing(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	uint64_t root;

	(void)state;
	heap_init(&heap);
	root = heap_root(&heap, 0x1000, 2);
	heap.roots[0].starts_only = true;
	heap_store(&heap, root, heap_block(&heap, 0, 16) + 8);
	heap_store(&heap, root + 8, heap_block(&heap, 16, 16));
	heap_store(&heap, heap_root(&heap, 0x2000, 1), heap_block(&heap, 32, 16) + 8);
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].class, D);
	assert_int_equal(image.blocks[1].class, R);
	assert_int_equal(image.blocks[2].class, P);
}

/* A pool in a global array: what is in its blocks does not count unless they are reached. */
static void blocks_inside_a_root_are_not_of_it(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	uint64_t root;

	(void)state;
	heap_init(&heap);
	heap_store(&heap, heap_block(&heap, 0x1010, 32) + 8, HEAP_BEGIN + 0x3000);
	heap_block(&heap, 0x1030, 32);
	heap_block(&heap, 0x3000, 16);
	root = heap_root(&heap, 0x1000, 16);
	heap_store(&heap, root + 0x50, HEAP_BEGIN + 0x1030); /* behind both */
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].class, D);
	assert_int_equal(image.blocks[1].class, R);
	assert_int_equal(image.blocks[1].offset, 0x50);
	assert_int_equal(image.blocks[2].class, I);
	assert_int_equal(image.facts.root_bytes, 64);
}

/* A stack in memory from malloc. */
static void a_root_inside_a_block_is_one(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };

	(void)state;
	heap_init(&heap);
	heap_block(&heap, 0x1000, 0x1000);
	heap_store(&heap, heap_root(&heap, 0x1800, 16) + 8, heap_block(&heap, 0x3000, 16));
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].class, D);
	assert_int_equal(image.blocks[1].class, R);
	assert_int_equal(image.facts.root_bytes, 128);
}

/* A block that begins in a root and ends behind it is not in it. */
static void a_root_that_ends_inside_a_block_is_one(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };

	(void)state;
	heap_init(&heap);
	heap_block(&heap, 0x1800, 0x1000);
	heap_store(&heap, heap_root(&heap, 0x17f0, 16) + 32, heap_block(&heap, 0x3000, 16));
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].class, D);
	assert_int_equal(image.blocks[1].class, R);
	assert_int_equal(image.blocks[1].offset, 32);
}

static void roots_of_one_holder_may_overlap(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	uint64_t root;

	(void)state;
	heap_init(&heap);
	heap_root(&heap, 0x1008, 15); /* the lower one is second */
	root = heap_root(&heap, 0x1000, 2);
	heap.roots[1].holder = 0;
	heap.graph.holder_count = 1;
	heap_store(&heap, root, heap_block(&heap, 0, 16));
	heap_store(&heap, root + 8, heap_block(&heap, 16, 16));
	heap_store(&heap, root + 0x78, heap_block(&heap, 32, 16));
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].offset, 0);
	assert_int_equal(image.blocks[1].offset, 8);
	assert_int_equal(image.blocks[2].offset, 0x78);
	assert_int_equal(image.facts.root_bytes, 128);
}

static void what_cannot_be_read_is_counted(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	uint64_t a;

	(void)state;
	heap_init(&heap);
	heap.unreadable_begin = HEAP_BEGIN + 0x1004;
	heap.unreadable_end = HEAP_BEGIN + 0x2000;
	a = heap_block(&heap, 0xff0, 0x1020);
	heap_store(&heap, a + 8, heap_block(&heap, 0x3000, 16));      /* before */
	heap_store(&heap, a + 0x10, heap_block(&heap, 0x3010, 16));   /* half of it */
	heap_store(&heap, a + 0x100, heap_block(&heap, 0x3020, 16));  /* in */
	heap_store(&heap, a + 0x1010, heap_block(&heap, 0x3030, 16)); /* after */
	heap_store(&heap, heap_root(&heap, 0x3800, 1), a);
	scan(&heap, &image);
	assert_int_equal(image.blocks[1].class, R);
	assert_int_equal(image.blocks[2].class, D);
	assert_int_equal(image.blocks[3].class, D);
	assert_int_equal(image.blocks[4].class, R);
	assert_int_equal(image.facts.unread_bytes, 0x1000);
	assert_int_equal(image.facts.block_bytes, 0x20 + 4 * 16);
}

static void overlapping_blocks_end_where_the_next_begins(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	CLEAN(scan_image_deinit) struct scan_image back = { 0 };
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };

	(void)state;
	heap_init(&heap);
	heap_block(&heap, 0, UINT64_MAX);
	heap_block(&heap, 32, 16);
	heap_store(&heap, heap_root(&heap, 0x1000, 1), HEAP_BEGIN + 40);
	scan(&heap, &image);
	assert_int_equal(image.blocks[0].class, D);
	assert_int_equal(image.blocks[0].size_bytes, 32);
	assert_int_equal(image.blocks[1].class, P);
	image.holders[0].kind = TAPE_SCAN_GLOBAL;
	assert_true(scan_image_write(&image, &bytes));
	assert_null(scan_image_read(bytes.items, bytes.count, &back));
}

static void blocks_out_of_order_are_an_error(void **state)
{
	struct heap heap;
	struct scan_image image = { 0 };
	struct err *err;

	(void)state;
	heap_init(&heap);
	heap_block(&heap, 32, 16);
	heap_block(&heap, 32, 16);
	err = graph_scan(&heap.graph, &image);
	assert_non_null(err);
	assert_null(image.blocks);
	err_destroy(err);
}

static void no_blocks_are_no_error(void **state)
{
	struct heap heap;
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };

	(void)state;
	heap_init(&heap);
	heap_root(&heap, 0, 16);
	scan(&heap, &image);
	assert_int_equal(image.block_count, 0);
	assert_int_equal(image.facts.root_bytes, 128);
}

/* Blocks larger than a piece, far apart, with nothing at all between them: made when read. */
enum { FAR_COUNT = 4 };
#define FAR_BLOCK UINT64_C(0x123456789000)
#define FAR_STEP  (UINT64_C(1) << 40)
#define FAR_BYTES ((UINT64_C(3) << 20) + 8)

/* The last word of each is a pointer to the middle of the next; and the word before to its end. */
static size_t far_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const uint64_t block = (address - FAR_BLOCK) / FAR_STEP;
	const uint64_t last = FAR_BLOCK + block * FAR_STEP + FAR_BYTES - 8;
	const uint64_t values[2] = { FAR_BLOCK + (block + 1) * FAR_STEP + FAR_BYTES,
				     FAR_BLOCK + (block + 1) * FAR_STEP + (2 << 20) };
	size_t *read_bytes = context;

	assert_true(address + bytes <= last + 8);
	*read_bytes += bytes;
	memset(buffer, 0, bytes);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t at = last - 8 + i * 8;

		if (at >= address && at + 8 <= address + bytes)
			memcpy((uint8_t *)buffer + (at - address), &values[i], 8);
	}
	return bytes;
}

static void large_blocks_far_apart_are_found(void **state)
{
	struct graph_block blocks[FAR_COUNT];
	const uint64_t root_word = FAR_BLOCK;
	const struct graph_root root = { 0, 8, 0, false, (const uint8_t *)&root_word };
	size_t read_bytes = 0;
	const struct graph graph = { blocks, FAR_COUNT, &root, 1,
				     1,	     0,		8,     { far_read, NULL, &read_bytes } };
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };

	(void)state;
	for (size_t i = 0; i < FAR_COUNT; i++)
		blocks[i] = (struct graph_block) { FAR_BLOCK + i * FAR_STEP, FAR_BYTES };
	assert_null(graph_scan(&graph, &image));
	assert_int_equal(read_bytes, FAR_COUNT * FAR_BYTES);
	for (size_t i = 0; i < FAR_COUNT; i++) {
		assert_int_equal(image.blocks[i].class, i ? P : R);
		assert_int_equal(image.blocks[i].retained_bytes, (FAR_COUNT - i) * FAR_BYTES);
		assert_int_equal(image.blocks[i].offset, i ? FAR_BYTES - 8 : 0);
	}
	assert_int_equal(image.facts.block_bytes, FAR_COUNT * FAR_BYTES);
}

static size_t zeros_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	(void)context, (void)address;
	memset(buffer, 0, bytes);
	return bytes;
}

/* More than 2^30 words from the row's first. */
static void registers_with_large_numbers_keep_their_place(void **state)
{
	const struct graph_block block = { FAR_BLOCK, 8 };
	const uint64_t words[2] = { 0, FAR_BLOCK };
	const uint64_t begin = UINT64_C(0x5000000000);
	const struct graph_root root = { begin, begin + 16, 0, false, (const uint8_t *)words };
	const struct graph graph = { &block, 1, &root, 1, 1, 0, 8, { zeros_read, NULL, NULL } };
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };

	(void)state;
	assert_null(graph_scan(&graph, &image));
	assert_int_equal(image.blocks[0].class, R);
	assert_int_equal(image.blocks[0].offset, begin + 8);
}

/* The test's own memory. */
static size_t own_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	(void)context;
	memcpy(buffer, (const void *)(uintptr_t)address, bytes);
	return bytes;
}

/* A list of n items that all point to their head: what takes the square elsewhere. */
static void a_long_list_with_pointers_to_its_head_takes_no_time(void **state)
{
	enum { COUNT = 300000, ITEM_BYTES = 32 };
	CLEAN(free) struct graph_block *blocks = calloc(COUNT, sizeof(*blocks));
	CLEAN(free) uint64_t *memory = calloc(COUNT, ITEM_BYTES);
	const uint64_t head = (uint64_t)(uintptr_t)memory;
	const struct graph_root root = { 0, 8, 0, false, (const uint8_t *)&head };
	struct graph graph = { blocks, COUNT, &root, 1, 1, 0, 8, { 0 } };
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };

	(void)state;
	graph.memory.read = own_read;
	for (size_t i = 0; i < COUNT; i++) {
		blocks[i] = (struct graph_block) { head + i * ITEM_BYTES, ITEM_BYTES };
		memory[i * 4] = i + 1 < COUNT ? head + (i + 1) * ITEM_BYTES : 0;
		memory[i * 4 + 1] = head;
		memory[i * 4 + 2] = i ? head + (i - 1) * ITEM_BYTES : 0;
	}
	assert_null(graph_scan(&graph, &image));
	assert_int_equal(image.blocks[0].retained_bytes, COUNT * (uint64_t)ITEM_BYTES);
	assert_int_equal(image.blocks[COUNT - 1].dominator, COUNT - 2);
	assert_int_equal(image.blocks[COUNT - 1].parent, COUNT - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_classified),
		cmocka_unit_test(only_aligned_words_inside_count),
		cmocka_unit_test(a_block_without_bytes_has_one),
		cmocka_unit_test(an_end_is_not_inside_and_a_last_byte_is),
		cmocka_unit_test(a_heuristic_makes_an_interior_pointer_count),
		cmocka_unit_test(a_number_of_elements_is_taken_for_one_first),
		cmocka_unit_test(a_parent_says_where_its_pointer_is),
		cmocka_unit_test(interior_pointers_may_mean_nothing),
		cmocka_unit_test(blocks_inside_a_root_are_not_of_it),
		cmocka_unit_test(a_root_inside_a_block_is_one),
		cmocka_unit_test(a_root_that_ends_inside_a_block_is_one),
		cmocka_unit_test(roots_of_one_holder_may_overlap),
		cmocka_unit_test(what_cannot_be_read_is_counted),
		cmocka_unit_test(overlapping_blocks_end_where_the_next_begins),
		cmocka_unit_test(blocks_out_of_order_are_an_error),
		cmocka_unit_test(no_blocks_are_no_error),
		cmocka_unit_test(large_blocks_far_apart_are_found),
		cmocka_unit_test(registers_with_large_numbers_keep_their_place),
		cmocka_unit_test(a_long_list_with_pointers_to_its_head_takes_no_time),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
