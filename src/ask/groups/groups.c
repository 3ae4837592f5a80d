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
			.saves = FIELD_NONE,
			.peak_without = FIELD_NONE,
			.peak_without_ns = FIELD_NONE,
		};
	}
	return NULL;
}

/* Each item's stack with the most bytes, and its number of stacks. */
static void items_add_stacks(struct finder *finder)
{
	const struct sums *sums = &finder->selection->sums;
	const uint32_t *of_stack = finder->grouping.of_stack;

	for (uint32_t i = 0; of_stack && i < model_stack_count(finder->selection->model); i++) {
		const struct model_sum allocated = sums_of_stack(sums, i)->allocated;
		struct group *item;

		/* a damaged index may have sums without rows */
		if (allocated.count == 0 || of_stack[i] == UINT32_MAX ||
		    finder->number_of[of_stack[i]] == UINT32_MAX)
			continue;
		item = &finder->items[finder->number_of[of_stack[i]]];
		if (item->stack_count++ == 0 ||
		    allocated.bytes > sums_of_stack(sums, item->stack)->allocated.bytes)
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

static struct err *items_add_savings(struct finder *finder)
{
	const struct grouping *grouping = &finder->grouping;
	CLEAN(free) struct peak *groups = calloc(grouping->count + 1, sizeof(*groups));
	struct without without = { .groups = groups };
	struct err *err = groups ? savings_find(grouping, &without) : err_nomem();

	if (err)
		return err;
	for (uint32_t i = 0; i < grouping->count; i++) {
		struct group *item;

		if (finder->number_of[i] == UINT32_MAX)
			continue;
		item = &finder->items[finder->number_of[i]];
		item->saves = without.peak.bytes - groups[i].bytes;
		item->peak_without = groups[i].bytes;
		item->peak_without_ns = groups[i].ns;
	}
	return NULL;
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
	if (!err && (settings->wants_savings || group_key_is_saving(key)))
		err = items_add_savings(finder);
	if (!err && is_lifetime(key))
		err = items_add_lifetimes(finder, finder->items, finder->count);
	return err;
}

struct err *groups_find(const struct selection *selection, const struct group_settings *settings,
			struct arena *arena, struct groups *groups_ret)
{
	struct finder finder = { .selection = selection, .settings = settings, .arena = arena };
	struct groups groups = { .by = settings->by, .mode = settings->mode };
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
	if (thread->name[0])
		str_printf(out, "%s (%u)", thread->name, thread->tid);
	else
		str_add_u64(out, thread->tid);
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
		str_add(out, name->brief);
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
