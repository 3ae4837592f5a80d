/*
 * sums_rows: the sums of a moment or of a span of time, of all allocations or of a selection.
 */
#ifndef MEMTAPE_SELECT_SUMS_ROWS_H
#define MEMTAPE_SELECT_SUMS_ROWS_H

#include "select/selection.h"
#include "sums/sums.h"

/*
 * A moment (needs MODEL_FULL): peak and leaked are what was alive then - allocated at ns or before,
 * freed later or never -, allocated what had been until then, temporary those of that which were
 * freed by then. Of a selection of the allocations, or of all (NULL). Lives in the arena.
 */
struct err *sums_at(const struct model *model, const struct selection *selection, uint64_t ns,
		    struct arena *arena, struct sums *sums_ret);

/* The same into stacks, zeroed, which are model_stack_count(). */
struct err *sums_into_at(const struct model *model, const struct selection *selection, uint64_t ns,
			 struct model_stack_sums *stacks);

/*
 * A span of time (needs MODEL_FULL): allocated is what was allocated from from_ns until until_ns,
 * both included, temporary those of them that were, leaked those of them that were alive at its
 * end; peak is empty.
 */
struct err *sums_between(const struct model *model, const struct selection *selection,
			 uint64_t from_ns, uint64_t until_ns, struct arena *arena,
			 struct sums *sums_ret);

#endif
