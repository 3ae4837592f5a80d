/*
 * space: the address space with the allocator's blocks in it, moving forwards in time: which bytes
 * of which page are live, beside what the kernel says is mapped and resident.
 *
 * Reads the rows and frees of a model (MODEL_FULL) in batches; memory is for the pages of the heap.
 * Not thread-safe; several may walk one model.
 */
#ifndef MEMTAPE_SPACE_SPACE_H
#define MEMTAPE_SPACE_SPACE_H

#include "space/mappings.h"
#include "space/space_pages.h"

struct space;

struct err *space_create(const struct model *model, struct space **space_ret);
void space_destroy(struct space *space); /* NULL is fine */
CLEAN_DEFINE(space_destroy, struct space *);

/* Blocks allocated before ns and not freed before it are live now; forwards only. */
struct err *space_advance_blocks(struct space *space, uint64_t ns);

/* The moment of a snapshot: between question and answer. */
uint64_t space_snapshot_ns(const struct mappings_snapshot *snapshot);

/* Mappings and blocks as they were when this snapshot was taken. */
struct err *space_advance_snapshot(struct space *space, size_t snapshot);

/*
 * Calls that changed mappings up to ns, itself included, and snapshots that are complete by then.
 */
struct err *space_advance_calls(struct space *space, uint64_t ns);

/* Blocks and mappings at a time; residence is that of the last snapshot before it. */
struct err *space_advance(struct space *space, uint64_t ns);

const struct mappings *space_mappings(const struct space *space);
const struct space_pages *space_pages(const struct space *space);

/* A row's usable bytes; requested ones where an allocator that was not ready said nonsense. */
uint64_t space_usable(uint64_t bytes, uint64_t usable);

struct space_live {
	uint64_t count;
	uint64_t bytes; /* requested */
	uint64_t usable;
};

struct space_live space_live(const struct space *space);

/*
 * A part of the address space at the last snapshot. Live bytes are usable bytes. Where the kernel
 * was not asked which pages are resident, as much as possible of the live is taken to be.
 */
struct space_part {
	uint64_t begin;
	uint64_t end;
	uint64_t resident;	/* bytes */
	uint64_t anonymous;	/* of them: private memory, not the file's */
	uint64_t live;		/* in blocks */
	uint64_t live_resident; /* of it: in pages that are resident */
	uint32_t mapping;
	enum mapping_kind kind;
	bool is_exact; /* which pages are resident is known */
};

struct space_parts {
	const struct space *space;
	struct mappings_parts parts;
};

struct space_parts space_parts_begin(const struct space *space);
bool space_parts_next(struct space_parts *parts, struct space_part *part_ret);

#endif
