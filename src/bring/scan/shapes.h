/*
 * shapes: which pointers into the middle of a block count as if they were to its beginning. What
 * the first words of a block look like is noted as it is read; when all blocks are known, pointers
 * to the right places in them are looked at again.
 */
#ifndef MEMTAPE_SCAN_SHAPES_H
#define MEMTAPE_SCAN_SHAPES_H

#include "scan/pointers.h"

enum { SHAPE_BYTES = 24, SHAPE_VTABLES = 256 };

struct shape_inner {
	uint64_t address;
	uint64_t item;
};
VEC_DEFINE(vec_shape_inner, struct shape_inner);

struct shapes {
	const struct graph *graph;
	uint8_t *bits; /* by block: set of enum tape_scan_heuristic that it may be pointed to by */
	struct vec_shape_inner inners; /* pointers to where a second vtable may be */
	/* What is_vtable said: objects of one class follow each other. */
	uint64_t asked[SHAPE_VTABLES];
	bool answers[SHAPE_VTABLES];
};

/* False: out of memory. */
bool shapes_init(struct shapes *shapes, const struct graph *graph);
void shapes_deinit(struct shapes *shapes);
CLEAN_DEFINE_DEINIT(shapes_deinit, struct shapes);

/* The block's first bytes, at least SHAPE_BYTES or all of it. */
void shapes_see(struct shapes *shapes, uint32_t block, const uint8_t *bytes, uint64_t size_bytes);

/* What an interior pointer may turn out to be, by where it points. */
enum pointer_kind shapes_place(const struct shapes *shapes, uint64_t inside);

/* item: the index it will have. False: out of memory. */
bool shapes_note(struct shapes *shapes, uint64_t address, uint64_t item);

/* All blocks were seen: places become kinds. Reads the words of inners again. */
struct err *shapes_settle(struct shapes *shapes, const struct block_index *index,
			  struct pointers *pointers);

#endif
