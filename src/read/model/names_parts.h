/*
 * names_parts: what a names object consists of. Internal to model.
 */
#ifndef MEMTAPE_MODEL_NAMES_PARTS_H
#define MEMTAPE_MODEL_NAMES_PARTS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/jit_names.h"
#include "model/names.h"

VEC_DEFINE(name_vec, const struct name *); /* in the arena: callers keep them */

/* One code address: shared by all stacks that have it, if it is in a module. */
struct place {
	const struct name_frames *frames; /* NULL: out of memory so far */
	uint64_t pc;			  /* of the call: the return address minus one */
	uint32_t stack;			  /* one of them */
	uint32_t module;		  /* CAPTURE_MODULE_NONE: outside of all */
};

VEC_DEFINE(place_vec, struct place);

struct names {
	const struct model *model;
	size_t module_count; /* of it */
	struct symbolizer *symbolizer;
	const struct path_map *paths; /* of sources too; NULL: none */
	enum symbol_spelling spelling;
	const struct role_rules *roles;	 /* NULL: none */
	const struct pack *embedded_jit; /* NULL: none */
	struct jit_names *jit;		 /* opened when first needed */
	uint32_t *objects;	  /* by module: the symbolizer's number; UINT32_MAX: none yet */
	bool *is_shown;		  /* by module: frames of it were requested */
	struct place_vec places;  /* the first stands for out of memory */
	struct vec_u32 places_of; /* by stack: its place */
	struct vec_u8 has_mine;	  /* by stack: whether a frame of it, or further out, is MINE */
	struct map *places_by_pc; /* by module: pc -> place */
	struct map ids;		  /* full function and module -> name */
	struct map shown;	  /* function as shown and module -> name */
	bool is_view;		  /* of other names: owns only is_shown */
	struct map files;	  /* pointer to a recorded source path -> its path here */
	struct map variables;	  /* address -> struct name_variable * */
	bool is_settled;
	struct name_vec all;
	struct arena arena;
};

/* Where a source file is here; one text per path, keyed by the path's own address. */
const char *names_file_here(struct names *names, const char *file);

/*
 * The function of a frame. What compilers make to initialise a file's variables has names that say
 * nothing, or the same one in every file: it is called after the file.
 */
const char *names_function(struct names *names, const struct symbol_frame *frame);

/* Finds glue in frames of one address, and in the frame that calls those of this stack. */
void names_glue_find(struct names *names, struct name_frame *frames, size_t count);
void names_glue_find_caller(struct names *names, uint32_t stack);

/* has_mine of the stacks that have places. False: out of memory; it is that of fewer then. */
bool names_mine_find(struct names *names);

/* Looks all variables of the model's scans up. */
void names_settle_variables(struct names *names);

#endif
