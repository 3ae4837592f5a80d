#include "http/bytehound/data_tree.h"

#include "base/map.h"
#include "base/sort.h"
#include "groups/groups.h"

struct builder {
	struct call *call;
	struct names *names;
	struct map children; /* parent and name -> number of the node */
	struct data_node *nodes;
	size_t count;
	size_t capacity;
	const struct name_frame **path; /* of one stack, innermost first */
	uint32_t *path_stacks;
	size_t path_capacity;
};

static bool room_for_path(struct builder *builder, size_t count)
{
	const size_t capacity = count * 2 + 64;

	if (count < builder->path_capacity)
		return true;
	builder->path = reallocarray(builder->path, capacity, sizeof(*builder->path));
	builder->path_stacks =
		reallocarray(builder->path_stacks, capacity, sizeof(*builder->path_stacks));
	builder->path_capacity = capacity;
	return builder->path && builder->path_stacks;
}

/* Reads all frames of the stack; returns their number, SIZE_MAX: out of memory. */
static size_t path_read(struct builder *builder, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(builder->call->model);
	size_t count = 0;

	for (; stack >= CAPTURE_STACK_FIRST; stack = stacks[stack].parent) {
		const struct name_frames frames = names_frames(builder->names, stack);

		if (!room_for_path(builder, count + frames.count))
			return SIZE_MAX;
		for (size_t i = 0; i < frames.count; i++) {
			builder->path[count] = &frames.frames[i];
			builder->path_stacks[count++] = stack;
		}
	}
	return count;
}

static struct data_node *node_add(struct builder *builder, uint32_t parent)
{
	struct data_node *nodes = builder->nodes;

	if (builder->count == builder->capacity) {
		builder->capacity = builder->capacity * 2 + 256;
		nodes = reallocarray(nodes, builder->capacity, sizeof(*nodes));
		if (!nodes)
			return NULL;
		builder->nodes = nodes;
	}
	nodes[builder->count] = (struct data_node) {
		.parent = parent,
		.first_child = UINT32_MAX,
		.next_sibling = UINT32_MAX,
		.depth = builder->count ? nodes[parent].depth + 1 : 0,
		.first_ns = UINT64_MAX,
	};
	return &nodes[builder->count++];
}

/* The child with that name, created if missing; UINT32_MAX: out of memory. */
static uint32_t child_get(struct builder *builder, uint32_t parent, size_t at)
{
	const struct name_frame *frame = builder->path[at];
	bool is_new;
	uint64_t *place =
		map_put(&builder->children, (uint64_t)parent << 32 | frame->name, &is_new);
	struct data_node *node;

	if (!place)
		return UINT32_MAX;
	if (!is_new)
		return (uint32_t)*place;
	*place = builder->count;
	node = node_add(builder, parent);
	if (!node)
		return UINT32_MAX;
	node->frame = frame;
	node->stack = builder->path_stacks[at];
	node->next_sibling = builder->nodes[parent].first_child;
	builder->nodes[parent].first_child = (uint32_t)(node - builder->nodes);
	return builder->nodes[parent].first_child;
}

static void node_count(struct data_node *node, const struct group *group)
{
	node->bytes += group->matched.sums.allocated.bytes;
	node->count += group->matched.sums.allocated.count;
	node->first_ns = u64_min(node->first_ns, group->matched.first_ns);
	node->last_ns = u64_max(node->last_ns, group->matched.last_ns);
}

static bool stack_add(struct builder *builder, const struct group *group)
{
	const size_t count = path_read(builder, group->stack);
	uint32_t node = 0;

	if (count == SIZE_MAX)
		return false;
	node_count(&builder->nodes[0], group);
	for (size_t i = count; i-- > 0;) {
		node = child_get(builder, node, i);
		if (node == UINT32_MAX)
			return false;
		node_count(&builder->nodes[node], group);
	}
	return true;
}

static int larger_first(const void *a, const void *b, void *nodes)
{
	const struct data_node *one = &((const struct data_node *)nodes)[*(const uint32_t *)a];
	const struct data_node *two = &((const struct data_node *)nodes)[*(const uint32_t *)b];

	if (one->bytes != two->bytes)
		return one->bytes > two->bytes ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static bool children_sort(struct data_node *nodes, struct data_node *node, struct vec_u32 *list)
{
	list->count = 0;
	for (uint32_t child = node->first_child; child != UINT32_MAX;
	     child = nodes[child].next_sibling) {
		if (!vec_u32_push(list, child))
			return false;
	}
	if (list->count == 0)
		return true;
	qsort_r(list->items, list->count, sizeof(*list->items), larger_first, nodes);
	node->first_child = list->items[0];
	for (size_t i = 0; i < list->count; i++)
		nodes[list->items[i]].next_sibling =
			i + 1 < list->count ? list->items[i + 1] : UINT32_MAX;
	return true;
}

static struct err *build(struct builder *builder, const struct groups *groups)
{
	struct vec_u32 list = { 0 };
	bool ok = node_add(builder, 0) != NULL;

	for (size_t i = 0; i < groups->count && ok; i++)
		ok = stack_add(builder, &groups->items[i]);
	for (size_t i = 0; i < builder->count && ok; i++)
		ok = children_sort(builder->nodes, &builder->nodes[i], &list);
	vec_u32_deinit(&list);
	return ok ? NULL : err_nomem();
}

struct err *data_tree_build(struct call *call, const struct selection *selection,
			    struct names *names, struct data_tree *tree_ret)
{
	const struct group_settings settings = { .by = GROUP_BY_STACK, .mode = WALK_EXACT };
	struct builder builder = { .call = call, .names = names };
	struct groups groups;
	struct err *err = groups_find(selection, &settings, call->arena, &groups);

	if (!err)
		err = build(&builder, &groups);
	if (!err) {
		struct data_node *nodes = arena_array(call->arena, builder.count, sizeof(*nodes));

		if (nodes)
			memcpy(nodes, builder.nodes, builder.count * sizeof(*nodes));
		else
			err = err_nomem();
		*tree_ret = (struct data_tree) { .nodes = nodes, .count = builder.count };
	}
	map_deinit(&builder.children);
	free(builder.nodes);
	free(builder.path);
	free(builder.path_stacks);
	return err;
}
