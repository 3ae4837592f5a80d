/*
 * space_waste: fragmentation: resident heap memory without live blocks at a moment, and which
 * blocks keep it, page by page.
 *
 * The heap is brk memory and all mappings in which blocks were seen. A heap page is full of live
 * (usable) bytes, wholly free, or *partial*: some blocks keep it, and its free rest is *wasted*.
 * Wasted bytes are charged in equal parts to the blocks on the page. The only block on a page
 * *pins* it: without that block the page would be free.
 */
#ifndef MEMTAPE_SPACE_SPACE_WASTE_H
#define MEMTAPE_SPACE_SPACE_WASTE_H

#include "base/arena.h"
#include "space/space.h"
#include "sums/sums.h"

enum { SPACE_FILLS = 10 };

/* A contiguous range of one kind of heap mapping. */
struct space_region {
	uint64_t begin;
	uint64_t end;
	uint64_t resident;
	uint64_t live;	       /* usable bytes */
	uint64_t free_pages;   /* resident, without live bytes */
	uint64_t largest_free; /* bytes of the longest run of pages without live bytes */
	uint64_t tail_free;    /* bytes of resident pages after the last live block */
	uint64_t block_count;  /* live blocks that begin in it */
	uint32_t mapping;
	enum mapping_kind kind;
};

/* What an allocator uses a region for. */
enum space_use {
	SPACE_MAIN_HEAP,    /* brk memory */
	SPACE_THREAD_ARENA, /* of glibc: begins at a multiple of 64 MiB */
	SPACE_MAPPED_ARENA, /* any other mapping that blocks share */
	SPACE_SINGLE_BLOCK, /* mapped for one large block; or such mappings beside each other */
};

extern const char *const space_use_words[]; /* by use, NULL at the end */

/* By where it begins and what lives in it: where nothing does, it may have been a single block. */
enum space_use space_region_use(const struct space_region *region);

VEC_DEFINE(space_region_vec, struct space_region);

struct space_class {
	uint64_t count;
	uint64_t bytes;
	uint64_t slack; /* usable minus requested bytes */
};

struct space_waste {
	uint64_t ns;
	uint64_t before_ns; /* live blocks: allocated before it and not freed before it */
	size_t snapshot;    /* source of mappings and residency; SIZE_MAX: none, see below */
	struct space_live live;
	uint64_t resident;	/* of the heap */
	uint64_t live_resident; /* usable bytes of live blocks in resident pages */
	uint64_t full_pages;
	uint64_t free_pages;		 /* resident */
	uint64_t tail_pages;		 /* of them, after the last live block of their region */
	uint64_t partial_pages;		 /* resident */
	uint64_t wasted;		 /* free bytes of partial pages */
	uint64_t pinned_pages;		 /* partial, kept by one block each */
	uint64_t pinned_bytes;		 /* part of wasted */
	uint64_t partial_blocks;	 /* live blocks partly on a partial page */
	uint64_t fills[SPACE_FILLS + 1]; /* resident pages by live bytes, tenths; the last: full */
	/* Live blocks by requested size, as in model_size_buckets. */
	struct space_class classes[MODEL_SIZE_BUCKETS];
	bool is_exact;			 /* residency of all pages is known */
	struct space_region_vec regions; /* ascending */
	struct vec_u64 pinned;		 /* addresses of pinned pages, unordered */
	/*
	 * By stack, in the common form of sums: allocated = live blocks; peak = blocks partly on a
	 * partial page, and the wasted bytes charged to them; leaked = pages they pin, and the
	 * bytes wasted there; temporary = live blocks, and their usable minus requested bytes.
	 */
	struct sums sums;
};

/*
 * Uses the snapshot nearest to ns, so that blocks, mappings and residency are of one moment.
 * Without snapshots, ns itself: then the heap is the pages with live blocks, all assumed resident.
 * Moves space there; it may be read afterwards. Sums live in the arena. Needs MODEL_FULL and a
 * space that is not beyond that time.
 */
struct err *space_waste_find(const struct model *model, struct space *space, uint64_t ns,
			     struct arena *arena, struct space_waste *waste_ret);
void space_waste_deinit(struct space_waste *waste);
CLEAN_DEFINE_DEINIT(space_waste_deinit, struct space_waste);

#endif
