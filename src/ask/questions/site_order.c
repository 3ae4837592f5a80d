#include "questions/site_order.h"

#include "base/sort.h"

enum { TOP_DEFAULT = 100 };

static int compare(const void *context, const void *a, const void *b)
{
	const struct site_rank *ranks = context;
	const struct site_rank *left = &ranks[*(const uint32_t *)a];
	const struct site_rank *right = &ranks[*(const uint32_t *)b];

	if (left->first != right->first)
		return left->first > right->first ? -1 : 1;
	return (left->second < right->second) - (left->second > right->second);
}

struct err *site_order(const struct asked *asked, const struct site_rank *ranks, size_t site_count,
		       const uint32_t **order_ret, size_t *count_ret)
{
	const uint64_t top = asked->with->top ? asked->with->top : TOP_DEFAULT;
	uint32_t *order = arena_array(asked->arena, site_count + 1, sizeof(*order));
	size_t count = 0;

	if (!order)
		return err_nomem();
	for (size_t i = 0; i < site_count; i++)
		if (ranks[i].is_shown)
			order[count++] = (uint32_t)i;
	if (!sort_stable(order, count, sizeof(*order), compare, ranks))
		return err_nomem();
	*order_ret = order;
	*count_ret = u64_min(count, top);
	return NULL;
}
