#include "questions/groups.h"

#include <math.h>

#include "questions/questions.h"

/* --- the shape: JSON has the sums as objects, tables have some of them as columns ---------------- */

#define VALUE(word, key, kind, ...) MEMBER_AS(word, struct group_values, of[key], kind, __VA_ARGS__)

static const struct member values_members[] = {
	VALUE("size", GROUP_SIZE, BYTES, "allocated"),
	VALUE("allocated_count", GROUP_COUNT, COUNT, "allocations"),
	VALUE("leaked_size", GROUP_LEAKED_SIZE, BYTES, "never freed, and not suppressed"),
	VALUE("leaked_count", GROUP_LEAKED_COUNT, COUNT, "blocks never freed, and not suppressed"),
	VALUE("temporary_size", GROUP_TEMPORARY_SIZE, BYTES,
	      "freed before their thread allocated again"),
	VALUE("temporary_count", GROUP_TEMPORARY_COUNT, COUNT, "allocations of these"),
	VALUE("peak_size", GROUP_PEAK_SIZE, BYTES, "alive at the peak"),
	VALUE("peak_count", GROUP_PEAK_COUNT, COUNT, "blocks alive at the peak"),
	VALUE("usable_size", GROUP_USABLE_SIZE, BYTES, "what the allocator gave"),
	VALUE("min_size", GROUP_MIN_SIZE, BYTES, "the smallest block", .nullable = true),
	VALUE("max_size", GROUP_MAX_SIZE, BYTES, "the largest block", .nullable = true),
	VALUE("min_timestamp", GROUP_MIN_TIMESTAMP, NS, "the first allocation", .nullable = true),
	VALUE("max_timestamp", GROUP_MAX_TIMESTAMP, NS, "the last allocation", .nullable = true),
	VALUE("interval", GROUP_INTERVAL, NS, "from the first to the last", .nullable = true),
	MEMBER(struct group_values, rate_per_s, RATIO, "allocations per second of the interval",
	       .nullable = true),
	VALUE("lifetime_p50", GROUP_LIFETIME_P50, NS, "half of those freed lived at most so long",
	      .nullable = true),
	VALUE("lifetime_p90", GROUP_LIFETIME_P90, NS, "90 %", .nullable = true),
	VALUE("lifetime_p99", GROUP_LIFETIME_P99, NS, "99 %", .nullable = true),
	VALUE("lifetime_max", GROUP_LIFETIME_MAX, NS, "all", .nullable = true),
};
const struct shape shape_group_values = SHAPE("GroupSums", struct group_values, values_members);

static const struct member all_members[] = {
	MEMBER_ALL_OF(struct group_values, shape_group_values),
	VALUE("max_total_usage", GROUP_USAGE_MAX, BYTES, "most bytes alive at once",
	      .nullable = true),
	VALUE("max_total_usage_first_seen_at", GROUP_USAGE_MAX_TIME, NS, "when for the first time",
	      .nullable = true),
};
static const struct shape shape_all = SHAPE("GroupAll", struct group_values, all_members);

/* A column of CSV only, and one of text only. */
#define CSV(word, values, key, kind)                                                               \
	MEMBER_AS(word, struct group_row, values.of[key], kind, NULL, .nullable = true,            \
		  .is_column = true, .is_wide = true)
#define TEXT(words, key, kind)                                                                     \
	MEMBER_AS(words, struct group_row, matched.of[key], kind, NULL, .title = (words),          \
		  .nullable = true, .is_text = true)

static const struct member group_members[] = {
	MEMBER(struct group_row, title, TEXT, "what it is called", .is_wide = true),
	MEMBER(struct group_row, place, FLAT, NULL, .shape = &shape_place, .is_wide = true),
	MEMBER(struct group_row, stack_id, PLAIN, "of the stack", .nullable = true,
	       .is_wide = true),
	MEMBER(struct group_row, stacks, COUNT, "number of different stacks", .nullable = true,
	       .is_wide = true),
	MEMBER_AS("only_matched", struct group_row, matched, OBJECT, "what the filter lets through",
		  .shape = &shape_group_values, .is_data = true),
	MEMBER(struct group_row, all, OBJECT, "the group on the whole tape", .shape = &shape_all,
	       .is_data = true),
	MEMBER(struct group_row, saves_bytes, BYTES,
	       "by how much the peak is lower without the matched ones; null if not sorted by it",
	       .nullable = true, .is_data = true),
	MEMBER(struct group_row, peak_without_bytes, BYTES, "the peak that is left",
	       .nullable = true, .is_data = true),
	MEMBER(struct group_row, peak_without_ns, NS, "when that is", .nullable = true,
	       .is_data = true),
	MEMBER(struct group_row, stack, FRAMES,
	       "the one with most matched bytes; null in groups that are not made of stacks",
	       .nullable = true, .is_data = true),
	CSV("size", matched, GROUP_SIZE, BYTES),
	CSV("allocated_count", matched, GROUP_COUNT, COUNT),
	CSV("leaked_size", matched, GROUP_LEAKED_SIZE, BYTES),
	CSV("leaked_count", matched, GROUP_LEAKED_COUNT, COUNT),
	CSV("temporary_size", matched, GROUP_TEMPORARY_SIZE, BYTES),
	CSV("temporary_count", matched, GROUP_TEMPORARY_COUNT, COUNT),
	CSV("peak_size", matched, GROUP_PEAK_SIZE, BYTES),
	CSV("peak_count", matched, GROUP_PEAK_COUNT, COUNT),
	CSV("usable_size", matched, GROUP_USABLE_SIZE, BYTES),
	CSV("min_size", matched, GROUP_MIN_SIZE, BYTES),
	CSV("max_size", matched, GROUP_MAX_SIZE, BYTES),
	CSV("min_timestamp", matched, GROUP_MIN_TIMESTAMP, NS),
	CSV("max_timestamp", matched, GROUP_MAX_TIMESTAMP, NS),
	CSV("interval", matched, GROUP_INTERVAL, NS),
	CSV("lifetime_p50", matched, GROUP_LIFETIME_P50, NS),
	CSV("lifetime_p90", matched, GROUP_LIFETIME_P90, NS),
	CSV("lifetime_p99", matched, GROUP_LIFETIME_P99, NS),
	CSV("lifetime_max", matched, GROUP_LIFETIME_MAX, NS),
	CSV("all_size", all, GROUP_SIZE, BYTES),
	CSV("all_count", all, GROUP_COUNT, COUNT),
	CSV("all_leaked_size", all, GROUP_LEAKED_SIZE, BYTES),
	CSV("all_leaked_count", all, GROUP_LEAKED_COUNT, COUNT),
	TEXT("bytes", GROUP_SIZE, BYTES),
	TEXT("calls", GROUP_COUNT, COUNT),
	MEMBER(struct group_row, share, SHARE, NULL, .title = "of all", .is_text = true),
	TEXT("leaked", GROUP_LEAKED_SIZE, BYTES),
	TEXT("blocks", GROUP_LEAKED_COUNT, COUNT),
	TEXT("at peak", GROUP_PEAK_SIZE, BYTES),
	TEXT("temporary", GROUP_TEMPORARY_COUNT, COUNT),
	TEXT("median life", GROUP_LIFETIME_P50, NS),
	TEXT("p99 life", GROUP_LIFETIME_P99, NS),
	MEMBER_AS("group", struct group_row, title, TEXT, NULL, .title = "group", .left = true,
		  .elastic = true, .is_text = true),
};
static const struct shape shape_group = SHAPE("GroupRow", struct group_row, group_members);

static const struct member groups_members[] = {
	MEMBER(struct groups_answer, by, TEXT, "what they have in common"),
	MEMBER(struct groups_answer, sort, TEXT, "what they are sorted by"),
	MEMBER(struct groups_answer, ascending, FLAG, NULL),
	MEMBER(struct groups_answer, filter, TEXT, NULL, .nullable = true),
	MEMBER(struct groups_answer, allocations, COUNT, "that the filter lets through"),
	MEMBER(struct groups_answer, total_count, COUNT, "groups"),
	MEMBER(struct groups_answer, groups, ROWS, NULL, .shape = &shape_group),
	MEMBER(struct groups_answer, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_groups = SHAPE("Groups", struct groups_answer, groups_members);

/* --- the answer --------------------------------------------------------------------------------- */

static struct err *order_of(const struct parameters *with, struct group_order *order)
{
	return group_order_parse(with->sort ? with->sort : "size", NULL, order);
}

static struct err *check(const struct parameters *with)
{
	struct group_order order;

	return order_of(with, &order);
}

struct group_values group_values_of(const struct group *group, bool is_of_all)
{
	struct group_values values;

	for (unsigned key = 0; key < GROUP_KEYS; key++)
		values.of[key] = group_value(group, (enum group_key)key, is_of_all);
	values.rate_per_s =
		values.of[GROUP_RATE] == FIELD_NONE ? NAN : (double)values.of[GROUP_RATE] / 1000;
	return values;
}

static struct err *row_fill(const struct asked *asked, const struct groups *groups,
			    const struct group *group, struct group_row *row)
{
	CLEAN(str_deinit) struct str title = { 0 };

	group_title(asked->selection, groups, group, &title);
	*row = (struct group_row) {
		.title = arena_strdup(asked->arena, str_text(&title)),
		.place = place_of(asked->model, asked->names, group->site),
		.stack_id = group->site ? group->stack : SHAPE_NONE,
		.stacks = group->site ? group->stack_count : SHAPE_NONE,
		.matched = group_values_of(group, false),
		.all = group_values_of(group, true),
		.saves_bytes = group->saves,
		.peak_without_bytes = group->peak_without,
		.peak_without_ns = group->peak_without_ns,
		.share = { group->matched.sums.allocated.bytes, group->all.sums.allocated.bytes },
		.stack = group->site ? group->stack : CAPTURE_STACK_NONE,
	};
	return row->title ? NULL : err_nomem();
}

static struct err *rows_fill(const struct asked *asked, const struct groups *groups,
			     struct shape_rows *rows)
{
	struct group_row *items = arena_array(asked->arena, groups->count + 1, sizeof(*items));
	struct err *err = items ? NULL : err_nomem();

	for (size_t i = 0; i < groups->count && !err; i++)
		err = row_fill(asked, groups, &groups->items[i], &items[i]);
	*rows = (struct shape_rows) { .items = items, .count = groups->count };
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	const struct parameters *with = asked->with;
	struct group_settings settings = {
		.by = (enum group_by)with->by,
		.mode = asked->mode,
		.skip = with->skip,
		.count = with->top,
		.wants_lifetimes = true,
		.wants_usage_max = !asked->is_for_table,
	};
	struct groups_answer *answer = result;
	struct groups groups = { 0 };
	struct err *err = order_of(with, &settings.order);

	if (!err)
		err = groups_find(asked->selection, &settings, asked->arena, &groups);
	if (!err)
		err = rows_fill(asked, &groups, &answer->groups);
	if (err)
		return err;
	answer->by = group_by_words[groups.by];
	answer->sort = arena_printf(asked->arena, "%s.%s",
				    settings.order.is_of_all ? "all" : "only_matched",
				    group_key_word(settings.order.key));
	answer->ascending = settings.order.is_ascending;
	answer->filter = with->filter;
	answer->allocations = asked->selection->count;
	answer->total_count = groups.total_count;
	return answer->sort ? about_find(asked, &answer->about) : err_nomem();
}

const struct question question_groups = {
	.name = "groups",
	.summary = "allocations by function, stack, line, module, thread, size, mark or call",
	.shape = &shape_groups,
	.depth = MODEL_FULL,
	.takes = TAKES(by) | TAKES(top) | TAKES(skip) | TAKES(sort),
	.selects = true,
	.check = check,
	.ask = ask,
};
