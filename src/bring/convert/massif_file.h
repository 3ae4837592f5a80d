/*
 * massif_file: reads massif.out files snapshot by snapshot, which Valgrind writes for massif and
 * for execution trees (xtree). Internal to convert. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_MASSIF_FILE_H
#define MEMTAPE_CONVERT_MASSIF_FILE_H

#include "base/str.h"
#include "base/vec.h"
#include "convert/compose.h"
#include "convert/source.h"

enum massif_unit { MASSIF_INSTRUCTIONS, MASSIF_MILLISECONDS, MASSIF_BYTES };

/* Bytes of a stack at a snapshot. */
struct massif_share {
	uint32_t stack;
	uint64_t bytes;
};

VEC_DEFINE(massif_share_vec, struct massif_share);

struct massif_snapshot {
	uint64_t number;
	uint64_t time;
	uint64_t heap_bytes;
	uint64_t extra_bytes; /* allocator overhead */
	uint64_t stacks_bytes;
	bool has_tree;
};

struct massif_place; /* a line of a tree on the path to the current one */
VEC_DEFINE(massif_place_vec, struct massif_place *);

struct massif_file {
	struct source *source;
	struct composer *composer;
	struct str description;
	enum massif_unit unit;
	uint64_t depth_max; /* of stacks: they were truncated there */
	bool is_pages;	    /* sizes are of mappings, not of blocks */
	/* tree of the last snapshot, if it has one: a row per leaf */
	struct massif_share_vec shares;
	struct massif_place_vec path;
};

void massif_file_deinit(struct massif_file *file);
CLEAN_DEFINE_DEINIT(massif_file_deinit, struct massif_file);

/* Reads the head of the file. source and composer outlive file. ERR_FORMAT: not such a file. */
struct err *massif_file_begin(struct massif_file *file, struct source *source,
			      struct composer *composer);

/*
 * The next snapshot. False: there is none, or it is incomplete; composer then has a note of what is
 * wrong, if anything. *err_ret is set if out of memory.
 */
bool massif_file_next(struct massif_file *file, struct massif_snapshot *snapshot_ret,
		      struct err **err_ret);

/* Description in the first line of the last tree; "" without one. Valid until the next snapshot. */
const char *massif_file_kind(const struct massif_file *file);

/* Merges shares of equal stacks and sorts by stack. */
void massif_shares_sort(struct massif_share_vec *shares);

#endif
