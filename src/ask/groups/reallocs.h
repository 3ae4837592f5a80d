/*
 * reallocs: blocks that grew (or shrank) by realloc, from the first size to the last.
 */
#ifndef MEMTAPE_GROUPS_REALLOCS_H
#define MEMTAPE_GROUPS_REALLOCS_H

#include "base/arena.h"
#include "base/err.h"
#include "select/passes.h"

/* A block and what realloc made of it. A step is one realloc. */
struct realloc_chain {
	uint64_t first_row;
	uint64_t last_row;
	uint64_t steps;
	uint64_t grown;	       /* steps that made it larger */
	uint64_t moved;	       /* steps that gave it another address */
	uint64_t copied_bytes; /* an estimate: what the moved steps had to keep */
	uint64_t first_bytes;
	uint64_t last_bytes;
	uint64_t max_bytes;
	uint64_t increment_min; /* of the steps that grew; bytes */
	uint64_t increment_max;
	uint32_t stack; /* of the last step */
};

/* By stack of the last step. */
struct realloc_sums {
	uint64_t chains;
	uint64_t steps;
	uint64_t grown;
	uint64_t moved;
	uint64_t copied_bytes;
	uint64_t longest;	       /* steps of one chain */
	uint64_t last_bytes_max;       /* of one chain */
	uint64_t constant_chains;      /* realloc_chain_is_constant, and copied as much as
					* they are large, or more */
	struct realloc_chain heaviest; /* most copied, then most steps */
};

enum realloc_order { REALLOC_BY_COPIED, REALLOC_BY_LENGTH, REALLOC_BY_SIZE };

/* The words of the order, NULL at the end. */
extern const char *const realloc_order_words[];

struct reallocs {
	struct realloc_sums total;   /* without its heaviest */
	struct realloc_sums *stacks; /* by stack id */
	struct realloc_chain *top;   /* in their order, the first first */
	size_t top_count;
};

/*
 * All chains, or those whose last block is selected; the `top` first of them in full (at most
 * REALLOC_TOP_MAX). Needs MODEL_FULL. Time: all steps. Lives in the arena.
 */
enum { REALLOC_TOP_MAX = 10000 };

struct err *reallocs_find(const struct model *model, const struct selection *selection,
			  enum realloc_order order, size_t top, struct arena *arena,
			  struct reallocs *reallocs_ret);

void realloc_sums_add(struct realloc_sums *to, const struct realloc_sums *from);

/*
 * Whether it grew again and again by about the same number of bytes: then the work of copying grows
 * with the square of the size, where a factor would make it linear.
 */
bool realloc_chain_is_constant(const struct realloc_chain *chain);

/* By how much a step made it larger, on average (geometric mean); 0: that cannot be said. */
double realloc_chain_factor(const struct realloc_chain *chain);

#endif
