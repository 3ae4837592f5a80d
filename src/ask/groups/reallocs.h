/*
 * reallocs: blocks that grew or shrank by realloc, from first size to last.
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
	uint64_t grown;	       /* steps that grew it */
	uint64_t moved;	       /* steps that changed its address */
	uint64_t copied_bytes; /* estimate: the contents kept by moving steps */
	uint64_t first_bytes;
	uint64_t last_bytes;
	uint64_t max_bytes;
	uint64_t increment_min; /* of the steps that grew; bytes */
	uint64_t increment_max;
	uint32_t stack; /* of the last step */
};

/* By the stack of the last step. */
struct realloc_sums {
	uint64_t chains;
	uint64_t steps;
	uint64_t grown;
	uint64_t moved;
	uint64_t copied_bytes;
	uint64_t longest;	       /* steps in one chain */
	uint64_t last_bytes_max;       /* in one chain */
	uint64_t constant_chains;      /* realloc_chain_is_constant, and copied as much as
					* they are large, or more */
	struct realloc_chain heaviest; /* most bytes copied, then most steps */
};

enum realloc_order { REALLOC_BY_COPIED, REALLOC_BY_LENGTH, REALLOC_BY_SIZE };

/* The words of the order, NULL-terminated. */
extern const char *const realloc_order_words[];

struct reallocs {
	struct realloc_sums total;   /* `heaviest` is not set */
	struct realloc_sums *stacks; /* by stack id */
	struct realloc_chain *top;   /* in the requested order, highest first */
	size_t top_count;
};

/*
 * All chains, or those whose last block is selected; details for the `top` first (at most
 * REALLOC_TOP_MAX). Needs MODEL_FULL. Time: linear in all steps. Lives in the arena.
 */
enum { REALLOC_TOP_MAX = 10000 };

struct err *reallocs_find(const struct model *model, const struct selection *selection,
			  enum realloc_order order, size_t top, struct arena *arena,
			  struct reallocs *reallocs_ret);

void realloc_sums_add(struct realloc_sums *to, const struct realloc_sums *from);

/*
 * Whether it grew again and again by about the same number of bytes: then copying costs grow with
 * the square of the size, where a growth factor would make them linear.
 */
bool realloc_chain_is_constant(const struct realloc_chain *chain);

/* Average growth factor per step (geometric mean); 0: unknown. */
double realloc_chain_factor(const struct realloc_chain *chain);

#endif
