#include "groups/grouping.h"

/* Rows that are not selected stay, whatever their group. */
static void narrow(const struct selection *selection, const struct batch *batch, uint32_t *keys)
{
	for (size_t i = 0; i < batch->count; i++)
		if (!selection_has(selection, batch_row(batch, i)))
			keys[i] = WITHOUT_NO_GROUP;
}

static void group_keys(const void *context, struct batch *batch, uint32_t *keys)
{
	const struct grouping *grouping = context;

	grouping_keys(grouping, batch, keys);
	narrow(grouping->selection, batch, keys);
}

static void selection_keys(const void *context, struct batch *batch, uint32_t *keys)
{
	memset(keys, 0, batch->count * sizeof(*keys));
	narrow(context, batch, keys);
}

/* Stops at the limits of the selection. */
static struct err *find(const struct selection *selection, keyed_keys *keys, const void *context,
			size_t group_count, struct without *without)
{
	struct err *err;

	selection->facts->limits = &selection->limits;
	err = without_find(selection->facts, keys, context, group_count, without);
	selection->facts->limits = NULL;
	return err;
}

struct err *savings_find(const struct grouping *grouping, struct without *without)
{
	return find(grouping->selection, group_keys, grouping, grouping->count, without);
}

struct err *groups_savings(const struct selection *selection, struct peak *peak_ret,
			   struct peak *without_ret)
{
	struct without without = { .groups = without_ret };
	struct err *err = find(selection, selection_keys, selection, 1, &without);

	if (!err)
		*peak_ret = without.peak;
	return err;
}
