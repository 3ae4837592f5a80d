/*
 * stacks: every call stack of a tape, once. A stack is a node of one tree: "called from pc, below
 * parent". Equal stacks of all threads have one id, and a parent's id is always less than its
 * children's, so that summing over the tree takes one backward pass.
 *
 * Modules are kept here too, because the meaning of a pc depends on what was loaded there at the
 * time: a pc in a module that was unloaded and in another loaded at the same place are two nodes.
 *
 * All zeros is not a valid state: use capture_stacks_init. Read-only functions are thread-safe.
 */
#ifndef MEMTAPE_CAPTURE_STACKS_H
#define MEMTAPE_CAPTURE_STACKS_H

#include "base/arena.h"
#include "base/vec.h"
#include "tape/tape.h"

enum {
	CAPTURE_STACK_ROOT = TAPE_NODE_ROOT,	       /* empty; its descendants are complete */
	CAPTURE_STACK_TRUNCATED = TAPE_NODE_TRUNCATED, /* outer frames are unknown */
	CAPTURE_STACK_NONE = TAPE_NODE_NONE,	       /* no stack was recorded */
	CAPTURE_STACK_FIRST = TAPE_NODE_FIRST,	       /* first id with a pc */
	CAPTURE_MODULE_NONE = 0x7fffffff
};

struct capture_stack {
	uint64_t pc; /* a return address, unless exact */
	uint32_t parent;
	uint32_t module : 31; /* index, or CAPTURE_MODULE_NONE: outside of every known module */
	uint32_t exact : 1;   /* pc is the interrupted instruction itself: a signal frame */
};

/* A loaded object. Addresses in the file are pc - bias. Texts live as long as the stacks. */
struct capture_module {
	uint32_t id;	  /* as on the tape */
	const char *path; /* "" where the loader has no name for it */
	const char *file; /* what path, a link by which it was run, then led to; "": path itself */
	const uint8_t *build_id;
	size_t build_id_bytes;
	uint64_t bias;
	uint64_t begin;
	uint64_t end;
	uint64_t load_ticks;
	uint64_t unload_ticks; /* UINT64_MAX: loaded until the end */
};

/* When code outside of every module known at the time was first seen: it may become other code. */
struct capture_sighting {
	uint64_t ticks;
	uint64_t stack;
};

VEC_DEFINE(capture_stack_vec, struct capture_stack);
VEC_DEFINE(capture_sighting_vec, struct capture_sighting);
VEC_DEFINE(capture_module_vec, struct capture_module);

struct capture_stacks {
	struct capture_stack_vec nodes;	   /* by stack id; the first three are the special ones */
	struct capture_module_vec modules; /* by index, in the order of loading */
	struct capture_sighting_vec sightings; /* sorted by stack */
	uint64_t now_ticks;		       /* set before interning */
	/* private from here */
	struct arena arena;
	uint64_t *slots; /* upper half of the hash, id; 0: empty */
	size_t slot_count;
	size_t slotted_count;	   /* used ones */
	struct vec_u32 live;	   /* indices of loaded modules, sorted by begin */
	struct vec_u32 unresolved; /* nodes outside of every module so far */
	struct vec_u32 ended;	   /* indices of unloaded modules, oldest first */
	struct vec_u32 epochs; /* by node: modules ended around its pc before it; 0 past its end */
};

bool capture_stacks_init(struct capture_stacks *stacks); /* false: out of memory */
void capture_stacks_deinit(struct capture_stacks *stacks);
CLEAN_DEFINE_DEINIT(capture_stacks_deinit, struct capture_stacks);

/* Id of the stack "pc below parent"; parent is an id given before. UINT32_MAX: out of memory. */
uint32_t capture_stacks_intern(struct capture_stacks *stacks, uint32_t parent, uint64_t pc,
			       bool exact);

/* Announces a module, from now on; frames seen in it a moment earlier become its own as well. */
bool capture_stacks_load(struct capture_stacks *stacks, const struct tape_module *module,
			 const uint8_t *build_id, const char *path, size_t path_len,
			 uint64_t ticks);
void capture_stacks_unload(struct capture_stacks *stacks, uint32_t module_id, uint64_t ticks);

#endif
