/*
 * space_waste: fragmentation. What of the heap is resident at a moment and holds no live block, and
 * which blocks keep it there, page by page.
 *
 * The heap is what brk gave and every mapping in which blocks were seen. A page of it is full of
 * live bytes (usable ones), wholly free, or *partial*: some blocks keep it, and what they leave
 * free of it is *wasted*. A wasted byte is charged to the blocks on its page in equal parts. A
 * block that has a page for itself *pins* it: with that block gone the page would be free.
 */
#ifndef MEMTAPE_SPACE_SPACE_WASTE_H
#define MEMTAPE_SPACE_SPACE_WASTE_H

#include "base/arena.h"
#include "space/space.h"
#include "sums/sums.h"

enum { SPACE_FILLS = 10 };

/* A stretch of one kind of mapping without holes; of the heap alone. */
struct space_region {
	uint64_t begin;
	uint64_t end;
	uint64_t resident;
	uint64_t live;	       /* usable bytes */
	uint64_t free_pages;   /* resident, without a live byte */
	uint64_t largest_free; /* bytes of the longest run of pages without a live byte */
	uint64_t tail_free;    /* resident bytes of pages after the last live block */
	uint32_t mapping;
	enum mapping_kind kind;
};

VEC_DEFINE(space_region_vec, struct space_region);

struct space_class {
	uint64_t count;
	uint64_t bytes;
	uint64_t slack; /* usable over requested */
};

struct space_waste {
	uint64_t ns;
	uint64_t before_ns; /* blocks allocated before it and not freed before it are live */
	size_t snapshot; /* whose mappings and residence it is; SIZE_MAX: no snapshot, see below */
	struct space_live live;
	uint64_t resident;	/* of the heap */
	uint64_t live_resident; /* usable bytes of live blocks in resident pages */
	uint64_t full_pages;
	uint64_t free_pages;		 /* resident */
	uint64_t tail_pages;		 /* of them, after the last live block of their region */
	uint64_t partial_pages;		 /* resident */
	uint64_t wasted;		 /* free bytes of partial pages */
	uint64_t pinned_pages;		 /* partial, kept by one block each */
	uint64_t pinned_bytes;		 /* of wasted */
	uint64_t partial_blocks;	 /* live blocks with a part in a partial page */
	uint64_t fills[SPACE_FILLS + 1]; /* resident pages by live bytes, tenths; the last: full */
	/* Live blocks by requested size, as in model_size_buckets. */
	struct space_class classes[MODEL_SIZE_BUCKETS];
	bool is_exact;			 /* which pages are resident is known of all */
	struct space_region_vec regions; /* ascending */
	struct vec_u64 pinned;		 /* addresses of the pinned pages, in no order */
	/*
	 * By stack, in the shape other queries take: allocated = live blocks; peak = blocks that
	 * have a part in a partial page, and the wasted bytes charged to them; leaked = pages they
	 * pin, and the bytes wasted there; temporary = live blocks, and their usable bytes over the
	 * requested.
	 */
	struct sums sums;
};

/*
 * At the snapshot nearest to ns, so that blocks, mappings and residence are of one moment. On a
 * tape without snapshots at ns itself: then the heap is the pages that have live blocks, all taken
 * to be resident. space is moved there and may be read afterwards; sums live in the arena. Needs a
 * MODEL_FULL model and a space that is not beyond that time.
 */
struct err *space_waste_find(const struct model *model, struct space *space, uint64_t ns,
			     struct arena *arena, struct space_waste *waste_ret);
void space_waste_deinit(struct space_waste *waste);
CLEAN_DEFINE_DEINIT(space_waste_deinit, struct space_waste);

#endif
