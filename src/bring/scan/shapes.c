#include "scan/shapes.h"

#include <assert.h>

#include "base/sort.h"
#include "core/hash.h"

enum { PAGE_BYTES = 4096 };

bool shapes_init(struct shapes *shapes, const struct graph *graph)
{
	*shapes = (struct shapes) { .graph = graph };
	shapes->bits = calloc(graph->block_count + 1, 1);
	return shapes->bits != NULL;
}

void shapes_deinit(struct shapes *shapes)
{
	free(shapes->bits);
	vec_shape_inner_deinit(&shapes->inners);
}

static uint64_t load_word(const struct shapes *shapes, const uint8_t *bytes)
{
	return shapes->graph->pointer_bytes == 8 ? load_u64(bytes) : load_u32(bytes);
}

/* The first page has no vtable; small numbers are asked for all the time. */
static bool is_vtable(struct shapes *shapes, uint64_t address)
{
	const struct graph_memory *memory = &shapes->graph->memory;
	const size_t at = hash_mix(address) % SHAPE_VTABLES;

	if (address < PAGE_BYTES || address % shapes->graph->pointer_bytes != 0)
		return false;
	if (shapes->asked[at] != address) {
		shapes->asked[at] = address;
		shapes->answers[at] = memory->is_vtable(memory->context, address);
	}
	return shapes->answers[at];
}

/* Length, capacity, reference count, as many characters as the capacity says, NUL. */
static bool is_string(const struct shapes *shapes, const uint8_t *bytes, uint64_t size_bytes)
{
	const uint32_t word_bytes = shapes->graph->pointer_bytes;
	uint64_t length, capacity;

	if (size_bytes < 3 * word_bytes + 1)
		return false;
	length = load_word(shapes, bytes);
	capacity = load_word(shapes, bytes + word_bytes);
	return length <= capacity && capacity == size_bytes - 3 * word_bytes - 1;
}

static bool is_array(const struct shapes *shapes, const uint8_t *bytes, uint64_t size_bytes)
{
	const uint32_t word_bytes = shapes->graph->pointer_bytes;
	uint64_t count;

	if (size_bytes <= word_bytes)
		return false;
	count = load_word(shapes, bytes);
	return count > 0 && (size_bytes - word_bytes) % count == 0;
}

void shapes_see(struct shapes *shapes, uint32_t block, const uint8_t *bytes, uint64_t size_bytes)
{
	const uint32_t wanted = shapes->graph->heuristics;
	unsigned bits = 0;

	assert(block < shapes->graph->block_count);
	if (wanted & TAPE_SCAN_STDSTRING && is_string(shapes, bytes, size_bytes))
		bits |= TAPE_SCAN_STDSTRING;
	if (wanted & TAPE_SCAN_LENGTH64 && size_bytes > 8 && load_u64(bytes) == size_bytes - 8)
		bits |= TAPE_SCAN_LENGTH64;
	if (wanted & TAPE_SCAN_NEWARRAY && is_array(shapes, bytes, size_bytes))
		bits |= TAPE_SCAN_NEWARRAY;
	if (wanted & TAPE_SCAN_INHERITANCE && shapes->graph->memory.is_vtable &&
	    size_bytes >= 2 * shapes->graph->pointer_bytes &&
	    is_vtable(shapes, load_word(shapes, bytes)))
		bits |= TAPE_SCAN_INHERITANCE;
	shapes->bits[block] = (uint8_t)bits;
}

/* With 8 bytes a word the second word is the place of two heuristics; see settle_place. */
enum pointer_kind shapes_place(const struct shapes *shapes, uint64_t inside)
{
	if (inside == 3 * shapes->graph->pointer_bytes)
		return POINTER_STDSTRING;
	if (inside == 8)
		return POINTER_LENGTH64;
	if (inside == shapes->graph->pointer_bytes)
		return POINTER_NEWARRAY;
	return POINTER_INTERIOR;
}

bool shapes_note(struct shapes *shapes, uint64_t address, uint64_t item)
{
	const struct shape_inner inner = { address, item };

	if (!(shapes->graph->heuristics & TAPE_SCAN_INHERITANCE) ||
	    !shapes->graph->memory.is_vtable || address % shapes->graph->pointer_bytes != 0)
		return true;
	return vec_shape_inner_push(&shapes->inners, inner);
}

static enum pointer_kind settle_place(const struct shapes *shapes, enum pointer_kind place,
				      unsigned bits)
{
	if (place == POINTER_STDSTRING && bits & TAPE_SCAN_STDSTRING)
		return POINTER_STDSTRING;
	if (place == POINTER_LENGTH64 && bits & TAPE_SCAN_LENGTH64)
		return POINTER_LENGTH64;
	if (place == POINTER_NEWARRAY ||
	    (place == POINTER_LENGTH64 && shapes->graph->pointer_bytes == 8))
		return bits & TAPE_SCAN_NEWARRAY ? POINTER_NEWARRAY : POINTER_INTERIOR;
	return POINTER_INTERIOR;
}

static void kind_set(uint64_t *item, enum pointer_kind kind)
{
	*item &= ~((uint64_t)7 << POINTER_BLOCK_BITS);
	*item |= (uint64_t)kind << POINTER_BLOCK_BITS;
}

static void settle_places(const struct shapes *shapes, struct pointers *pointers)
{
	for (size_t i = 0; i < pointers->item_count; i++) {
		uint64_t *item = &pointers->items[i];
		const enum pointer_kind place = pointer_kind(*item);

		if (place > POINTER_INTERIOR)
			kind_set(item,
				 settle_place(shapes, place, shapes->bits[pointer_block(*item)]));
	}
}

/* Only those stay that nothing else explains, into blocks that begin with a vtable. */
static void drop_inners(struct shapes *shapes, const struct pointers *pointers)
{
	struct vec_shape_inner *inners = &shapes->inners;
	size_t kept = 0;

	for (size_t i = 0; i < inners->count; i++) {
		const uint64_t item = pointers->items[inners->items[i].item];

		if (pointer_kind(item) == POINTER_INTERIOR &&
		    shapes->bits[pointer_block(item)] & TAPE_SCAN_INHERITANCE)
			inners->items[kept++] = inners->items[i];
	}
	inners->count = kept;
}

static int inner_compare(const void *context, const void *a, const void *b)
{
	const struct shape_inner *left = a, *right = b;

	(void)context;
	return sort_compare_u64(left->address, right->address);
}

/* A page of memory, for words that are read in order of address. */
struct page {
	uint64_t begin;
	size_t bytes; /* read */
	uint8_t content[PAGE_BYTES];
};

/* Whether the word there is a vtable, too. */
static bool inner_is_vtable(struct shapes *shapes, uint64_t address, struct page *page)
{
	const struct graph_memory *memory = &shapes->graph->memory;
	const size_t word_bytes = shapes->graph->pointer_bytes;
	const uint64_t begin = address & -(uint64_t)PAGE_BYTES;
	uint8_t word[8];

	if (begin != page->begin) {
		page->begin = begin;
		page->bytes = memory->read(memory->context, begin, page->content, PAGE_BYTES);
	}
	if (address - begin + word_bytes <= page->bytes)
		return is_vtable(shapes, load_word(shapes, page->content + (address - begin)));
	return memory->read(memory->context, address, word, word_bytes) == word_bytes &&
	       is_vtable(shapes, load_word(shapes, word));
}

struct err *shapes_settle(struct shapes *shapes, const struct block_index *index,
			  struct pointers *pointers)
{
	struct page page = { .begin = UINT64_MAX };

	settle_places(shapes, pointers);
	drop_inners(shapes, pointers);
	if (!sort_stable(shapes->inners.items, shapes->inners.count, sizeof(struct shape_inner),
			 inner_compare, NULL))
		return err_nomem();
	for (size_t i = 0; i < shapes->inners.count; i++) {
		const uint64_t address = shapes->inners.items[i].address;
		uint64_t *item = &pointers->items[shapes->inners.items[i].item];

		if (block_index_end(index, pointer_block(*item)) - address >=
			    shapes->graph->pointer_bytes &&
		    inner_is_vtable(shapes, address, &page))
			kind_set(item, POINTER_INHERITANCE);
	}
	return NULL;
}
