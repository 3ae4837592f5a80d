#include "sums/sites.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "sums/firsts.h"

VEC_DEFINE(site_vec, struct site);

static void site_add(struct site *site, uint32_t stack, const struct sums *all)
{
	const struct model_stack_sums *sums = sums_of_stack(all, stack);

	metric_sums_add(&site->sums, sums);
	site->stack_count++;
	for (unsigned metric = 0; metric < METRICS_NAMED; metric++) {
		if (metric_value(metric, sums) >
		    metric_value(metric, sums_of_stack(all, site->stacks[metric])))
			site->stacks[metric] = stack;
	}
}

/* The site with this name, added if new. UINT32_MAX: out of memory. */
static uint32_t site_put(struct site_vec *sites, struct map *by_name, uint32_t name, uint32_t stack)
{
	bool is_new;
	uint64_t *place = map_put(by_name, name, &is_new);

	if (!place)
		return UINT32_MAX;
	if (is_new) {
		struct site *site = site_vec_add(sites);

		if (!site)
			return UINT32_MAX;
		*site = (struct site) { .name = name };
		for (unsigned metric = 0; metric < METRICS_NAMED; metric++)
			site->stacks[metric] = stack;
		*place = sites->count - 1;
	}
	return (uint32_t)*place;
}

struct err *sites_find(const struct sums *from, struct names *names, enum walk_mode mode,
		       struct arena *arena, struct sites *sites_ret)
{
	const struct model *model = from->model;
	const size_t stack_count = model_stack_count(model);
	CLEAN(site_vec_deinit) struct site_vec found = { 0 };
	CLEAN(map_deinit) struct map by_name = { 0 };
	CLEAN(firsts_deinit) struct firsts firsts = { 0 };
	struct sites sites = { .sums = from };

	assert(from->stacks.items);
	assert(mode <= WALK_ALL);
	sites.site_of = arena_array(arena, stack_count, sizeof(*sites.site_of));
	if (!sites.site_of || !firsts_init(&firsts, model, names, mode))
		return err_nomem();
	for (uint32_t stack = 0; stack < stack_count; stack++) {
		sites.site_of[stack] = UINT32_MAX;
		if (!metric_sums_any(sums_of_stack(from, stack)))
			continue;
		sites.site_of[stack] =
			site_put(&found, &by_name, firsts_get(&firsts, stack)->name, stack);
		if (sites.site_of[stack] == UINT32_MAX)
			return err_nomem();
		site_add(&found.items[sites.site_of[stack]], stack, from);
	}
	sites.items = arena_array(arena, found.count, sizeof(*sites.items));
	if (!sites.items)
		return err_nomem();
	assert(found.count <= stack_count);
	sites.count = found.count;
	if (found.count)
		memcpy(sites.items, found.items, found.count * sizeof(*found.items));
	*sites_ret = sites;
	return NULL;
}

/*
 * Largest first; ties by number of allocations, then in tape order. Those without a stack are last,
 * whatever they have: they say nothing. A process that was attached to may have many from before.
 */
static int site_compare(const void *context, const void *a, const void *b)
{
	const enum metric metric = *(const enum metric *)context;
	const struct site *left = *(const struct site *const *)a;
	const struct site *right = *(const struct site *const *)b;
	int order = (left->name == NAME_NO_STACK) - (right->name == NAME_NO_STACK);

	if (order == 0)
		order = sort_compare_u64(metric_value(metric, &right->sums),
					 metric_value(metric, &left->sums));
	if (order == 0)
		order = sort_compare_u64(right->sums.allocated.count, left->sums.allocated.count);
	return order;
}

struct err *sites_rank(const struct sites *sites, enum metric metric, size_t top,
		       struct arena *arena, const struct site *const **ranked_ret,
		       size_t *count_ret)
{
	const struct site **ranked = arena_array(arena, sites->count, sizeof(*ranked));
	size_t count = 0;

	assert((unsigned)metric < METRICS_KEYED);
	if (!ranked)
		return err_nomem();
	for (size_t i = 0; i < sites->count; i++) {
		if (metric_value(metric, &sites->items[i].sums) > 0)
			ranked[count++] = &sites->items[i];
	}
	if (!sort_stable(ranked, count, sizeof(*ranked), site_compare, &metric))
		return err_nomem();
	assert(count <= sites->count);
	*ranked_ret = ranked;
	*count_ret = top && count > top ? top : count;
	return NULL;
}

/* Code that no file has, "[vdso]" or made at run time, has no symbols elsewhere. */
static bool lacks_name(const struct name *name)
{
	return !name->is_known && name->module[0] == '/';
}

/* The module with this path, most likely the one that the last name was of; the count: none. */
static size_t module_find(const struct model *model, struct names *names, const char *path,
			  size_t last)
{
	const size_t count = model_module_count(model);

	if (last < count && strcmp(names_module_path(names, last), path) == 0)
		return last;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names_module_path(names, i), path) == 0)
			return i;
	}
	return count;
}

uint64_t sites_unnamed(const struct sites *sites, struct names *names, enum metric metric,
		       uint64_t *modules)
{
	const struct model *model = sites->sums->model;
	size_t module = 0;
	uint64_t sum = 0;

	assert((unsigned)metric < METRICS_KEYED);
	for (size_t i = 0; i < sites->count; i++) {
		const struct name *name = names_get(names, sites->items[i].name);
		const uint64_t value = metric_value(metric, &sites->items[i].sums);

		if (value == 0 || !lacks_name(name))
			continue;
		module = module_find(model, names, name->module, module);
		if (module < model_module_count(model))
			modules[module] += value;
		sum += value;
	}
	return sum;
}

struct err *sites_stacks(const struct sites *sites, const struct site *site, enum metric metric,
			 size_t top, struct arena *arena, const uint32_t **stacks_ret,
			 size_t *count_ret)
{
	const uint32_t number = (uint32_t)(site - sites->items);
	struct sort_pair *pairs = arena_array(arena, site->stack_count, sizeof(*pairs));
	uint32_t *stacks = arena_array(arena, site->stack_count, sizeof(*stacks));
	size_t count = 0;

	assert(number < sites->count);
	assert((unsigned)metric < METRICS_KEYED);
	assert(site->stack_count > 0);
	if (!pairs || !stacks)
		return err_nomem();
	for (uint32_t stack = 0; stack < model_stack_count(sites->sums->model); stack++) {
		const uint64_t value = metric_value(metric, sums_of_stack(sites->sums, stack));

		/* Sorting the complement ascending puts the largest first. */
		if (sites->site_of[stack] == number && value > 0)
			pairs[count++] = (struct sort_pair) { .key = ~value, .index = stack };
	}
	if (!sort_pairs(pairs, count))
		return err_nomem();
	if (top && count > top)
		count = top;
	for (size_t i = 0; i < count; i++)
		stacks[i] = pairs[i].index;
	*stacks_ret = stacks;
	*count_ret = count;
	return NULL;
}
