/*
 * rewrite_state: a tape being rewritten, stream by stream, and its stacks. Internal to capture:
 * rewrite.c copies records, rewrite_nodes.c defines the stacks that they name.
 */
#ifndef MEMTAPE_CAPTURE_REWRITE_STATE_H
#define MEMTAPE_CAPTURE_REWRITE_STATE_H

#include "capture/chunk.h"
#include "capture/rewrite.h"

struct old_node {
	uint64_t pc;	 /* exact in its highest bit */
	uint32_t parent; /* less than its own number; UINT32_MAX: nothing is known of this node */
	uint32_t now;	 /* its number on the new tape; 0: none yet */
};

VEC_DEFINE(old_node_vec, struct old_node);

struct rewrite {
	const struct capture *capture;
	const struct rewriter *rewriter;
	struct chunk_loader loader;
	struct packed_file *file;
	struct decoded *decoded;
	struct rewrite_record record;
	uint64_t damage_count;
	uint64_t event_count;
	/* State of the stream being written */
	size_t index;
	struct packed_stream out;
	struct old_node_vec nodes; /* by number, see node_find() */
	uint32_t node_base;	   /* nodes before it and TAPE_NODE_FIRST are forgotten */
	uint32_t same_from;	   /* nodes from here on keep their numbers; UINT32_MAX: none */
	uint32_t same_next;	   /* all of them before it are defined; 0: none yet */
	uint64_t last_ticks;	   /* of the records read */
	struct vec_u32 path;	   /* nodes to be defined, innermost first */
	uint32_t next_seq;
	uint32_t next_defined; /* with keeps_stacks: all before it are defined */
	uint64_t ordinal;
	bool was_dropped;   /* the event before */
	bool is_gap_marked; /* since the last allocation that was kept */
};

/* One past the highest number of a node. */
static inline uint32_t rewrite_nodes_end(const struct rewrite *rewrite)
{
	return rewrite->node_base + (uint32_t)rewrite->nodes.count;
}

/* The nodes of the chunk that was decoded last. Bad ones count as damage. */
struct err *rewrite_nodes_admit(struct rewrite *rewrite);

/* With keeps_stacks: all nodes before `end` are defined, in their order. */
struct err *rewrite_nodes_define(struct rewrite *rewrite, uint32_t end);

/* All nodes before `end` that keep their numbers are defined, with a record to follow. */
struct err *rewrite_nodes_define_same(struct rewrite *rewrite, uint32_t end, size_t record_bytes);

/* The number on the new tape, defined there if needed, with a record of record_bytes to follow. */
struct err *rewrite_node(struct rewrite *rewrite, uint32_t *number, size_t record_bytes);

#endif
