/*
 * sums_rows: the sums of a moment or of a span of time, of all allocations or of a selection.
 */
#ifndef MEMTAPE_SELECT_SUMS_ROWS_H
#define MEMTAPE_SELECT_SUMS_ROWS_H

#include "select/selection.h"
#include "sums/sums.h"

/*
 * For a moment (needs MODEL_FULL): peak and leaked are what was alive then (allocated at ns or
 * before, freed later or never), allocated is everything up to then, temporary is the part freed by
 * then. For a selection, or for all allocations (NULL). Lives in the arena.
 */
struct err *sums_at(const struct model *model, const struct selection *selection, uint64_t ns,
		    struct arena *arena, struct sums *sums_ret);

/* The same into stacks, zeroed, model_stack_count() items. */
struct err *sums_into_at(const struct model *model, const struct selection *selection, uint64_t ns,
			 struct model_stack_sums *stacks);

/*
 * For a span of time (needs MODEL_FULL): allocated is what was allocated from from_ns until
 * until_ns, both inclusive; temporary is its temporary part; leaked is its part alive at the end of
 * the span; peak is empty.
 */
struct err *sums_between(const struct model *model, const struct selection *selection,
			 uint64_t from_ns, uint64_t until_ns, struct arena *arena,
			 struct sums *sums_ret);

#endif
