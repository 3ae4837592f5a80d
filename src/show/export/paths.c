#include "export/paths.h"

#include <assert.h>

enum { ROOT = 0 };

const struct name *paths_name(const struct paths *paths, uint32_t frame)
{
	assert(frame < paths->frames.count);
	return names_get(paths->context->names, paths->frames.items[frame].name);
}

static uint32_t file_number(struct paths *paths, const char *file)
{
	const uint32_t id = file ? interner_put(&paths->files, file, strlen(file)) : UINT32_MAX - 1;

	paths->failed |= id == UINT32_MAX;
	return id + 1;
}

/* The key's number: as many as there were before it. */
static uint64_t *number_put(struct paths *paths, struct map *map, uint64_t key, bool *is_new)
{
	const uint64_t next = map->count;
	uint64_t *number = map_put(map, key, is_new);

	paths->failed |= !number;
	if (number && *is_new)
		*number = next;
	return number;
}

static uint32_t frame_number(struct paths *paths, const struct name_frame *frame, uint64_t pc)
{
	const uint64_t file = file_number(paths, frame->file);
	bool is_new = false;
	const uint64_t *place =
		number_put(paths, &paths->places, file << 32 | frame->line, &is_new);
	const uint64_t *number = place ? number_put(paths, &paths->numbers,
						    (uint64_t)frame->name << 32 | *place, &is_new)
				       : NULL;

	if (!number)
		return 0;
	if (is_new)
		paths->failed |= !path_frames_push(
			&paths->frames,
			(struct path_frame) { frame->name, frame->line, frame->file, pc });
	return (uint32_t)*number;
}

/* The parent's child for that frame. */
static uint32_t child_get(struct paths *paths, uint32_t parent, const struct name_frame *frame,
			  uint64_t pc)
{
	const uint32_t number = frame_number(paths, frame, pc);
	bool is_new;
	uint64_t *node = map_put(&paths->edges, (uint64_t)parent << 32 | number, &is_new);

	paths->failed |= !node;
	if (paths->failed)
		return ROOT;
	if (is_new) {
		*node = paths->nodes.count;
		paths->failed |= !path_nodes_push(
			&paths->nodes, (struct path_node) {
					       .parent = parent,
					       .frame = number,
					       .depth = paths->nodes.items[parent].depth + 1,
				       });
	}
	return paths->failed ? ROOT : (uint32_t)*node;
}

static uint64_t pc_of(const struct paths *paths, uint32_t stack)
{
	const struct capture_stack *at = &model_stacks(paths->context->model)[stack];

	return stack < CAPTURE_STACK_FIRST ? 0 : at->exact ? at->pc : at->pc - 1;
}

/* Frame by frame from the innermost; for inverted trees, or stacks with nothing but machinery. */
static uint32_t walked_get(struct paths *paths, uint32_t stack)
{
	const struct export_context *context = paths->context;
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	uint32_t node = ROOT;
	const struct name_frame *frame;

	while ((frame = walk_next(&walk)) &&
	       (paths->depth_max == 0 || paths->nodes.items[node].depth < paths->depth_max))
		node = child_get(paths, node, frame, pc_of(paths, walk.stack));
	return node;
}

/* Adds the visible frames of the stack's innermost address below its parent's node. */
static uint32_t extended_get(struct paths *paths, uint32_t stack, uint32_t node)
{
	const struct export_context *context = paths->context;
	const struct name_frames frames = names_frames(context->names, stack);

	for (size_t i = frames.count; i > 0; i--) {
		const struct name_frame *frame = &frames.frames[i - 1];

		if (!walk_hides(context->mode, context->names, stack, frame))
			node = child_get(paths, node, frame, pc_of(paths, stack));
	}
	return node;
}

/* Stacks may be thousands of frames deep: no recursion. */
static uint32_t upright_get(struct paths *paths, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(paths->context->model);
	uint32_t at = stack, node;

	paths->path.count = 0;
	for (; at >= CAPTURE_STACK_FIRST && !paths->known[at]; at = stacks[at].parent)
		paths->failed |= !vec_u32_push(&paths->path, at);
	if (at == CAPTURE_STACK_TRUNCATED && !paths->known[at])
		paths->known[at] = walked_get(paths, at) + 1;
	node = paths->known[at] ? paths->known[at] - 1 : ROOT;
	while (paths->path.count > 0 && !paths->failed) {
		at = paths->path.items[--paths->path.count];
		node = extended_get(paths, at, node);
		paths->known[at] = node + 1;
	}
	return node == ROOT ? walked_get(paths, stack) : node;
}

static bool begin(struct paths *paths)
{
	if (paths->nodes.count > 0)
		return true;
	if (!paths->is_inverted)
		paths->known =
			calloc(model_stack_count(paths->context->model), sizeof(*paths->known));
	if (!paths->is_inverted && !paths->known)
		return false;
	return path_nodes_push(&paths->nodes, (struct path_node) { 0 });
}

uint32_t paths_node(struct paths *paths, uint32_t stack)
{
	assert(stack < model_stack_count(paths->context->model));
	paths->failed |= !begin(paths);
	if (paths->failed)
		return ROOT;
	return paths->is_inverted ? walked_get(paths, stack) : upright_get(paths, stack);
}

struct err *paths_build(struct paths *paths, const struct sums *sums)
{
	const size_t count = model_stack_count(sums->model);

	assert(sums->model == paths->context->model);
	assert(paths->is_inverted || paths->depth_max == 0);
	paths->failed |= !begin(paths);
	for (size_t i = 0; i < count && !paths->failed; i++) {
		const struct model_stack_sums *stack = sums_of_stack(sums, i);
		struct path_node *node;
		uint32_t number;

		if (stack->allocated.count + stack->peak.count + stack->leaked.count == 0)
			continue;
		number = paths_node(paths, (uint32_t)i);
		if (paths->failed)
			break;
		node = &paths->nodes.items[number]; /* adding a node moves them */
		node->stack_count++;
		metric_sums_add(&node->self, stack);
	}
	return paths->failed ? err_nomem() : NULL;
}

const struct vec_u32 *paths_frames(struct paths *paths, uint32_t node)
{
	const uint32_t depth = paths->nodes.items[node].depth;
	struct vec_u32 *path = &paths->path;

	assert(node < paths->nodes.count);
	path->count = 0;
	if (!vec_u32_reserve(path, (size_t)depth + 1)) {
		paths->failed = true;
		return path;
	}
	path->count = depth;
	for (uint32_t at = depth; at > 0; at--) {
		path->items[at - 1] = paths->nodes.items[node].frame;
		node = paths->nodes.items[node].parent;
	}
	return path;
}

void paths_deinit(struct paths *paths)
{
	path_frames_deinit(&paths->frames);
	path_nodes_deinit(&paths->nodes);
	interner_deinit(&paths->files);
	map_deinit(&paths->places);
	map_deinit(&paths->numbers);
	map_deinit(&paths->edges);
	free(paths->known);
	vec_u32_deinit(&paths->path);
}
