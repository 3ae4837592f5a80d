/*
 * massif_file: the text of massif.out files, snapshot by snapshot, which Valgrind writes for
 * massif and for execution trees (xtree). Internal to convert. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_MASSIF_FILE_H
#define MEMTAPE_CONVERT_MASSIF_FILE_H

#include "base/str.h"
#include "base/vec.h"
#include "convert/compose.h"
#include "convert/source.h"

enum massif_unit { MASSIF_INSTRUCTIONS, MASSIF_MILLISECONDS, MASSIF_BYTES };

/* What a stack has at a snapshot. */
struct massif_share {
	uint32_t stack;
	uint64_t bytes;
};

VEC_DEFINE(massif_share_vec, struct massif_share);

struct massif_snapshot {
	uint64_t number;
	uint64_t time;
	uint64_t heap_bytes;
	uint64_t extra_bytes; /* the allocator's own */
	uint64_t stacks_bytes;
	bool has_tree;
};

struct massif_place; /* a line of a tree on the way to the one that is read */
VEC_DEFINE(massif_place_vec, struct massif_place *);

struct massif_file {
	struct source *source;
	struct composer *composer;
	struct str description;
	enum massif_unit unit;
	uint64_t depth_max; /* of stacks: they were cut there */
	bool is_pages;	    /* sizes are of mappings, not of blocks */
	/* the tree of the last snapshot, if it has one: a row for each of its leaves */
	struct massif_share_vec shares;
	struct massif_place_vec path;
};

void massif_file_deinit(struct massif_file *file);
CLEAN_DEFINE_DEINIT(massif_file_deinit, struct massif_file);

/* Reads the head of the file. source and composer outlive file. ERR_FORMAT: it is none. */
struct err *massif_file_begin(struct massif_file *file, struct source *source,
			      struct composer *composer);

/*
 * The next snapshot. False: there is none, or not all of it; composer has a note then of what is
 * wrong, if anything is. *err_ret is set when memory is out.
 */
bool massif_file_next(struct massif_file *file, struct massif_snapshot *snapshot_ret,
		      struct err **err_ret);

/* What the first line of the last tree says of it; "" without one. Until the next snapshot. */
const char *massif_file_kind(const struct massif_file *file);

/* Shares of equal stacks become one, in the order of stacks. */
void massif_shares_sort(struct massif_share_vec *shares);

#endif
