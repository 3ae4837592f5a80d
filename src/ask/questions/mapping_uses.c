#include "questions/address_space.h"

/* Adds a use of each mapping that changed since its last one. */
static bool uses_add(struct mapping_use_vec *uses, const struct mapping_vec *all, uint64_t ns,
		     struct mapping_use *last)
{
	for (uint32_t i = 0; i < all->count; i++) {
		const struct mapping *mapping = &all->items[i];
		const bool is_gone = mapping->mapped_bytes == 0;
		const struct mapping_use use = {
			.ns = ns,
			.mapped_bytes = mapping->mapped_bytes,
			.resident_bytes = is_gone ? 0 : mapping->resident_bytes,
			.mapping = i,
		};
		const bool is_new = last[i].ns == UINT64_MAX;

		if (is_new ? is_gone
			   : last[i].mapped_bytes == use.mapped_bytes &&
				     last[i].resident_bytes == use.resident_bytes)
			continue;
		last[i] = use;
		if (!mapping_use_vec_push(uses, use))
			return false;
	}
	return true;
}

/* Sorts by mapping; each mapping's uses stay in time order. */
static struct err *uses_sort(const struct mapping_use_vec *uses, size_t mapping_count,
			     struct arena *arena, const struct mapping_use **items_ret,
			     const uint32_t **first_ret)
{
	struct mapping_use *items = arena_array(arena, uses->count + 1, sizeof(*items));
	uint32_t *first = arena_array(arena, mapping_count + 2, sizeof(*first));

	if (!items || !first)
		return err_nomem();
	for (size_t i = 0; i < uses->count; i++)
		first[uses->items[i].mapping + 2]++;
	for (size_t i = 2; i < mapping_count + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < uses->count; i++)
		items[first[uses->items[i].mapping + 1]++] = uses->items[i];
	*items_ret = items;
	*first_ret = first;
	return NULL;
}

/* Mappings have the same indices on every walk. */
struct err *mapping_uses_find(const struct model *model, size_t mapping_count, struct arena *arena,
			      const struct mapping_use **items_ret, const uint32_t **first_ret)
{
	CLEAN(mappings_destroy) struct mappings *mappings = NULL;
	CLEAN(mapping_use_vec_deinit) struct mapping_use_vec uses = { 0 };
	struct mapping_use *last = arena_array(arena, mapping_count + 1, sizeof(*last));
	struct err *err = last ? mappings_create(model, &mappings) : err_nomem();

	for (size_t i = 0; i < mapping_count && !err; i++)
		last[i].ns = UINT64_MAX;
	for (size_t i = 0; !err && i < mappings_snapshots(mappings)->count; i++) {
		const uint64_t ns = mappings_snapshots(mappings)->items[i].end_ns;

		err = mappings_advance_snapshot(mappings, i);
		if (!err && !uses_add(&uses, mappings_all(mappings), ns, last))
			err = err_nomem();
	}
	return err ? err : uses_sort(&uses, mapping_count, arena, items_ret, first_ret);
}
