/*
 * heap: a program for tests of the scan: memory of a few pages, blocks in it, roots. Addresses are
 * offsets in the memory plus HEAP_BEGIN.
 */
#ifndef MEMTAPE_TESTS_UNIT_SCAN_HEAP_H
#define MEMTAPE_TESTS_UNIT_SCAN_HEAP_H

#include <stdlib.h>
#include <string.h>

#include "scan/graph.h"

enum { HEAP_BEGIN = 0x400000, HEAP_BYTES = 0x4000, HEAP_BLOCKS_MAX = 64, HEAP_ROOTS_MAX = 16 };
/* What is_vtable takes for one. */
enum { HEAP_VTABLES = 0x1000, HEAP_VTABLES_END = 0x2000 };

struct heap {
	uint8_t bytes[HEAP_BYTES];
	struct graph_block blocks[HEAP_BLOCKS_MAX];
	struct graph_root roots[HEAP_ROOTS_MAX];
	uint64_t registers[4];
	struct graph graph;
	uint64_t unreadable_begin, unreadable_end; /* addresses */
	size_t read_bytes;
};

static inline size_t heap_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	struct heap *heap = context;

	if (address < HEAP_BEGIN || address >= HEAP_BEGIN + HEAP_BYTES)
		return 0;
	bytes = u64_min(bytes, HEAP_BEGIN + HEAP_BYTES - address);
	if (address >= heap->unreadable_begin && address < heap->unreadable_end)
		return 0;
	if (address < heap->unreadable_begin)
		bytes = u64_min(bytes, heap->unreadable_begin - address);
	memcpy(buffer, heap->bytes + (address - HEAP_BEGIN), bytes);
	heap->read_bytes += bytes;
	return bytes;
}

static inline bool heap_is_vtable(void *context, uint64_t address)
{
	(void)context;
	return address >= HEAP_VTABLES && address < HEAP_VTABLES_END;
}

static inline void heap_init(struct heap *heap)
{
	*heap = (struct heap) { .unreadable_begin = UINT64_MAX, .unreadable_end = UINT64_MAX };
	heap->graph = (struct graph) {
		.blocks = heap->blocks,
		.roots = heap->roots,
		.heuristics = TAPE_SCAN_HEURISTICS,
		.pointer_bytes = 8,
		.memory = { heap_read, heap_is_vtable, heap },
	};
}

/* A word of memory; with pointers of 4 bytes, two of them. */
static inline void heap_store(struct heap *heap, uint64_t address, uint64_t value)
{
	memcpy(heap->bytes + (address - HEAP_BEGIN), &value, heap->graph.pointer_bytes);
}

static inline uint64_t heap_load(const struct heap *heap, uint64_t address)
{
	uint64_t value = 0;

	memcpy(&value, heap->bytes + (address - HEAP_BEGIN), heap->graph.pointer_bytes);
	return value;
}

static inline uint64_t heap_block(struct heap *heap, uint64_t offset, uint64_t size_bytes)
{
	heap->blocks[heap->graph.block_count++] =
		(struct graph_block) { HEAP_BEGIN + offset, size_bytes };
	return HEAP_BEGIN + offset;
}

/* A root of words; returns its address. Its holder is a new one. */
static inline uint64_t heap_root(struct heap *heap, uint64_t offset, size_t words)
{
	heap->roots[heap->graph.root_count++] = (struct graph_root) {
		.begin = HEAP_BEGIN + offset,
		.end = HEAP_BEGIN + offset + words * heap->graph.pointer_bytes,
		.holder = (uint32_t)heap->graph.holder_count++,
	};
	return HEAP_BEGIN + offset;
}

#endif
