/*
 * bad_frees_rows: what bad_frees needs of single allocations, in one pass over all rows. Internal
 * to findings.
 */
#ifndef MEMTAPE_FINDINGS_BAD_FREES_ROWS_H
#define MEMTAPE_FINDINGS_BAD_FREES_ROWS_H

#include "base/map.h"
#include "model/model.h"
#include "sums/sweep.h"

/* Where a stray free points to; MODEL_NO_ROW: nowhere. */
struct bad_frees_place {
	uint64_t before; /* the last block at exactly this address */
	uint64_t around; /* a block alive then that contains the address */
};

/* Mismatched blocks, by both stacks. */
struct bad_frees_group {
	uint64_t row; /* the first */
	uint64_t count;
	uint64_t bytes;
};

struct bad_frees_rows {
	struct bad_frees_place *places; /* by stray free */
	struct bad_frees_group *groups;
	size_t group_count;
	uint64_t unlisted_count;
};

struct err *bad_frees_rows_find(const struct model *model, const struct sweep_limits *limits,
				struct bad_frees_rows *rows);
void bad_frees_rows_deinit(struct bad_frees_rows *rows);

#endif
