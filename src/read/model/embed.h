/*
 * embed: the names of all code addresses of a model, as bytes that a tape can carry
 * (symbol/embedded.h).
 */
#ifndef MEMTAPE_MODEL_EMBED_H
#define MEMTAPE_MODEL_EMBED_H

#include "model/names.h"

struct embed_counts {
	size_t module_count;  /* with known names */
	size_t address_count; /* distinct ones in modules */
	size_t named_count;   /* of them: with a name */
	size_t lined_count;   /* of them: with a line of a source */
	size_t jit_count;     /* stacks in code outside of modules that have a name */
};

/* Appends to out, which is empty. */
struct err *embed_names(const struct model *model, struct names *names, struct vec_u8 *out,
			struct embed_counts *counts_ret);

#endif
