/*
 * /api/v1/sites: allocations in groups, a page of them: with what the selection has of each and
 * what the tape has, a filter that chooses just this group, and its live bytes as a small curve.
 */
#include "http/api_parts.h"
#include "query/curves.h"
#include "query/group_filter.h"
#include "query/name_hash.h"

enum { FRAMES_MAX = 64, SPARK_MAX = 24 };

struct page {
	struct call *call;
	const struct selection *selection;
	struct groups groups;
	const struct group_filters *filters;
	uint64_t *sparks; /* NULL: none */
	size_t spark_count;
};

/* --- a row --------------------------------------------------------------------------------- */

static void sums_emit(struct emit *emit, const char *key, const struct group_sums *sums)
{
	emit_object(emit, key);
	api_sum(emit, "allocated", sums->allocated);
	api_sum(emit, "leaked", sums->leaked);
	api_sum(emit, "temporary", sums->temporary);
	api_sum(emit, "peak", sums->peak);
	emit_u64(emit, "usable", sums->usable, EMIT_BYTES);
	emit_u64(emit, "size_min", sums->size_min, EMIT_BYTES);
	emit_u64(emit, "size_max", sums->size_max, EMIT_BYTES);
	emit_u64(emit, "first_ns", sums->first_ns, EMIT_DURATION);
	emit_u64(emit, "last_ns", sums->last_ns, EMIT_DURATION);
	emit_end(emit);
}

static void life_emit(struct emit *emit, const struct group *group)
{
	static const char *const keys[] = { "p50", "p90", "p99" };

	if (group->lifetimes[0][GROUP_P50] == FIELD_NONE) {
		emit_null(emit, "life");
		return;
	}
	emit_object(emit, "life");
	for (size_t i = 0; i < GROUP_PERCENTILES; i++)
		emit_u64(emit, keys[i], group->lifetimes[0][i], EMIT_DURATION);
	emit_end(emit);
}

/* Of groups by function and what is finer; a module has a name, but no function. */
static void site_emit(const struct page *page, const struct group *group)
{
	struct emit *emit = page->call->emit;
	const struct names *names = page->selection->names;
	const struct name *name = group->site ? names_get(names, group->site->name) : NULL;
	const bool is_function =
		page->groups.by == GROUP_BY_STACK || page->groups.by == GROUP_BY_FUNCTION;
	const bool has_file = name && page->groups.by != GROUP_BY_MODULE;

	if (name && is_function)
		json_hash(emit, "hash", name_hash(page->call->model, name));
	else
		emit_null(emit, "hash");
	emit_text(emit, "module", name ? api_module(name) : NULL);
	emit_text(emit, "file", has_file ? group->site->file : NULL);
	json_u64_or_null(emit, "line", has_file ? group->site->line : 0, 0);
}

static void stack_emit(const struct page *page, const struct group *group)
{
	struct emit *emit = page->call->emit;

	if (group->site) {
		api_stack(page->call, page->selection->names, "stack", group->stack, FRAMES_MAX);
	} else {
		emit_list(emit, "stack");
		emit_end(emit);
	}
	emit_u64(emit, "stack_count", group->stack_count, EMIT_COUNT);
}

static void row_emit(const struct page *page, size_t i)
{
	CLEAN(str_deinit) struct str title = { 0 };
	const struct group *group = &page->groups.items[i];
	struct emit *emit = page->call->emit;

	group_title(page->selection, &page->groups, group, &title);
	emit_object(emit, NULL);
	api_key(emit, "key", page->groups.by == GROUP_BY_STACK ? group->stack : group->key);
	emit_text(emit, "title", str_text(&title));
	emit_text(emit, "q", group_filter(page->filters, i, page->call->arena));
	site_emit(page, group);
	stack_emit(page, group);
	sums_emit(emit, "matched", &group->matched);
	sums_emit(emit, "all", &group->all);
	life_emit(emit, group);
	if (page->sparks)
		json_u64s(emit, "spark", page->sparks + i * page->spark_count, page->spark_count);
	else
		emit_null(emit, "spark");
	emit_end(emit);
}

/* --- the page ------------------------------------------------------------------------------ */

static struct err *sparks_find(struct page *page, const struct api_range *range)
{
	page->spark_count = call_number(page->call, "spark");
	if (page->spark_count == 0 || page->groups.count == 0)
		return NULL;
	page->sparks = arena_array(page->call->arena, page->groups.count * page->spark_count,
				   sizeof(*page->sparks));
	if (!page->sparks)
		return err_nomem();
	return curves_find(page->selection, &page->groups, WALK_FOLD, range->from_ns,
			   range->until_ns, page->spark_count, page->call->arena, page->sparks);
}

static struct err *order_find(struct call *call, struct group_order *order_ret)
{
	const char *sort = call_text(call, "sort");
	const char *order =
		call_has(call, "order") ? api_order_words[call_choice(call, "order")] : NULL;

	return call_blame(call, "sort",
			  group_order_parse(sort && *sort ? sort : "size", order, order_ret));
}

static struct err *page_find(struct page *page)
{
	struct call *call = page->call;
	struct group_settings settings = {
		.by = (enum group_by)call_choice(call, "by"),
		.skip = call_number(call, "off"),
		.count = call_number(call, "n"),
		.wants_lifetimes = true,
	};
	struct api_range range;
	struct err *err = order_find(call, &settings.order);

	if (!err)
		err = api_range(call, &range);
	if (!err)
		err = api_select(call, &page->selection);
	if (!err)
		err = groups_find(page->selection, &settings, call->arena, &page->groups);
	if (!err)
		err = group_filters_make(page->selection, &page->groups, call->arena,
					 &page->filters);
	return err ? err : sparks_find(page, &range);
}

static struct err *run(struct call *call)
{
	struct page page = { .call = call };
	struct err *err = page_find(&page);

	if (err)
		return err;
	emit_text(call->emit, "by", group_by_words[page.groups.by]);
	emit_u64(call->emit, "count", page.groups.total_count, EMIT_COUNT);
	emit_list(call->emit, "rows");
	for (size_t i = 0; i < page.groups.count; i++)
		row_emit(&page, i);
	emit_end(call->emit);
	return NULL;
}

static const struct param params[] = {
	{ .name = "by",
	  .kind = PARAM_CHOICE,
	  .words = group_by_words,
	  .fallback = GROUP_BY_FUNCTION,
	  .doc = "what allocations of a group have in common",
	  .missing = "function" },
	{ .name = "sort",
	  .kind = PARAM_TEXT,
	  .doc = "size, allocated_count, leaked_size ...; with all. before it of all allocations",
	  .missing = "size" },
	API_PARAM_ORDER,
	API_PARAM_OFF,
	API_PARAM_N,
	{ .name = "spark",
	  .kind = PARAM_NUMBER,
	  .max = SPARK_MAX,
	  .doc = "points of the curve of live bytes of each group",
	  .missing = "0, without curves" },
};

const struct route route_api_sites = {
	.path = "/api/v1/sites",
	.summary = "allocations in groups: by function, stack, source, module, thread ...",
	.answer = "Sites",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
