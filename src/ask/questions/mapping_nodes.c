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

/* Sorts by mapping; equal nodes of one are added up. */
static struct err *nodes_sort(const struct mapping_node_vec *found, size_t mapping_count,
			      struct arena *arena, const struct mapping_node **items_ret,
			      const uint32_t **first_ret)
{
	struct mapping_node *items = arena_array(arena, found->count + 1, sizeof(*items));
	uint32_t *first = arena_array(arena, mapping_count + 2, sizeof(*first));
	size_t count = 0;

	if (!items || !first)
		return err_nomem();
	for (uint32_t mapping = 0; mapping < mapping_count; mapping++) {
		first[mapping] = (uint32_t)count;
		for (size_t i = 0; i < found->count; i++) {
			size_t at = first[mapping];

			if (found->items[i].mapping != mapping)
				continue;
			while (at < count && items[at].node != found->items[i].node)
				at++;
			if (at == count)
				items[count++] = found->items[i];
			else
				items[at].bytes += found->items[i].bytes;
		}
	}
	first[mapping_count] = (uint32_t)count;
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
