/*
 * /api/v1/sites: a page of allocations in groups: each with its values in the selection and in the
 * tape, a filter that selects just this group, and its live bytes as a small curve.
 */
#include "answer/frame.h"
#include "groups/group_filter.h"
#include "http/api_parts.h"
#include "questions/groups.h"
#include "sums/name_hash.h"
#include "time/curves.h"

enum { FRAMES_MAX = 64, SPARKS = 24, KEPT_WHOLE_MAX = 4096 };

static const char *const spark_words[] = { "0", "24", NULL };
static const char *const saves_words[] = { "0", "1", NULL };

/* All groups of a part of the tape, kept for requests for further pages. */
struct kept {
	struct groups groups;
	bool has_lifetimes;
	bool has_savings;
	uint64_t *sparks; /* SPARKS per group; NULL: too many groups */
};

struct page {
	struct call *call;
	const struct selection *selection;
	enum group_by by;
	struct api_range range;
	struct group_settings settings;
	const struct kept *kept;
	struct groups groups;	/* of this page */
	const uint32_t *places; /* indices of the kept groups */
	const struct group_filters *filters;
	uint64_t *sparks; /* NULL: none */
};

/* --- members -------------------------------------------------------------------------------- */

struct site {
	const char *key, *title, *function, *q;
	uint64_t hash;
	const char *module, *file;
	uint64_t line;
	uint32_t stack;
	uint64_t stack_count;
	struct group_values matched, all;
	uint64_t saves_bytes, peak_without_bytes, peak_without_ns;
	struct shape_numbers spark;
};

struct sites_answer {
	const char *by;
	uint64_t count;
	struct shape_rows rows;
};

static const struct member site_members[] = {
	MEMBER(struct site, key, TEXT, "identifies the group among those of `by`"),
	MEMBER(struct site, title, TEXT,
	       "what it is called; a function's name is shortened for people"),
	MEMBER(struct site, function, TEXT, "its whole name, of groups that are of one",
	       .nullable = true),
	MEMBER(struct site, q, TEXT, "a filter that lets just this group through",
	       .nullable = true),
	MEMBER(struct site, hash, HASH, "of the function, of groups that are of one",
	       .nullable = true),
	MEMBER(struct site, module, TEXT, "short name of the program or library", .nullable = true),
	MEMBER(struct site, file, TEXT, NULL, .nullable = true),
	MEMBER(struct site, line, PLAIN, NULL, .nullable = true),
	MEMBER(struct site, stack, FRAMES, "the stack with most of it, innermost first",
	       .frames_max = FRAMES_MAX, .nullable = true),
	MEMBER(struct site, stack_count, COUNT, "number of different stacks"),
	MEMBER_AS("only_matched", struct site, matched, OBJECT, "of what is selected",
		  .shape = &shape_group_values),
	MEMBER(struct site, all, OBJECT, "of the whole tape", .shape = &shape_group_values),
	MEMBER(struct site, saves_bytes, BYTES,
	       "by how much the peak is lower without what is selected of it; null: not asked for",
	       .nullable = true),
	MEMBER(struct site, peak_without_bytes, BYTES, "the peak that is left", .nullable = true),
	MEMBER(struct site, peak_without_ns, NS, "when that is", .nullable = true),
	MEMBER(struct site, spark, NUMBERS, "live bytes over the time", .nullable = true),
};
static const struct shape shape_site = SHAPE("Site", struct site, site_members);

static const struct member sites_members[] = {
	MEMBER(struct sites_answer, by, TEXT, "what allocations of a group have in common",
	       .words = group_by_words),
	MEMBER(struct sites_answer, count, COUNT, "groups there are"),
	MEMBER(struct sites_answer, rows, ROWS, "a page of them", .shape = &shape_site),
};
static const struct shape shape_sites = SHAPE("Sites", struct sites_answer, sites_members);

/* --- a row --------------------------------------------------------------------------------- */

/* For groups by function and finer; a module has a name, but no function. */
static void place_fill(const struct page *page, const struct group *group, struct site *site)
{
	const struct names *names = page->selection->names;
	const struct name *name = group->site ? names_get(names, group->site->name) : NULL;
	const bool is_function =
		page->groups.by == GROUP_BY_STACK || page->groups.by == GROUP_BY_FUNCTION;
	const bool has_file = name && page->groups.by != GROUP_BY_MODULE;

	site->hash = name && is_function ? name_hash(page->call->model, name) : SHAPE_NONE;
	site->function = name && is_function ? name->function : NULL;
	site->module = name ? api_module(name) : NULL;
	site->file = has_file ? group->site->file : NULL;
	site->line = has_file && group->site->line ? group->site->line : SHAPE_NONE;
	site->stack = group->site ? group->stack : CAPTURE_STACK_NONE;
}

static struct err *row_fill(const struct page *page, size_t i, struct site *site)
{
	CLEAN(str_deinit) struct str title = { 0 };
	const struct group *group = &page->groups.items[i];
	struct arena *arena = page->call->arena;

	group_title(page->selection, &page->groups, group, &title);
	place_fill(page, group, site);
	site->key =
		arena_printf(arena, "%llu",
			     (unsigned long long)(page->groups.by == GROUP_BY_STACK ? group->stack
										    : group->key));
	site->title = arena_strdup(arena, str_text(&title));
	site->q = group_filter(page->filters, i, arena);
	site->stack_count = group->stack_count;
	site->matched = group_values_of(group, false);
	site->all = group_values_of(group, true);
	site->saves_bytes = group->saves;
	site->peak_without_bytes = group->peak_without;
	site->peak_without_ns = group->peak_without_ns;
	if (page->sparks)
		site->spark = (struct shape_numbers) { page->sparks + i * SPARKS, SPARKS };
	return site->key && site->title ? NULL : err_nomem();
}

/* --- all groups ---------------------------------------------------------------------------- */

/* If not too many, with everything that a page of them may need. */
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
	err = groups_add_lifetimes(page->selection, &kept->groups, kept->groups.mode,
				   page->call->arena);
	if (!err && count > 0)
		err = curves_find(page->selection, &kept->groups, kept->groups.mode, range->from_ns,
				  range->until_ns, SPARKS, page->call->arena, kept->sparks);
	kept->has_lifetimes = true;
	return err;
}

static struct err *kept_make(struct call *call, void *context, struct arena *arena,
			     const void **value_ret)
{
	const struct page *page = context;
	const struct group_settings settings = { .by = page->by,
						 .mode = page->settings.mode,
						 .wants_savings = page->settings.wants_savings };
	struct kept *kept = arena_new(arena, struct kept);
	struct groups groups;
	struct err *err =
		kept ? groups_find(page->selection, &settings, call->arena, &groups) : err_nomem();

	if (err)
		return err;
	kept->has_savings = settings.wants_savings;
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

/* They depend on the part of the tape and on the key. */
static struct err *kept_find(struct page *page)
{
	CLEAN(str_deinit) struct str key = { 0 };
	const void *kept;
	struct err *err;

	str_printf(&key, "groups by %s, %s frames, %sof ", group_by_words[page->by],
		   walk_mode_words[page->settings.mode],
		   page->settings.wants_savings ? "what they save, " : "");
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
		return curves_find(page->selection, &page->groups, page->groups.mode,
				   range->from_ns, range->until_ns, SPARKS, page->call->arena,
				   page->sparks);
	for (size_t i = 0; i < count; i++)
		memcpy(page->sparks + i * SPARKS, page->kept->sparks + page->places[i] * SPARKS,
		       SPARKS * sizeof(*page->sparks));
	return NULL;
}

/* Groups by other keys are not kept but found again. */
static bool is_kept(enum group_key key, const struct kept *kept)
{
	switch (key) {
	case GROUP_LIFETIME_P50:
	case GROUP_LIFETIME_P90:
	case GROUP_LIFETIME_P99:
		return kept->has_lifetimes;
	case GROUP_SAVES:
	case GROUP_PEAK_WITHOUT:
	case GROUP_PEAK_WITHOUT_TIME:
		return kept->has_savings;
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
	return groups_add_lifetimes(page->selection, &page->groups, page->groups.mode, arena);
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
		.mode = api_frames(call),
		.skip = call_number(call, "off"),
		.count = call_number(call, "n"),
		.wants_lifetimes = true,
	};
	err = order_find(call, &page->settings.order);
	page->settings.wants_savings =
		call_choice(call, "saves") == 1 || group_key_is_saving(page->settings.order.key);
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

static struct err *find(struct call *call, void *value)
{
	struct sites_answer *answer = value;
	struct page page = { .call = call };
	struct err *err = page_find(&page);
	struct site *rows = err ? NULL : arena_array(call->arena, page.groups.count, sizeof(*rows));

	if (err || !rows)
		return err ? err : err_nomem();
	for (size_t i = 0; i < page.groups.count && !err; i++)
		err = row_fill(&page, i, &rows[i]);
	answer->by = group_by_words[page.groups.by];
	answer->count = page.groups.total_count;
	answer->rows = (struct shape_rows) { .items = rows, .count = page.groups.count };
	return err;
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
	  .doc = "size, allocated_count, leaked_size, saves ...; with all. before it of all "
		 "allocations",
	  .missing = "size" },
	API_PARAM_ORDER,
	API_PARAM_FRAMES,
	API_PARAM_OFF,
	API_PARAM_N,
	{ .name = "spark",
	  .kind = PARAM_CHOICE,
	  .words = spark_words,
	  .doc = "points of the curve of live bytes of each group",
	  .missing = "0, without curves" },
	{ .name = "saves",
	  .kind = PARAM_CHOICE,
	  .words = saves_words,
	  .doc = "1: the peak without each group, too; all allocations and frees are read for it",
	  .missing = "0, unless sorted by it" },
};

const struct route route_api_sites = {
	.path = "/api/v1/sites",
	.summary = "allocations in groups: by function, stack, source, module, thread ...",
	.shape = &shape_sites,
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
