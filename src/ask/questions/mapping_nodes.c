#include "questions/address_space.h"

#include "base/vec.h"
#include "space/node_use.h"

VEC_DEFINE(mapping_node_vec, struct mapping_node);

struct joining {
	const struct mappings *mappings;
	struct mapping_node_vec found;
	bool ok;
};

static void on_range(void *context, const struct node_range *range)
{
	struct joining *joining = context;
	const struct mappings_piece_vec *pieces = mappings_pieces(joining->mappings);
	size_t low = 0, high = pieces->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (pieces->items[middle].end <= range->begin)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == pieces->count || pieces->items[low].begin >= range->end)
		return;
	for (unsigned i = 0; i < NODE_USE_MAX && joining->ok; i++)
		if (range->bytes[i] > 0)
			joining->ok = mapping_node_vec_push(
				&joining->found,
				(struct mapping_node) { .node = i,
							.bytes = range->bytes[i],
							.mapping = pieces->items[low].mapping });
}

/* Adds up what is of one node; returns how many are left. There are few nodes. */
static uint32_t nodes_merge(struct mapping_node *items, uint32_t begin, uint32_t end)
{
	uint32_t count = begin;

	for (uint32_t i = begin; i < end; i++) {
		uint32_t at = begin;

		while (at < count && items[at].node != items[i].node)
			at++;
		if (at < count)
			items[at].bytes += items[i].bytes;
		else
			items[count++] = items[i];
	}
	return count - begin;
}

/* By mapping, as mapping_nodes_find() returns them. */
static struct err *nodes_sort(const struct mapping_node_vec *found, size_t mapping_count,
			      struct arena *arena, const struct mapping_node **items_ret,
			      const uint32_t **first_ret)
{
	struct mapping_node *items = arena_array(arena, found->count + 1, sizeof(*items));
	uint32_t *first = arena_array(arena, mapping_count + 2, sizeof(*first));
	uint32_t count = 0, begin = 0;

	if (!items || !first)
		return err_nomem();
	for (size_t i = 0; i < found->count; i++)
		first[found->items[i].mapping + 2]++;
	for (size_t i = 2; i < mapping_count + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < found->count; i++)
		items[first[found->items[i].mapping + 1]++] = found->items[i];
	for (size_t i = 0; i < mapping_count; i++) {
		const uint32_t end = first[i + 1], left = nodes_merge(items, begin, end);

		memmove(items + count, items + begin, left * sizeof(*items));
		first[i] = count;
		count += left;
		begin = end;
	}
	first[mapping_count] = count;
	*items_ret = items;
	*first_ret = first;
	return NULL;
}

/* Mappings have the same indices on every walk. */
struct err *mapping_nodes_find(const struct model *model, size_t mapping_count, struct arena *arena,
			       const struct mapping_node **items_ret, const uint32_t **first_ret)
{
	CLEAN(mappings_destroy) struct mappings *mappings = NULL;
	CLEAN(node_look_vec_deinit) struct node_look_vec looks = { 0 };
	CLEAN(mapping_node_vec_deinit) struct mapping_node_vec none = { 0 };
	struct joining joining = { .ok = true };
	struct err *err = node_looks_find(model, &looks);

	if (!err && looks.count > 0)
		err = mappings_create(model, &mappings);
	if (!err && looks.count > 0) {
		const struct node_look *last = &looks.items[looks.count - 1];

		err = mappings_advance(mappings, last->ns);
		joining.mappings = mappings;
		if (!err)
			node_look_each(model, last, on_range, &joining);
	}
	none = joining.found; /* freed at the end */
	if (!err && !joining.ok)
		err = err_nomem();
	if (err || looks.count == 0)
		return err;
	return nodes_sort(&none, mapping_count, arena, items_ret, first_ret);
}
