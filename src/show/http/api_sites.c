/*
 * /api/v1/sites: allocations in groups, a page of them: with what the selection has of each and
 * what the tape has, a filter that chooses just this group, and its live bytes as a small curve.
 */
#include "groups/group_filter.h"
#include "http/api_parts.h"
#include "sums/name_hash.h"
#include "time/curves.h"

enum { FRAMES_MAX = 64, SPARKS = 24, KEPT_WHOLE_MAX = 4096 };

static const char *const spark_words[] = { "0", "24", NULL };

/* All groups of a part of the tape, kept for whoever asks for more of them. */
struct kept {
	struct groups groups;
	bool has_lifetimes;
	uint64_t *sparks; /* SPARKS of each; NULL: too many groups */
};

struct page {
	struct call *call;
	const struct selection *selection;
	enum group_by by;
	struct api_range range;
	struct group_settings settings;
	const struct kept *kept;
	struct groups groups;	/* of this page */
	const uint32_t *places; /* among the kept ones */
	const struct group_filters *filters;
	uint64_t *sparks; /* NULL: none */
};

/* --- a row --------------------------------------------------------------------------------- */

static void sums_emit(struct emit *emit, const char *key, const struct group_sums *sums)
{
	emit_object(emit, key);
	api_sum(emit, "allocated", sums->sums.allocated);
	api_sum(emit, "leaked", sums->sums.leaked);
	api_sum(emit, "temporary", sums->sums.temporary);
	api_sum(emit, "peak", sums->sums.peak);
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
		json_u64s(emit, "spark", page->sparks + i * SPARKS, SPARKS);
	else
		emit_null(emit, "spark");
	emit_end(emit);
}

/* --- all groups ---------------------------------------------------------------------------- */

/* Where they are not too many, with everything that a page of them may need. */
static struct err *kept_fill(const struct page *page, struct arena *arena, struct kept *kept)
{
	const struct api_range *range = &page->range;
	const size_t count = kept->groups.count;
	struct err *err;

	if (count > KEPT_WHOLE_MAX)
		return NULL;
	kept->sparks = arena_array(arena, count * SPARKS, sizeof(*kept->sparks));
	if (!kept->sparks)
		return err_nomem();
	err = groups_add_lifetimes(page->selection, &kept->groups, WALK_FOLD, page->call->arena);
	if (!err && count > 0)
		err = curves_find(page->selection, &kept->groups, WALK_FOLD, range->from_ns,
				  range->until_ns, SPARKS, page->call->arena, kept->sparks);
	kept->has_lifetimes = true;
	return err;
}

static struct err *kept_make(struct call *call, void *context, struct arena *arena,
			     const void **value_ret)
{
	const struct page *page = context;
	const struct group_settings settings = { .by = page->by };
	struct kept *kept = arena_new(arena, struct kept);
	struct groups groups;
	struct err *err =
		kept ? groups_find(page->selection, &settings, call->arena, &groups) : err_nomem();

	if (err)
		return err;
	kept->groups = groups;
	kept->groups.items = arena_array(arena, groups.count, sizeof(*groups.items));
	if (!kept->groups.items)
		return err_nomem();
	for (size_t i = 0; i < groups.count; i++)
		kept->groups.items[i] = groups.items[i];
	err = kept_fill(page, arena, kept);
	if (!err)
		*value_ret = kept;
	return err;
}

/* They depend on the part of the tape and on what they are of. */
static struct err *kept_find(struct page *page)
{
	CLEAN(str_deinit) struct str key = { 0 };
	const void *kept;
	struct err *err;

	str_printf(&key, "groups by %s of ", group_by_words[page->by]);
	call_part_key(page->call, &key);
	if (key.failed)
		return err_nomem();
	err = call_keep(page->call, str_text(&key), kept_make, page, &kept);
	if (!err)
		page->kept = kept;
	return err;
}

/* --- the page ------------------------------------------------------------------------------ */

static struct err *sparks_find(struct page *page)
{
	const struct api_range *range = &page->range;
	const size_t count = page->groups.count;

	if (call_choice(page->call, "spark") == 0 || count == 0)
		return NULL;
	page->sparks = arena_array(page->call->arena, count * SPARKS, sizeof(*page->sparks));
	if (!page->sparks)
		return err_nomem();
	if (!page->kept || !page->kept->sparks)
		return curves_find(page->selection, &page->groups, WALK_FOLD, range->from_ns,
				   range->until_ns, SPARKS, page->call->arena, page->sparks);
	for (size_t i = 0; i < count; i++)
		memcpy(page->sparks + i * SPARKS, page->kept->sparks + page->places[i] * SPARKS,
		       SPARKS * sizeof(*page->sparks));
	return NULL;
}

/* By what is not kept they are found anew. */
static bool is_kept(enum group_key key, const struct kept *kept)
{
	switch (key) {
	case GROUP_LIFETIME_P50:
	case GROUP_LIFETIME_P90:
	case GROUP_LIFETIME_P99:
		return kept->has_lifetimes;
	case GROUP_USAGE_MAX:
	case GROUP_USAGE_MAX_TIME:
		return false;
	default:
		return true;
	}
}

static struct err *groups_choose(struct page *page)
{
	struct arena *arena = page->call->arena;
	struct err *err = kept_find(page);

	if (err)
		return err;
	if (!is_kept(page->settings.order.key, page->kept)) {
		page->kept = NULL;
		return groups_find(page->selection, &page->settings, arena, &page->groups);
	}
	err = groups_page(&page->kept->groups, &page->settings, arena, &page->groups,
			  &page->places);
	if (err || page->kept->has_lifetimes)
		return err;
	return groups_add_lifetimes(page->selection, &page->groups, WALK_FOLD, arena);
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
	struct err *err;

	page->by = (enum group_by)call_choice(call, "by");
	page->settings = (struct group_settings) {
		.by = page->by,
		.skip = call_number(call, "off"),
		.count = call_number(call, "n"),
		.wants_lifetimes = true,
	};
	err = order_find(call, &page->settings.order);
	if (!err)
		err = api_range(call, &page->range);
	if (!err)
		err = api_select(call, &page->selection);
	if (!err)
		err = groups_choose(page);
	if (!err)
		err = group_filters_make(page->selection, &page->groups, call->arena,
					 &page->filters);
	return err ? err : sparks_find(page);
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
	  .kind = PARAM_CHOICE,
	  .words = spark_words,
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
