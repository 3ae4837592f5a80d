#include "capture/rewrite_state.h"

#include <assert.h>

#include "capture/columns.h"

enum { NODE_GAP_MAX = 1 << 24 };

static const uint32_t NODE_UNKNOWN = UINT32_MAX; /* as a parent: lost with another chunk */
static const uint64_t PC_EXACT = UINT64_C(1) << 63;

/* A node, or a root; NULL: nothing is known of it. */
static struct old_node *node_find(const struct rewrite *rewrite, uint32_t number)
{
	struct old_node *node = &rewrite->nodes.items[number];

	if (number >= TAPE_NODE_FIRST) {
		if (number < rewrite->node_base + TAPE_NODE_FIRST ||
		    number >= rewrite_nodes_end(rewrite))
			return NULL;
		node -= rewrite->node_base;
	}
	return node->parent == NODE_UNKNOWN ? NULL : node;
}

/* Numbers lost with missing chunks are unknown; bad ones are damage: nodes_admit in play.c. */
static bool nodes_are_admissible(const struct rewrite *rewrite)
{
	const struct tape_chunk *image = rewrite->decoded->image;
	const uint64_t chunk_nodes =
		capture_header(rewrite->capture)->chunk_bytes / sizeof(struct tape_node);
	const uint64_t missing = rewrite->decoded->seq - rewrite->next_seq;
	const uint32_t known = rewrite_nodes_end(rewrite);

	return image->first_node >= known &&
	       image->first_node - known <= u64_min((missing + 1) * chunk_nodes, NODE_GAP_MAX);
}

/* Nodes before `oldest` are named no more: nodes_forget in play.c. */
static void nodes_forget(struct rewrite *rewrite, uint32_t oldest)
{
	const uint32_t end = (uint32_t)u64_max(rewrite_nodes_end(rewrite), oldest);
	size_t kept;

	if (oldest < TAPE_NODE_FIRST || oldest - TAPE_NODE_FIRST <= rewrite->node_base)
		return;
	kept = oldest < rewrite_nodes_end(rewrite) ? rewrite_nodes_end(rewrite) - oldest : 0;
	memmove(rewrite->nodes.items + TAPE_NODE_FIRST,
		rewrite->nodes.items + rewrite->nodes.count - kept,
		kept * sizeof(*rewrite->nodes.items));
	rewrite->nodes.count = TAPE_NODE_FIRST + kept;
	rewrite->node_base = oldest - TAPE_NODE_FIRST;
	rewrite->next_defined = (uint32_t)u64_max(rewrite->next_defined, oldest);
	assert(rewrite_nodes_end(rewrite) == end);
}

static bool node_push(struct rewrite *rewrite, const struct tape_node *node)
{
	const bool is_sound =
		node->parent != TAPE_NODE_NONE &&
		(node->parent < TAPE_NODE_FIRST || node_find(rewrite, node->parent) != NULL);

	return old_node_vec_push(
		&rewrite->nodes,
		(struct old_node) {
			.pc = tape_node_pc(node) | (node->pc_high & TAPE_NODE_EXACT ? PC_EXACT : 0),
			.parent = is_sound ? node->parent : (uint32_t)TAPE_NODE_TRUNCATED });
}

struct err *rewrite_nodes_admit(struct rewrite *rewrite)
{
	const struct tape_chunk *image = rewrite->decoded->image;
	const uint32_t chunk_bytes = capture_header(rewrite->capture)->chunk_bytes;

	if (image->flags & TAPE_CHUNK_JUMP)
		nodes_forget(rewrite, image->oldest_node);
	if (image->node_count == 0)
		return NULL;
	if (!nodes_are_admissible(rewrite)) {
		rewrite->damage_count++;
		return NULL;
	}
	while (rewrite_nodes_end(rewrite) < image->first_node)
		if (!old_node_vec_push(&rewrite->nodes,
				       (struct old_node) { .parent = NODE_UNKNOWN }))
			return err_nomem();
	for (uint32_t i = 0; i < image->node_count; i++) {
		struct tape_node node;

		memcpy(&node, chunk_node(image, chunk_bytes, i), sizeof(node));
		if (!node_push(rewrite, &node))
			return err_nomem();
	}
	return NULL;
}

/* The number of a parent that is defined on the new tape. */
static uint32_t parent_now(const struct rewrite *rewrite, uint32_t parent)
{
	const struct old_node *node = node_find(rewrite, parent);

	if (parent < TAPE_NODE_FIRST)
		return parent;
	return node && node->now ? node->now : (uint32_t)TAPE_NODE_TRUNCATED;
}

static struct err *node_define(struct rewrite *rewrite, uint32_t number)
{
	struct old_node *node = node_find(rewrite, number);
	const struct rewriter *rewriter = rewrite->rewriter;
	const uint64_t pc = node->pc & ~PC_EXACT;

	return packed_stream_node(&rewrite->out, parent_now(rewrite, node->parent),
				  rewriter->pc ? rewriter->pc(rewriter->context, pc) : pc,
				  node->pc & PC_EXACT, &node->now);
}

struct err *rewrite_nodes_define(struct rewrite *rewrite, uint32_t end)
{
	struct err *err = NULL;

	for (; rewrite->next_defined < end && !err; rewrite->next_defined++)
		if (node_find(rewrite, rewrite->next_defined))
			err = node_define(rewrite, rewrite->next_defined);
	return err;
}

struct err *rewrite_nodes_define_same(struct rewrite *rewrite, uint32_t end, size_t record_bytes)
{
	struct err *err = NULL;

	if (rewrite->same_next == 0) {
		rewrite->same_next = rewrite->same_from;
		err = packed_stream_jump(&rewrite->out, rewrite->same_from);
	}
	if (!err)
		err = packed_stream_reserve(&rewrite->out, end - rewrite->same_next, record_bytes);
	for (; rewrite->same_next < end && !err; rewrite->same_next++) {
		if (!node_find(rewrite, rewrite->same_next))
			return err_new(ERR_FORMAT, "stacks are missing");
		err = node_define(rewrite, rewrite->same_next);
		assert(err || node_find(rewrite, rewrite->same_next)->now == rewrite->same_next);
	}
	return err;
}

struct err *rewrite_node(struct rewrite *rewrite, uint32_t *number, size_t record_bytes)
{
	const uint32_t wanted = *number;
	const struct old_node *node;
	struct err *err = NULL;

	if (wanted < TAPE_NODE_FIRST)
		return NULL;
	if (!node_find(rewrite, wanted)) {
		*number = TAPE_NODE_NONE;
		return NULL;
	}
	if (wanted >= rewrite->same_from)
		return wanted < rewrite->same_next
			       ? NULL
			       : rewrite_nodes_define_same(rewrite, wanted + 1, record_bytes);
	rewrite->path.count = 0;
	if (rewrite->rewriter->keeps_stacks && wanted >= rewrite->next_defined) {
		err = packed_stream_reserve(&rewrite->out, wanted + 1 - rewrite->next_defined,
					    record_bytes);
		if (!err)
			err = rewrite_nodes_define(rewrite, wanted + 1);
		if (err)
			return err;
	}
	for (uint32_t at = wanted; at >= TAPE_NODE_FIRST; at = node->parent) {
		node = node_find(rewrite, at);
		if (!node || node->now)
			break;
		if (!vec_u32_push(&rewrite->path, at))
			return err_nomem();
	}
	err = packed_stream_reserve(&rewrite->out, rewrite->path.count, record_bytes);
	for (size_t i = rewrite->path.count; i-- > 0 && !err;)
		err = node_define(rewrite, rewrite->path.items[i]);
	if (!err)
		*number = node_find(rewrite, wanted)->now;
	return err;
}
