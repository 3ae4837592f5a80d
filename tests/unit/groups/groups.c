/* Groups against sums made anew, row by row. */
#include "../random_tape.h"

#include <stdio.h>

#include "base/str.h"
#include "groups/groups.h"
#include "groups/lifetimes.h"

enum { ROWS = 5000, BIG = 150000 };

static const struct selection *select_by(struct random_tape *tape, const char *filter)
{
	const struct selection_settings settings = { .filter = filter };
	const struct selection *selection = NULL;

	assert_null(selection_make(tape->model, tape->names, &settings, &tape->arena, &selection));
	return selection;
}

/* Whether a row belongs to a group, by the group's key as groups.h has it. */
static bool belongs(const struct random_tape *tape, const struct groups *groups,
		    const struct group *group, const struct tape_row *row)
{
	const uint64_t size = row->values[MODEL_SIZE];
	struct walk walk;
	const struct model_note *mark = NULL;
	uint64_t lifetime;

	switch (groups->by) {
	case GROUP_BY_STACK:
		return row->values[MODEL_STACK] == group->stack;
	case GROUP_BY_FUNCTION:
	case GROUP_BY_MODULE:
	case GROUP_BY_SOURCE:
		walk = walk_begin(tape->model, tape->names, (uint32_t)row->values[MODEL_STACK],
				  WALK_EXACT);
		if (groups->by == GROUP_BY_FUNCTION)
			return walk_next(&walk)->name == group->key;
		/* No sources, and "[jit]" and "" as modules. */
		return groups->by == GROUP_BY_SOURCE ||
		       strcmp(names_get(tape->names, walk_next(&walk)->name)->module,
			      names_get(tape->names, group->site->name)->module) == 0;
	case GROUP_BY_THREAD:
		return row->values[MODEL_THREAD] == group->key;
	case GROUP_BY_SIZE:
		return group->key == 0 ? size == 0
				       : size >= UINT64_C(1) << (group->key - 1) &&
						 size < UINT64_C(1) << group->key;
	case GROUP_BY_MARK:
		for (size_t i = 0; i < model_note_count(tape->model); i++) {
			const struct model_note *note = &model_notes(tape->model)[i];

			if (note->type == TAPE_EXT_MARK && note->ns <= row->values[MODEL_ALLOC_NS])
				mark = note;
		}
		return mark ? group->key != FIELD_NONE &&
				       strcmp(mark->text, group->key ? "a phase" : "loaded") == 0
			    : group->key == FIELD_NONE;
	case GROUP_BY_POOL:
		return group->key == FIELD_NONE; /* a model of the heap */
	case GROUP_BY_TAG:
		for (size_t i = 0; i < model_note_count(tape->model); i++) {
			const struct model_note *note = &model_notes(tape->model)[i];

			if (note->type == TAPE_EXT_TAG &&
			    note->thread == row->values[MODEL_THREAD] &&
			    note->ns <= row->values[MODEL_ALLOC_NS])
				mark = note;
		}
		return mark && mark->tag.is_set
			       ? group->key != FIELD_NONE &&
					 strcmp(mark->text, group->key ? "write" : "read") == 0
			       : group->key == FIELD_NONE;
	case GROUP_BY_CALL:
		return strcmp(tape_fn_name((enum tape_fn)row->values[MODEL_FN]),
			      tape_fn_name((enum tape_fn)group->key)) == 0;
	case GROUP_BY_LIFETIME:
		if (row->values[MODEL_FREE_NS] == MODEL_NEVER)
			return group->key == LIFETIME_BUCKETS;
		lifetime = row->values[MODEL_FREE_NS] - row->values[MODEL_ALLOC_NS];
		return group->key < LIFETIME_BUCKETS &&
		       lifetime >= lifetimes_bucket_min((unsigned)group->key) &&
		       lifetime <= lifetimes_bucket_max((unsigned)group->key);
	case GROUP_BY_PROCESS:
		return true;
	}
	return false;
}

static void add(struct group_sums *sums, const struct tape_row *row)
{
	const uint64_t *v = row->values;
	const bool is_leaked = v[MODEL_FREE_NS] == MODEL_NEVER;
	const bool is_temporary = v[MODEL_FLAGS] & MODEL_ALLOCATION_TEMPORARY;
	const bool is_at_peak = v[MODEL_FLAGS] & MODEL_ALLOCATION_PEAK;
	const uint64_t lifetime = is_leaked ? 0 : v[MODEL_FREE_NS] - v[MODEL_ALLOC_NS];
	const bool is_first = sums->sums.allocated.count++ == 0;

	sums->sums.allocated.bytes += v[MODEL_SIZE];
	sums->sums.leaked.count += is_leaked;
	sums->sums.leaked.bytes += is_leaked ? v[MODEL_SIZE] : 0;
	sums->sums.temporary.count += is_temporary;
	sums->sums.temporary.bytes += is_temporary ? v[MODEL_SIZE] : 0;
	sums->sums.peak.count += is_at_peak;
	sums->sums.peak.bytes += is_at_peak ? v[MODEL_SIZE] : 0;
	sums->usable += v[MODEL_USABLE];
	sums->leaked_usable += is_leaked ? v[MODEL_USABLE] : 0;
	sums->size_min = is_first ? v[MODEL_SIZE] : u64_min(sums->size_min, v[MODEL_SIZE]);
	sums->size_max = u64_max(sums->size_max, v[MODEL_SIZE]);
	sums->first_ns = is_first ? v[MODEL_ALLOC_NS] : sums->first_ns;
	sums->last_ns = v[MODEL_ALLOC_NS];
	sums->freed_count += v[MODEL_FREE_NS] != MODEL_NEVER;
	sums->lifetime_sum_ns += lifetime;
	sums->lifetime_max_ns = u64_max(sums->lifetime_max_ns, lifetime);
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The true percentile is at most this, and more than 15/16 of it. */
static void check_percentiles(const uint64_t *shown, uint64_t *lifetimes, size_t count)
{
	static const size_t percents[] = { 50, 90, 99 };

	qsort(lifetimes, count, sizeof(*lifetimes), compare_u64);
	for (int i = 0; i < GROUP_PERCENTILES; i++) {
		const size_t at = div_up(count * percents[i], 100);
		uint64_t truth;

		if (count == 0) {
			assert_int_equal(shown[i], FIELD_NONE);
			continue;
		}
		truth = lifetimes[at ? at - 1 : 0];
		assert_true(shown[i] >= truth);
		assert_true(shown[i] <= truth + truth / 16);
	}
}

static void check_group(struct random_tape *tape, const struct selection *selection,
			const struct groups *groups, const struct group *group,
			const struct tape_row *rows)
{
	const uint64_t count = model_row_count(tape->model);
	struct group_sums sums[2] = { 0 }; /* matched, all */
	uint64_t *lifetimes[2];
	size_t freed[2] = { 0 };

	lifetimes[0] = calloc(2 * count + 1, sizeof(uint64_t));
	assert_non_null(lifetimes[0]);
	lifetimes[1] = lifetimes[0] + count;
	for (uint64_t i = 0; i < count; i++) {
		if (!belongs(tape, groups, group, &rows[i]))
			continue;
		for (int is_all = 0; is_all < 2; is_all++) {
			if (!is_all && !selection_has(selection, i))
				continue;
			add(&sums[is_all], &rows[i]);
			if (rows[i].values[MODEL_FREE_NS] != MODEL_NEVER)
				lifetimes[is_all][freed[is_all]++] = rows[i].values[MODEL_FREE_NS] -
								     rows[i].values[MODEL_ALLOC_NS];
		}
	}
	assert_memory_equal(&sums[0], &group->matched, sizeof(*sums));
	assert_memory_equal(&sums[1], &group->all, sizeof(*sums));
	check_percentiles(group->lifetimes[0], lifetimes[0], freed[0]);
	check_percentiles(group->lifetimes[1], lifetimes[1], freed[1]);
	free(lifetimes[0]);
}

static void check_all(size_t row_count, const char *filter)
{
	struct random_tape tape;
	const struct selection *selection;
	struct tape_row *rows;

	tape_make(&tape, row_count, row_count);
	selection = select_by(&tape, filter);
	rows = calloc(model_row_count(tape.model), sizeof(*rows));
	assert_non_null(rows);
	for (uint64_t i = 0; i < model_row_count(tape.model); i++)
		rows[i] = tape_row(&tape, i);
	for (int by = 0; by < GROUP_BYS; by++) {
		const struct group_settings settings = { .by = (enum group_by)by,
							 .wants_lifetimes = true };
		struct groups groups;
		uint64_t matched = 0;

		assert_null(groups_find(selection, &settings, &tape.arena, &groups));
		assert_true(groups.count > 0);
		assert_int_equal(groups.count, groups.total_count);
		for (size_t i = 0; i < groups.count; i++) {
			CLEAN(str_deinit) struct str title = { 0 };

			check_group(&tape, selection, &groups, &groups.items[i], rows);
			matched += groups.items[i].matched.sums.allocated.count;
			group_title(selection, &groups, &groups.items[i], &title);
			assert_true(by == GROUP_BY_PROCESS || title.len > 0);
		}
		assert_int_equal(matched, selection->count);
	}
	free(rows);
	tape_unmake(&tape);
}

static void a_group_shows_its_heaviest_stack(void **state)
{
	struct random_tape tape;
	const struct group_settings settings = { .by = GROUP_BY_PROCESS };
	const struct group_settings by_module = { .by = GROUP_BY_MODULE };
	const struct selection *selection;
	const struct sums *sums;
	struct groups groups;

	(void)state;
	tape_make(&tape, 31, ROWS);
	selection = select_by(&tape, "size < 1000");
	sums = &selection->sums;
	assert_null(groups_find(selection, &by_module, &tape.arena, &groups));
	assert_true(groups.items[0].stack_count > 5);
	for (size_t i = CAPTURE_STACK_FIRST; i < model_stack_count(tape.model); i++)
		assert_true(sums_of_stack(sums, i)->allocated.bytes <=
			    sums_of_stack(sums, groups.items[0].stack)->allocated.bytes);
	assert_null(groups_find(selection, &settings, &tape.arena, &groups));
	assert_int_equal(groups.items[0].stack, CAPTURE_STACK_NONE);
	tape_unmake(&tape);
}

static void groups_of_a_selection_are_sums_of_their_rows(void **state)
{
	(void)state;
	check_all(ROWS, "size > 100 and not temporary");
	check_all(ROWS, "function ~ 'parse'");
}

static void groups_of_everything_are_too(void **state)
{
	(void)state;
	check_all(ROWS, NULL);
}

/* The first and the last row of the group's stack. */
static void check_times(const struct random_tape *tape, const struct group *group)
{
	const uint64_t count = model_row_count(tape->model);
	uint64_t first = 0, last = count - 1, stack;

	for (; first < count; first++) {
		model_rows_read(tape->model, MODEL_STACK, first, 1, &stack);
		if (stack == group->stack)
			break;
	}
	for (;; last--) {
		model_rows_read(tape->model, MODEL_STACK, last, 1, &stack);
		if (stack == group->stack)
			break;
	}
	assert_int_equal(tape_row(tape, first).values[MODEL_ALLOC_NS], group->all.first_ns);
	assert_int_equal(tape_row(tape, last).values[MODEL_ALLOC_NS], group->matched.last_ns);
}

static void many_segments_make_the_same_groups(void **state)
{
	struct random_tape tape;
	const struct group_settings settings = { .by = GROUP_BY_STACK };
	struct groups groups;
	struct model_sum all = { 0 };

	(void)state;
	tape_make(&tape, 1, 2 * BIG);
	assert_true(model_row_count(tape.model) > 2 * MODEL_SEGMENT);
	assert_null(groups_find(select_by(&tape, "all"), &settings, &tape.arena, &groups));
	for (size_t i = 0; i < groups.count; i++) {
		const struct group *group = &groups.items[i];
		const struct model_stack_sums *sums = model_stack_sums(tape.model, group->stack);

		assert_int_equal(group->all.sums.allocated.count, sums->allocated.count);
		assert_int_equal(group->matched.sums.leaked.bytes, sums->leaked.bytes);
		assert_int_equal(group->matched.sums.peak.bytes, sums->peak.bytes);
		assert_int_equal(group->stack_count, 1);
		check_times(&tape, group);
		all.count += group->matched.sums.allocated.count;
	}
	assert_int_equal(all.count, model_row_count(tape.model));
	tape_unmake(&tape);
}

/* --- order --------------------------------------------------------------------------------- */

static void any_key_sorts_both_ways(void **state)
{
	struct random_tape tape;
	const struct selection *selection;

	(void)state;
	tape_make(&tape, 21, ROWS);
	selection = select_by(&tape, "size > 50");
	for (unsigned key = 0; key < GROUP_KEYS; key++) {
		for (unsigned kind = 0; kind < 4; kind++) {
			struct group_settings settings = { .by = GROUP_BY_STACK };
			struct groups groups;
			char text[100];

			snprintf(text, sizeof(text), "%s.%s%s", kind & 1 ? "all" : "only_matched",
				 group_key_word(key), kind & 2 ? ":asc" : "");
			assert_null(group_order_parse(text, NULL, &settings.order));
			assert_null(groups_find(selection, &settings, &tape.arena, &groups));
			for (size_t i = 1; i < groups.count; i++) {
				const uint64_t before = group_value(&groups.items[i - 1],
								    settings.order.key, kind & 1);
				const uint64_t value =
					group_value(&groups.items[i], settings.order.key, kind & 1);

				if (value != FIELD_NONE)
					assert_true(kind & 2 ? before <= value : before >= value);
			}
		}
	}
	tape_unmake(&tape);
}

static void a_page_is_a_part_of_the_list(void **state)
{
	struct random_tape tape;
	struct group_settings settings = { .by = GROUP_BY_STACK };
	struct groups all, page;

	(void)state;
	tape_make(&tape, 22, ROWS);
	assert_null(groups_find(select_by(&tape, NULL), &settings, &tape.arena, &all));
	settings.skip = 3;
	settings.count = 4;
	assert_null(groups_find(select_by(&tape, NULL), &settings, &tape.arena, &page));
	assert_int_equal(page.count, 4);
	assert_int_equal(page.total_count, all.count);
	for (size_t i = 0; i < page.count; i++)
		assert_int_equal(page.items[i].stack, all.items[i + 3].stack);
	settings.skip = 1000;
	assert_null(groups_find(select_by(&tape, NULL), &settings, &tape.arena, &page));
	assert_int_equal(page.count, 0);
	assert_null(groups_find(select_by(&tape, "not all"), &settings, &tape.arena, &page));
	assert_int_equal(page.total_count, 0);
	tape_unmake(&tape);
}

static void words_of_order_are_understood(void **state)
{
	static const struct {
		const char *text;
		const char *direction;
		bool is_right;
		struct group_order order;
	} rows[] = {
		{ "size", NULL, true, { GROUP_SIZE, false, false } },
		{ "only_matched.size", "asc", true, { GROUP_SIZE, false, true } },
		{ "all.leaked_count", "dsc", true, { GROUP_LEAKED_COUNT, true, false } },
		{ "all.max_total_usage_first_seen_at:asc",
		  "desc",
		  true,
		  { GROUP_USAGE_MAX_TIME, true, true } },
		{ "interval:desc", NULL, true, { GROUP_INTERVAL, false, false } },
		{ "siz", NULL, false, { 0 } },
		{ "size:up", NULL, false, { 0 } },
		{ "size", "down", false, { 0 } },
		{ "some.size", NULL, false, { 0 } },
		{ "", NULL, false, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct group_order order = { 0 };
		CLEAN(err_destroy)
		struct err *err = group_order_parse(rows[i].text, rows[i].direction, &order);

		assert_int_equal(err == NULL, rows[i].is_right);
		assert_int_equal(order.key, rows[i].order.key);
		assert_int_equal(order.is_of_all, rows[i].order.is_of_all);
		assert_int_equal(order.is_ascending, rows[i].order.is_ascending);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_of_a_selection_are_sums_of_their_rows),
		cmocka_unit_test(groups_of_everything_are_too),
		cmocka_unit_test(many_segments_make_the_same_groups),
		cmocka_unit_test(a_group_shows_its_heaviest_stack),
		cmocka_unit_test(any_key_sorts_both_ways),
		cmocka_unit_test(a_page_is_a_part_of_the_list),
		cmocka_unit_test(words_of_order_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
