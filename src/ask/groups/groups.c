#include "groups/groups.h"

#include <assert.h>

#include "base/sort.h"
#include "base/vec.h"
#include "groups/grouping.h"
#include "groups/lifetimes.h"
#include "select/peaks.h"

const char *const group_by_words[] = {
	[GROUP_BY_STACK] = "stack",
	[GROUP_BY_FUNCTION] = "function",
	[GROUP_BY_SOURCE] = "source",
	[GROUP_BY_MODULE] = "module",
	[GROUP_BY_THREAD] = "thread",
	[GROUP_BY_SIZE] = "size",
	[GROUP_BY_MARK] = "mark",
	[GROUP_BY_TAG] = "tag",
	[GROUP_BY_POOL] = "pool",
	[GROUP_BY_CALL] = "call",
	[GROUP_BY_LIFETIME] = "lifetime",
	[GROUP_BY_PROCESS] = "process",
	[GROUP_BYS] = NULL,
};

const char *const group_by_docs[] = {
	[GROUP_BY_STACK] = "the whole call stack",
	[GROUP_BY_FUNCTION] = "the innermost function outside of allocators",
	[GROUP_BY_SOURCE] = "source file and line of that function",
	[GROUP_BY_MODULE] = "program or library of that function",
	[GROUP_BY_THREAD] = "the thread that allocated",
	[GROUP_BY_SIZE] = "powers of two",
	[GROUP_BY_MARK] = "the last mark set before the allocation",
	[GROUP_BY_TAG] = "the tag that the thread had set",
	[GROUP_BY_POOL] = "the pool of the program; of the objects of pools",
	[GROUP_BY_CALL] = "malloc, operator new, realloc ...",
	[GROUP_BY_LIFETIME] = "how long the block lived",
	[GROUP_BY_PROCESS] = "the process, of a process tree; of one process all is one group",
};

static const enum metric metrics[] = {
	[GROUP_SIZE] = METRIC_ALLOCATED,
	[GROUP_COUNT] = METRIC_COUNT,
	[GROUP_LEAKED_SIZE] = METRIC_LEAKED,
	[GROUP_LEAKED_COUNT] = METRIC_LEAKED_COUNT,
	[GROUP_TEMPORARY_SIZE] = METRIC_TEMPORARY_BYTES,
	[GROUP_TEMPORARY_COUNT] = METRIC_TEMPORARY,
	[GROUP_PEAK_SIZE] = METRIC_PEAK,
	[GROUP_PEAK_COUNT] = METRIC_PEAK_COUNT,
};

/* The other keys. */
static const struct key_row {
	const char *word;
	enum group_unit unit;
} rows[GROUP_KEYS] = {
	[GROUP_USABLE_SIZE] = { "usable_size", GROUP_UNIT_BYTES },
	[GROUP_MIN_SIZE] = { "min_size", GROUP_UNIT_BYTES },
	[GROUP_MAX_SIZE] = { "max_size", GROUP_UNIT_BYTES },
	[GROUP_MIN_TIMESTAMP] = { "min_timestamp", GROUP_UNIT_NS },
	[GROUP_MAX_TIMESTAMP] = { "max_timestamp", GROUP_UNIT_NS },
	[GROUP_INTERVAL] = { "interval", GROUP_UNIT_NS },
	[GROUP_RATE] = { "rate", GROUP_UNIT_COUNT },
	[GROUP_LIFETIME_P50] = { "lifetime_p50", GROUP_UNIT_NS },
	[GROUP_LIFETIME_P90] = { "lifetime_p90", GROUP_UNIT_NS },
	[GROUP_LIFETIME_P99] = { "lifetime_p99", GROUP_UNIT_NS },
	[GROUP_LIFETIME_MAX] = { "lifetime_max", GROUP_UNIT_NS },
	[GROUP_USAGE_MAX] = { "max_total_usage", GROUP_UNIT_BYTES },
	[GROUP_USAGE_MAX_TIME] = { "max_total_usage_first_seen_at", GROUP_UNIT_NS },
};

const char *group_key_word(enum group_key key)
{
	assert((unsigned)key < GROUP_KEYS);
	return key <= GROUP_PEAK_COUNT ? metric_group_key(metrics[key]) : rows[key].word;
}

enum group_unit group_key_unit(enum group_key key)
{
	assert((unsigned)key < GROUP_KEYS);
	if (key <= GROUP_PEAK_COUNT)
		return metric_is_bytes(metrics[key]) ? GROUP_UNIT_BYTES : GROUP_UNIT_COUNT;
	return rows[key].unit;
}

/* --- order --------------------------------------------------------------------------------- */

static bool starts_with(const char **text, const char *word)
{
	if (strncmp(*text, word, strlen(word)) != 0)
		return false;
	*text += strlen(word);
	return true;
}

static struct err *direction_parse(const char *word, bool *is_ascending)
{
	*is_ascending = strcmp(word, "asc") == 0;
	if (*is_ascending || strcmp(word, "desc") == 0 || strcmp(word, "dsc") == 0)
		return NULL;
	return err_new(ERR_USAGE, "'%s' is not a direction; expected asc or desc", word);
}

struct err *group_order_parse(const char *text, const char *direction,
			      struct group_order *order_ret)
{
	struct group_order order = { 0 };
	const char *name = text;
	const char *colon;
	struct err *err = direction ? direction_parse(direction, &order.is_ascending) : NULL;

	if (err)
		return err;
	if (!starts_with(&name, "only_matched."))
		order.is_of_all = starts_with(&name, "all.");
	colon = strchr(name, ':');
	if (colon)
		err = direction_parse(colon + 1, &order.is_ascending);
	if (err)
		return err;
	for (unsigned i = 0; i < GROUP_KEYS; i++) {
		const size_t len = colon ? (size_t)(colon - name) : strlen(name);

		const char *word = group_key_word((enum group_key)i);

		if (strlen(word) == len && memcmp(word, name, len) == 0) {
			order.key = (enum group_key)i;
			*order_ret = order;
			return NULL;
		}
	}
	return err_new(
		ERR_USAGE,
		"groups cannot be sorted by '%s'; expected size, allocated_count, leaked_size, "
		"interval ... (memtape-report(1)), prefixed with 'all.' for all allocations",
		text);
}

static uint64_t rate(const struct group_sums *sums)
{
	const uint64_t thousand_seconds = UINT64_C(1000000000000);
	const uint64_t ns = sums->last_ns - sums->first_ns;

	if (ns == 0)
		return FIELD_NONE;
	return (uint64_t)((unsigned __int128)sums->sums.allocated.count * thousand_seconds / ns);
}

uint64_t group_value(const struct group *group, enum group_key key, bool is_of_all)
{
	const struct group_sums *sums = is_of_all ? &group->all : &group->matched;

	assert((unsigned)key < GROUP_KEYS);
	switch (key) {
	case GROUP_SIZE:
	case GROUP_COUNT:
	case GROUP_LEAKED_SIZE:
	case GROUP_LEAKED_COUNT:
	case GROUP_TEMPORARY_SIZE:
	case GROUP_TEMPORARY_COUNT:
	case GROUP_PEAK_SIZE:
	case GROUP_PEAK_COUNT:
		return metric_value(metrics[key], &sums->sums);
	case GROUP_USABLE_SIZE:
		return sums->usable;
	case GROUP_MIN_SIZE:
		return sums->size_min;
	case GROUP_MAX_SIZE:
		return sums->size_max;
	case GROUP_MIN_TIMESTAMP:
		return sums->first_ns;
	case GROUP_MAX_TIMESTAMP:
		return sums->last_ns;
	case GROUP_INTERVAL:
		return sums->last_ns - sums->first_ns;
	case GROUP_RATE:
		return rate(sums);
	case GROUP_LIFETIME_P50:
	case GROUP_LIFETIME_P90:
	case GROUP_LIFETIME_P99:
		return group->lifetimes[is_of_all][key - GROUP_LIFETIME_P50];
	case GROUP_LIFETIME_MAX:
		return sums->freed_count > 0 ? sums->lifetime_max_ns : FIELD_NONE;
	case GROUP_USAGE_MAX:
		return group->usage_max;
	case GROUP_USAGE_MAX_TIME:
		return group->usage_max_ns;
	}
	return FIELD_NONE;
}

int group_compare(const void *context, const void *left, const void *right)
{
	const struct group_order *order = context;
	const struct group *a = left, *b = right;
	const uint64_t a_value = group_value(a, order->key, order->is_of_all);
	const uint64_t b_value = group_value(b, order->key, order->is_of_all);
	int result = sort_compare_u64(b_value, a_value);

	if (a_value == FIELD_NONE || b_value == FIELD_NONE)
		result = -result;
	else if (order->is_ascending)
		result = -result;
	return result ? result : sort_compare_u64(a->matched.first_ns, b->matched.first_ns);
}

/* --- finding ------------------------------------------------------------------------------- */

struct finder {
	const struct selection *selection;
	const struct group_settings *settings;
	struct arena *arena;
	struct grouping grouping;
	struct group *items; /* those with matched allocations */
	size_t count;
	uint32_t *number_of; /* by group of the grouping: its index in items; UINT32_MAX: none */
};

static struct err *items_make(struct finder *finder)
{
	const struct grouping *grouping = &finder->grouping;
	struct group_sums *matched = NULL, *all = NULL;
	struct err *err = group_sums_find(grouping, finder->arena, &matched, &all);

	if (err)
		return err;
	finder->items = arena_array(finder->arena, grouping->count, sizeof(*finder->items));
	finder->number_of = arena_array(finder->arena, grouping->count, sizeof(uint32_t));
	if (!finder->items || !finder->number_of)
		return err_nomem();
	for (uint32_t i = 0; i < grouping->count; i++) {
		finder->number_of[i] = UINT32_MAX;
		if (matched[i].sums.allocated.count == 0)
			continue;
		finder->number_of[i] = (uint32_t)finder->count;
		finder->items[finder->count++] = (struct group) {
			.key = grouping_key(grouping, i),
			.site = grouping->sites ? grouping->sites[i] : NULL,
			.stack = CAPTURE_STACK_NONE,
			.matched = matched[i],
			.all = all[i],
			.lifetimes = { { FIELD_NONE, FIELD_NONE, FIELD_NONE },
				       { FIELD_NONE, FIELD_NONE, FIELD_NONE } },
			.usage_max = FIELD_NONE,
			.usage_max_ns = FIELD_NONE,
		};
	}
	return NULL;
}

/* Each item's stack with the most bytes, and its number of stacks. */
static void items_add_stacks(struct finder *finder)
{
	const struct model_stack_sums *sums = finder->selection->sums.stacks;
	const uint32_t *of_stack = finder->grouping.of_stack;

	for (uint32_t i = 0; of_stack && i < model_stack_count(finder->selection->model); i++) {
		struct group *item;

		/* a damaged index may have sums without rows */
		if (sums[i].allocated.count == 0 || of_stack[i] == UINT32_MAX ||
		    finder->number_of[of_stack[i]] == UINT32_MAX)
			continue;
		item = &finder->items[finder->number_of[of_stack[i]]];
		if (item->stack_count++ == 0 ||
		    sums[i].allocated.bytes > sums[item->stack].allocated.bytes)
			item->stack = i;
	}
}

static void peak_keys(const void *context, struct batch *batch, uint32_t *keys)
{
	grouping_keys(context, batch, keys);
}

static struct err *items_add_usage(struct finder *finder)
{
	const struct grouping *grouping = &finder->grouping;
	CLEAN(free) struct peak *peaks = calloc(grouping->count + 1, sizeof(*peaks));
	struct err *err;

	if (!peaks)
		return err_nomem();
	finder->selection->facts->limits = &finder->selection->limits;
	err = peaks_find(finder->selection->facts, peak_keys, grouping, grouping->count, peaks);
	finder->selection->facts->limits = NULL;
	if (err)
		return err;
	for (uint32_t i = 0; i < grouping->count; i++) {
		if (finder->number_of[i] == UINT32_MAX)
			continue;
		finder->items[finder->number_of[i]].usage_max = peaks[i].bytes;
		finder->items[finder->number_of[i]].usage_max_ns = peaks[i].ns;
	}
	return NULL;
}

/* Only for the items that are shown. */
static struct err *items_add_lifetimes(struct finder *finder, struct group *shown, size_t count)
{
	const struct grouping *grouping = &finder->grouping;
	CLEAN(free) uint32_t *number_of = malloc((grouping->count + 1) * sizeof(*number_of));
	CLEAN(free) uint32_t *shown_of = malloc((finder->count + 1) * sizeof(*shown_of));

	if (!number_of || !shown_of)
		return err_nomem();
	memset(shown_of, 0xff, finder->count * sizeof(*shown_of));
	for (size_t i = 0; i < count; i++)
		shown_of[shown[i].number] = (uint32_t)i;
	for (uint32_t i = 0; i < grouping->count; i++)
		number_of[i] = finder->number_of[i] == UINT32_MAX ? UINT32_MAX
								  : shown_of[finder->number_of[i]];
	return group_lifetimes_find(grouping, number_of, shown, count);
}

static bool is_lifetime(enum group_key key)
{
	return key >= GROUP_LIFETIME_P50 && key <= GROUP_LIFETIME_P99;
}

static struct err *items_fill(struct finder *finder)
{
	const struct group_settings *settings = finder->settings;
	const enum group_key key = settings->order.key;
	struct err *err = items_make(finder);

	if (err)
		return err;
	items_add_stacks(finder);
	for (size_t i = 0; i < finder->count; i++)
		finder->items[i].number = (uint32_t)i;
	if (settings->wants_usage_max || key == GROUP_USAGE_MAX || key == GROUP_USAGE_MAX_TIME)
		err = items_add_usage(finder);
	if (!err && is_lifetime(key))
		err = items_add_lifetimes(finder, finder->items, finder->count);
	return err;
}

struct err *groups_find(const struct selection *selection, const struct group_settings *settings,
			struct arena *arena, struct groups *groups_ret)
{
	struct finder finder = { .selection = selection, .settings = settings, .arena = arena };
	struct groups groups = { .by = settings->by };
	struct group *shown;
	struct err *err =
		grouping_init(&finder.grouping, selection, settings->by, settings->mode, arena);

	assert((unsigned)settings->by < GROUP_BYS);
	assert((unsigned)settings->order.key < GROUP_KEYS);
	if (!err)
		err = items_fill(&finder);
	if (err)
		return err;
	if (!sort_stable(finder.items, finder.count, sizeof(*finder.items), group_compare,
			 &settings->order))
		return err_nomem();
	shown = finder.items + u64_min(settings->skip, finder.count);
	groups.count = finder.count - (size_t)(shown - finder.items);
	if (settings->count)
		groups.count = u64_min(groups.count, settings->count);
	groups.items = shown;
	groups.total_count = finder.count;
	if (settings->wants_lifetimes && !is_lifetime(settings->order.key))
		err = items_add_lifetimes(&finder, shown, groups.count);
	assert(err || groups.count <= groups.total_count);
	if (!err)
		*groups_ret = groups;
	return err;
}

/* --- names --------------------------------------------------------------------------------- */

static void size_title(uint64_t bucket, struct str *out)
{
	if (bucket == 0) {
		str_add(out, "0 B");
		return;
	}
	str_add_iec(out, UINT64_C(1) << (bucket - 1));
	if (bucket > 1) {
		str_add(out, " .. ");
		str_add_iec(out, (UINT64_C(1) << (bucket - 1)) * 2 - 1);
	}
}

static void lifetime_title(uint64_t bucket, struct str *out)
{
	if (bucket == LIFETIME_BUCKETS) {
		str_add(out, "never freed");
		return;
	}
	if (bucket == 0) {
		str_add(out, "under ");
		str_add_duration(out, lifetimes_bucket_max(0) + 1);
		return;
	}
	str_add_duration(out, lifetimes_bucket_min((unsigned)bucket));
	if (bucket + 1 == LIFETIME_BUCKETS) {
		str_add(out, " or more");
		return;
	}
	str_add(out, " .. ");
	str_add_duration(out, lifetimes_bucket_max((unsigned)bucket) + 1);
}

static void thread_title(const struct model_thread *thread, struct str *out)
{
	str_add_u64(out, thread->tid);
	if (thread->name[0])
		str_printf(out, " %s", thread->name);
}

/* Of one process: its file, as ever. */
static void process_title(const struct selection *selection, uint64_t key, struct str *out)
{
	const struct members *members = &selection->facts->members;

	if (!members->of_stack)
		str_add(out, model_process(selection->model)->exe);
	else
		str_printf(out, "%s %u", members->items[key].name, members->items[key].pid);
}

void group_title(const struct selection *selection, const struct groups *groups,
		 const struct group *group, struct str *out)
{
	const struct name *name =
		group->site ? names_get(selection->names, group->site->name) : NULL;

	assert((unsigned)groups->by < GROUP_BYS);
	assert(!group->site || selection->names);
	switch (groups->by) {
	case GROUP_BY_STACK:
	case GROUP_BY_FUNCTION:
		str_add(out, name->function);
		break;
	case GROUP_BY_SOURCE:
		if (group->site->file)
			str_printf(out, "%s:%u", names_short_path(group->site->file),
				   group->site->line);
		else
			str_add(out, "(source not known)");
		break;
	case GROUP_BY_MODULE:
		str_add(out, name->module[0] ? name->module_short : "(no module)");
		break;
	case GROUP_BY_THREAD:
		thread_title(model_thread(selection->model, group->key), out);
		break;
	case GROUP_BY_SIZE:
		size_title(group->key, out);
		break;
	case GROUP_BY_MARK:
		str_add(out, group->key == FIELD_NONE ? "(before the first mark)"
						      : selection->facts->marks[group->key]->text);
		break;
	case GROUP_BY_TAG:
		str_add(out, group->key == FIELD_NONE ? "(no tag)"
						      : selection->facts->tags.texts[group->key]);
		break;
	case GROUP_BY_POOL:
		str_add(out, group->key == FIELD_NONE
				     ? "(the heap)"
				     : model_pools(selection->model)[group->key].name);
		break;
	case GROUP_BY_CALL:
		str_add(out, tape_fn_name((enum tape_fn)group->key));
		break;
	case GROUP_BY_LIFETIME:
		lifetime_title(group->key, out);
		break;
	case GROUP_BY_PROCESS:
		process_title(selection, group->key, out);
		break;
	}
}
