/*
 * space: the address space with the allocator's blocks, moving forwards in time: live bytes of each
 * page, and what the kernel shows as mapped and resident.
 *
 * Reads rows and frees of a model (MODEL_FULL) in batches; needs memory for the heap's pages. Not
 * thread-safe; several may walk one model.
 */
#ifndef MEMTAPE_SPACE_SPACE_H
#define MEMTAPE_SPACE_SPACE_H

#include "base/vec.h"
#include "space/mappings.h"
#include "space/space_pages.h"

struct space;

struct err *space_create(const struct model *model, struct space **space_ret);
void space_destroy(struct space *space); /* NULL is fine */
CLEAN_DEFINE(space_destroy, struct space *);

/* Live blocks: allocated before ns and not freed before it; forwards only. */
struct err *space_advance_blocks(struct space *space, uint64_t ns);

/* The time of a snapshot: midway between request and answer. */
uint64_t space_snapshot_ns(const struct mappings_snapshot *snapshot);

/* Mappings and blocks as they were when this snapshot was taken. */
struct err *space_advance_snapshot(struct space *space, size_t snapshot);

/* A mapping that had blocks for the first time when this snapshot was taken. */
struct space_mark {
	uint32_t snapshot;
	uint32_t mapping;
};

VEC_DEFINE(space_mark_vec, struct space_mark);

/*
 * The marks of a space that was at every snapshot, for another space of the same model: it can then
 * pass snapshots without a look at the blocks, of which there are many in between. The marks must
 * outlive the other space.
 */
struct space_mark_vec space_take_marks(struct space *space);
void space_follow_marks(struct space *space, const struct space_mark_vec *marks);

/*
 * The same as space_advance_snapshot(), but the blocks may stay as they were: for snapshots on the
 * way to a later one, or for mappings alone.
 */
struct err *space_pass_snapshot(struct space *space, size_t snapshot);

/*
 * Applies mapping calls up to and including ns, and snapshots complete by then.
 */
struct err *space_advance_calls(struct space *space, uint64_t ns);

/* Blocks and mappings at a time; resident pages are from the last snapshot before it. */
struct err *space_advance(struct space *space, uint64_t ns);

const struct mappings *space_mappings(const struct space *space);
const struct space_pages *space_pages(const struct space *space);

/* A row's usable bytes; requested bytes if an uninitialized allocator returned nonsense. */
uint64_t space_usable(uint64_t bytes, uint64_t usable);

struct space_live {
	uint64_t count;
	uint64_t bytes; /* requested */
	uint64_t usable;
};

struct space_live space_live(const struct space *space);

/*
 * A part of the address space at the last snapshot. Live bytes are usable bytes. If the kernel did
 * not list resident pages, as many live bytes as possible count as resident.
 */
struct space_part {
	uint64_t begin;
	uint64_t end;
	uint64_t resident;	/* bytes */
	uint64_t anonymous;	/* private memory, not file pages; part of it */
	uint64_t live;		/* usable bytes of blocks */
	uint64_t live_resident; /* part of it in resident pages */
	uint32_t mapping;
	enum mapping_kind kind;
	bool is_exact; /* resident pages are known */
};

struct space_parts {
	const struct space *space;
	struct mappings_parts parts;
};

struct space_parts space_parts_begin(const struct space *space);
bool space_parts_next(struct space_parts *parts, struct space_part *part_ret);

#endif
