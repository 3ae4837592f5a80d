/*
 * paths: the stacks of sums as a tree of *frames* - a function at a line of a file - in which those
 * that look the same are one: for formats that number frames and stacks, and may have none twice.
 *
 *	CLEAN(paths_deinit) struct paths paths = { .context = context };
 *	err = paths_build(&paths, &context->sums);
 *
 * What context->mode folds away is left out. Node 0 is the root, and a node's parent has a lower
 * number. Memory for the frames and stacks that are different; deep stacks share their outer part.
 * Internal to export.
 */
#ifndef MEMTAPE_EXPORT_PATHS_H
#define MEMTAPE_EXPORT_PATHS_H

#include "base/map.h"
#include "export/export.h"

struct path_frame {
	uint32_t name;
	uint32_t line;	  /* 0: not known */
	const char *file; /* NULL: not known */
	uint64_t pc;	  /* an address of it, the first that was met; 0: none */
};

struct path_node {
	uint32_t parent;
	uint32_t frame;
	uint32_t depth;		      /* root 0 */
	uint32_t stack_count;	      /* that end here */
	struct model_stack_sums self; /* of those */
};

VEC_DEFINE(path_frames, struct path_frame);
VEC_DEFINE(path_nodes, struct path_node);

struct paths {
	const struct export_context *context; /* set by the caller, as what follows */
	bool is_inverted;		      /* the innermost frame is the root's child */
	uint32_t depth_max;		      /* of inverted ones, in frames; 0: unlimited */
	struct path_frames frames;
	struct path_nodes nodes;
	struct interner files;
	struct map places;  /* file and line: a small number */
	struct map numbers; /* name and place: the frame */
	struct map edges;   /* parent and frame: the node */
	uint32_t *known;    /* by stack: its node + 1; NULL: inverted */
	struct vec_u32 path;
	bool failed; /* out of memory; sticks */
};

/* A place for every stack that has something of the sums, and what it has. */
struct err *paths_build(struct paths *paths, const struct sums *sums);

/* The stack's node, made if it is not there. Asked of an empty paths, or after paths_build. */
uint32_t paths_node(struct paths *paths, uint32_t stack);

void paths_deinit(struct paths *paths);
CLEAN_DEFINE_DEINIT(paths_deinit, struct paths);

/* "main", and where it is: what is to be shown of the frame. */
const struct name *paths_name(const struct paths *paths, uint32_t frame);

/* Numbers of the frames from the root to the node, the root's child first; in paths->path. */
const struct vec_u32 *paths_frames(struct paths *paths, uint32_t node);

#endif
