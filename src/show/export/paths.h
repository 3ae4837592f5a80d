/*
 * paths: the stacks of sums as a tree of *frames* - a function at a line of a file - in which those
 * that look the same are merged: for formats that number frames and stacks, which must be distinct.
 *
 *	CLEAN(paths_deinit) struct paths paths = { .context = context };
 *	err = paths_build(&paths, &context->sums);
 *
 * Frames hidden by context->mode are left out. Node 0 is the root, and a node's parent has a lower
 * number. Memory for distinct frames and stacks; deep stacks share their outer part. Internal to
 * export.
 */
#ifndef MEMTAPE_EXPORT_PATHS_H
#define MEMTAPE_EXPORT_PATHS_H

#include "base/map.h"
#include "export/export.h"

struct path_frame {
	uint32_t name;
	uint32_t line;	  /* 0: unknown */
	const char *file; /* NULL: unknown */
	uint64_t pc;	  /* the first address of it that was seen; 0: none */
};

struct path_node {
	uint32_t parent;
	uint32_t frame;
	uint32_t depth;		      /* root 0 */
	uint32_t stack_count;	      /* stacks that end here */
	struct model_stack_sums self; /* of these */
};

VEC_DEFINE(path_frames, struct path_frame);
VEC_DEFINE(path_nodes, struct path_node);

struct paths {
	const struct export_context *context; /* set by the caller, like the following */
	bool is_inverted;		      /* the innermost frame is the root's child */
	uint32_t depth_max;		      /* of inverted ones, in frames; 0: unlimited */
	struct path_frames frames;
	struct path_nodes nodes;
	struct interner files;
	struct map places;  /* file and line -> a small number */
	struct map numbers; /* name and place -> the frame */
	struct map edges;   /* parent and frame -> the node */
	uint32_t *known;    /* by stack: its node + 1; NULL: inverted */
	struct vec_u32 path;
	bool failed; /* out of memory; sticks */
};

/* Adds a node for every stack with a value in sums, and its values. */
struct err *paths_build(struct paths *paths, const struct sums *sums);

/* The stack's node, created if missing. Call it on an empty paths, or after paths_build. */
uint32_t paths_node(struct paths *paths, uint32_t stack);

void paths_deinit(struct paths *paths);
CLEAN_DEFINE_DEINIT(paths_deinit, struct paths);

/* The function name and location to show for the frame. */
const struct name *paths_name(const struct paths *paths, uint32_t frame);

/* The frames from the root to the node, the root's child first; in paths->path. */
const struct vec_u32 *paths_frames(struct paths *paths, uint32_t node);

#endif
