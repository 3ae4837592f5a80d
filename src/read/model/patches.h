/*
 * patches: late updates of rows, kept until rows are sealed; in a file when there are many.
 * Internal to model. Belongs to one thread.
 */
#ifndef MEMTAPE_MODEL_PATCHES_H
#define MEMTAPE_MODEL_PATCHES_H

#include "model/image.h"
#include "model/segment.h"

VEC_DEFINE(patches_vec, struct patch);

/* Some patches of one group that were written to the file together. */
struct patch_run {
	uint64_t offset;
	uint32_t count;
	uint32_t group;
};

VEC_DEFINE(patch_runs, struct patch_run);

/* Rows of a group are processed together. */
enum { PATCH_GROUP_BITS = SEGMENT_BITS + 5, PATCH_GROUPS = 1 << (32 - PATCH_GROUP_BITS) };

struct patches {
	struct patches_vec groups[PATCH_GROUPS]; /* in memory, in order of arrival */
	uint64_t held_count;			 /* in all of them */
	uint64_t held_max;
	struct image file; /* fd -1: none yet */
	struct patch_runs runs;
};

void patches_init(struct patches *patches, uint64_t memory_bytes);
void patches_deinit(struct patches *patches);
struct err *patches_add(struct patches *patches, struct patch patch);

/* Appends all of a group to `out`, in order of arrival, and drops those in memory. */
struct err *patches_take(struct patches *patches, uint32_t group, struct patches_vec *out);

#endif
