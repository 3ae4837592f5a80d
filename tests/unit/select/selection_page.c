/* Pages of sorted lists, and other passes over rows, against the same made row by row. */
#include "../random_tape.h"

#include <math.h>
#include <stdio.h>

#include "groups/density.h"
#include "groups/digest.h"
#include "groups/group_filter.h"
#include "groups/measure.h"
#include "space/neighbours.h"
#include "time/curves.h"

enum { SMALL = 6000, BIG = 260000 };

static const struct selection *select_by(struct random_tape *tape, const char *filter)
{
	const struct selection_settings settings = { .filter = filter };
	const struct selection *selection = NULL;

	assert_null(selection_make(tape->model, tape->names, &settings, &tape->arena, &selection));
	return selection;
}

static void check_page(struct random_tape *tape, const struct selection *selection,
		       const char *sort, uint64_t skip, uint64_t count)
{
	struct selection_order order;
	const uint64_t *expected, *rows;
	uint64_t expected_count, row_count;

	assert_null(selection_order_parse(sort, &order));
	assert_null(selection_sorted(selection, &order, skip, count, &tape->arena, &expected,
				     &expected_count));
	assert_null(
		selection_page(selection, &order, skip, count, &tape->arena, &rows, &row_count));
	assert_int_equal(row_count, expected_count);
	for (uint64_t i = 0; i < row_count; i++)
		assert_int_equal(rows[i], expected[i]);
}

static const char *const sorts[] = {
	"size", "size:asc", "lifetime",	 "lifetime:asc", "free_time", "address",
	"site", "thread",   "call:desc", "mark",	 "leaked",    "chain_length",
	"time", "-time",    "free_call", "slack",	 "depth",     "group_leaked",
};

static void a_page_is_a_part_of_the_sorted_list(void **state)
{
	static const char *const filters[] = { "", "size >= 100", "leaked",
					       "size = 7 or temporary" };
	struct random_tape tape;

	(void)state;
	tape_make(&tape, 1, SMALL);
	for (size_t f = 0; f < array_size(filters); f++) {
		const struct selection *selection = select_by(&tape, filters[f]);

		for (size_t i = 0; i < array_size(sorts); i++) {
			for (uint64_t skip = 0; skip < selection->count + 70; skip += 661)
				check_page(&tape, selection, sorts[i], skip, 50);
		}
	}
	tape_unmake(&tape);
}

/* More rows than are ever collected: places in the list are found by counting. */
static void a_page_is_found_without_the_rest(void **state)
{
	struct random_tape tape;
	const struct selection *selection;

	(void)state;
	tape_make(&tape, 2, BIG);
	selection = select_by(&tape, "");
	assert_true(selection->count > 80000);
	for (size_t i = 0; i < array_size(sorts); i++) {
		check_page(&tape, selection, sorts[i], 0, 200);
		check_page(&tape, selection, sorts[i], selection->count / 3, 200);
		check_page(&tape, selection, sorts[i], selection->count - 150, 200);
	}
	tape_unmake(&tape);
}

static void check_permutation(struct random_tape *tape, const struct selection *selection,
			      const char *sort)
{
	struct selection_order order;
	const uint64_t *expected;
	const uint32_t *rows;
	uint64_t count;

	assert_null(selection_order_parse(sort, &order));
	assert_null(selection_sorted(selection, &order, 0, 0, &tape->arena, &expected, &count));
	assert_null(selection_permute(selection, &order, &tape->arena, &rows));
	assert_int_equal(count, selection->count);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(rows[i], expected[i]);
}

static void all_rows_can_be_had_in_an_order(void **state)
{
	static const char *const filters[] = { "", "size >= 100", "leaked", "size = 7",
					       "size > 1G" };
	struct random_tape tape;

	(void)state;
	tape_make(&tape, 12, BIG);
	for (size_t f = 0; f < array_size(filters); f++) {
		const struct selection *selection = select_by(&tape, filters[f]);

		for (size_t i = 0; i < array_size(sorts); i++) {
			if (!strstr(sorts[i], "time") || strstr(sorts[i], "_time"))
				check_permutation(&tape, selection, sorts[i]);
		}
	}
	tape_unmake(&tape);
}

/* Whatever comes before it: some values are made of more than a column, of some rows alone. */
static void a_row_has_the_same_values_in_any_order(void **state)
{
	struct random_tape tape;
	uint64_t rows[MODEL_BATCH], values[MODEL_BATCH], row_count, random = 1;

	(void)state;
	tape_make(&tape, 11, SMALL);
	row_count = model_row_count(tape.model);
	for (size_t i = 0; i < MODEL_BATCH; i++)
		rows[i] = random_next(&random) % row_count;
	rows[0] = row_count - 1;
	for (int column = 0; column < MODEL_COLUMNS; column++) {
		model_rows_gather(tape.model, (enum model_column)column, rows, MODEL_BATCH, values);
		for (size_t i = 0; i < MODEL_BATCH; i++) {
			uint64_t value;

			model_rows_read(tape.model, (enum model_column)column, rows[i], 1, &value);
			assert_int_equal(values[i], value);
		}
	}
	tape_unmake(&tape);
}

/* --- a filter for each group --------------------------------------------------------------- */

static void a_groups_filter_selects_just_the_group(void **state)
{
	struct random_tape tape;

	(void)state;
	tape_make(&tape, 3, SMALL);
	for (enum group_by by = GROUP_BY_STACK; by <= GROUP_BY_PROCESS; by++) {
		const struct selection *selection = select_by(&tape, "size > 50");
		const struct group_settings settings = { .by = by };
		const struct group_filters *filters;
		struct groups groups;

		assert_null(groups_find(selection, &settings, &tape.arena, &groups));
		assert_null(group_filters_make(selection, &groups, &tape.arena, &filters));
		assert_true(groups.count > 0);
		for (size_t i = 0; i < groups.count; i++) {
			const char *text = group_filter(filters, i, &tape.arena);
			const struct group_sums *all = &groups.items[i].all;

			assert_non_null(text);
			selection = select_by(&tape, text);
			assert_int_equal(selection->count, all->sums.allocated.count);
			assert_int_equal(selection->sums.total.allocated.bytes,
					 all->sums.allocated.bytes);
			assert_int_equal(selection->sums.total.leaked.bytes,
					 all->sums.leaked.bytes);
		}
	}
	tape_unmake(&tape);
}

/* --- curves -------------------------------------------------------------------------------- */

static void curves_are_what_was_alive_at_each_moment(void **state)
{
	enum { POINTS = 7 };
	struct random_tape tape;
	const struct selection *selection;
	const struct group_settings settings = { .by = GROUP_BY_THREAD };
	struct groups groups;
	uint64_t values[POINTS * 8], end_ns;

	(void)state;
	tape_make(&tape, 4, SMALL);
	selection = select_by(&tape, "size < 200");
	end_ns = model_process(tape.model)->duration_ns / 2;
	assert_null(groups_find(selection, &settings, &tape.arena, &groups));
	assert_true(groups.count <= 8 && groups.count > 1);
	assert_null(curves_find(selection, &groups, WALK_EXACT, 100, end_ns, POINTS, &tape.arena,
				values));
	for (size_t group = 0; group < groups.count; group++) {
		for (size_t point = 0; point < POINTS; point++) {
			const double width = (double)(end_ns - 100) / POINTS;
			const uint64_t ns = 100 + (uint64_t)ceil(width * (double)(point + 1));
			uint64_t live = 0;

			for (uint64_t i = 0; i < model_row_count(tape.model); i++) {
				const struct tape_row row = tape_row(&tape, i);

				if (selection_has(selection, i) &&
				    row.values[MODEL_THREAD] == groups.items[group].key &&
				    row.values[MODEL_ALLOC_NS] < ns &&
				    row.values[MODEL_FREE_NS] >= ns)
					live += row.values[MODEL_SIZE];
			}
			assert_int_equal(values[group * POINTS + point], live);
		}
	}
	tape_unmake(&tape);
}

/* --- cells --------------------------------------------------------------------------------- */

static size_t slow_cell(const struct density_axis *axis, uint64_t value)
{
	size_t cell = 0;

	while (cell + 1 < axis->count && axis->edges[cell + 1] <= value)
		cell++;
	return cell;
}

static void cells_have_what_belongs_into_them(void **state)
{
	struct random_tape tape;
	const struct selection *selection;
	const struct density_settings settings = {
		.x = DENSITY_SIZE, .y = DENSITY_LIFETIME, .column_count = 9, .row_count = 17
	};
	struct density density;
	struct model_sum cells[9 * 17] = { 0 }, never[9] = { 0 };

	(void)state;
	tape_make(&tape, 5, SMALL);
	selection = select_by(&tape, "size > 3");
	assert_null(density_find(selection, &settings, &tape.arena, &density));
	assert_int_equal(density.x.edges[0], 4);
	for (size_t i = 0; i < density.y.count; i++)
		assert_true(density.y.edges[i] < density.y.edges[i + 1]);
	for (uint64_t i = 0; i < model_row_count(tape.model); i++) {
		const struct tape_row row = tape_row(&tape, i);
		const size_t x = slow_cell(&density.x, row.values[MODEL_SIZE]);
		struct model_sum *sum = &never[x];

		if (!selection_has(selection, i))
			continue;
		if (row.values[MODEL_FLAGS] & MODEL_ALLOCATION_LOST_FREE)
			continue;
		if (row.values[MODEL_FREE_NS] != MODEL_NEVER)
			sum = &cells[slow_cell(&density.y, row.values[MODEL_FREE_NS] -
								   row.values[MODEL_ALLOC_NS]) *
					     density.x.count +
				     x];
		sum->count++;
		sum->bytes += row.values[MODEL_SIZE];
	}
	assert_memory_equal(cells, density.cells,
			    density.x.count * density.y.count * sizeof(*cells));
	assert_memory_equal(never, density.never, density.x.count * sizeof(*never));
	tape_unmake(&tape);
}

/* --- neighbours ---------------------------------------------------------------------------- */

static void neighbours_are_the_nearest_that_lived_together(void **state)
{
	struct random_tape tape;
	const struct sweep_limits limits = { .thread_count = 2 };
	uint64_t row_count;

	(void)state;
	tape_make(&tape, 6, SMALL);
	row_count = model_row_count(tape.model);
	for (uint64_t row = 0; row < row_count; row += 37) {
		const struct tape_row own = tape_row(&tape, row);
		uint64_t before = 0, after = UINT64_MAX;
		struct neighbours found;

		assert_null(neighbours_find(tape.model, row, &limits, &found));
		for (uint64_t i = 0; i < row_count; i++) {
			const struct tape_row other = tape_row(&tape, i);
			const uint64_t address = other.values[MODEL_ADDRESS];

			if (other.values[MODEL_ALLOC_NS] >= own.values[MODEL_FREE_NS] ||
			    other.values[MODEL_FREE_NS] <= own.values[MODEL_ALLOC_NS])
				continue;
			if (address < own.values[MODEL_ADDRESS])
				before = u64_max(before, address);
			if (address > own.values[MODEL_ADDRESS])
				after = u64_min(after, address);
		}
		if (found.before == MODEL_NO_ROW)
			assert_int_equal(before, 0);
		else
			assert_int_equal(tape_row(&tape, found.before).values[MODEL_ADDRESS],
					 before);
		if (found.after == MODEL_NO_ROW)
			assert_int_equal(after, UINT64_MAX);
		else
			assert_int_equal(tape_row(&tape, found.after).values[MODEL_ADDRESS], after);
	}
	tape_unmake(&tape);
}

/* --- sums ---------------------------------------------------------------------------------- */

static void a_digest_has_what_its_rows_have(void **state)
{
	struct random_tape tape;
	const struct selection *selection;
	const struct digest *digest;
	uint64_t usable = 0, reallocs = 0, smaller = 0, not_larger = 0, median, bytes = 0;
	bool is_exact;

	(void)state;
	tape_make(&tape, 7, SMALL);
	selection = select_by(&tape, "size < 1000");
	assert_null(digest_find(selection, 0, model_process(tape.model)->duration_ns + 1,
				&tape.arena, &digest));
	median = digest_median(digest, &is_exact);
	assert_true(is_exact);
	for (uint64_t i = 0; i < model_row_count(tape.model); i++) {
		const struct tape_row row = tape_row(&tape, i);

		if (!selection_has(selection, i))
			continue;
		usable += row.values[MODEL_USABLE];
		reallocs += row.values[MODEL_REALLOC_OF] != MODEL_NO_ROW;
		smaller += row.values[MODEL_SIZE] < median;
		not_larger += row.values[MODEL_SIZE] <= median;
	}
	for (size_t i = 0; i < DIGEST_SPANS; i++)
		bytes += digest->spans[i].allocated.bytes;
	assert_int_equal(digest->count, selection->count);
	assert_int_equal(digest->usable_bytes, usable);
	assert_int_equal(digest->realloc_count, reallocs);
	assert_int_equal(bytes, selection->sums.total.allocated.bytes);
	assert_true(smaller * 2 < selection->count && not_larger * 2 >= selection->count);
	tape_unmake(&tape);
}

static void check_measure(const struct selection *selection, enum metric metric, uint64_t at_ns,
			  struct random_tape *tape)
{
	struct sums sums;
	uint64_t live = 0, slack = 0;

	assert_null(measure_sums(selection, &(struct measure) { .metric = metric, .at_ns = at_ns },
				 &tape->arena, &sums));
	for (uint64_t i = 0; i < model_row_count(tape->model); i++) {
		const struct tape_row row = tape_row(tape, i);

		if (!selection_has(selection, i))
			continue;
		slack += row.values[MODEL_USABLE] - row.values[MODEL_SIZE];
		if (row.values[MODEL_ALLOC_NS] <= at_ns && row.values[MODEL_FREE_NS] > at_ns)
			live += row.values[MODEL_SIZE];
	}
	assert_int_equal(metric_value(metric, &sums.total), metric == METRIC_LIVE ? live : slack);
	assert_int_equal(sums.total.allocated.bytes, selection->sums.total.allocated.bytes);
	assert_int_equal(sums.total.peak.bytes, selection->sums.total.peak.bytes);
}

static void what_lives_and_what_is_wasted_is_summed_up(void **state)
{
	struct random_tape tape;
	uint64_t end_ns;

	(void)state;
	tape_make(&tape, 8, SMALL);
	end_ns = model_process(tape.model)->duration_ns;
	for (int i = 0; i < 2; i++) {
		const struct selection *selection = select_by(&tape, i ? "size > 60" : "");

		check_measure(selection, METRIC_LIVE, end_ns / 3, &tape);
		check_measure(selection, METRIC_LIVE, end_ns, &tape);
		check_measure(selection, METRIC_WASTED, 0, &tape);
	}
	tape_unmake(&tape);
}

static void a_part_of_a_selection_is_that_of_its_stacks(void **state)
{
	struct random_tape tape;
	const struct selection *selection, *part;
	uint8_t *stacks;
	uint64_t count = 0, bytes = 0;

	(void)state;
	tape_make(&tape, 10, BIG);
	selection = select_by(&tape, "size > 20");
	stacks = calloc(model_stack_count(tape.model), 1);
	assert_non_null(stacks);
	for (size_t i = 0; i < model_stack_count(tape.model); i += 2)
		stacks[i] = 1;
	assert_null(selection_narrow(selection, stacks, &tape.arena, &part));
	for (uint64_t i = 0; i < model_row_count(tape.model); i++) {
		const struct tape_row row = tape_row(&tape, i);
		const bool is_in = selection_has(selection, i) && stacks[row.values[MODEL_STACK]];

		assert_int_equal(selection_has(part, i), is_in);
		if (is_in && count++ % 1000 == 0)
			assert_int_equal(selection_row(part, count - 1), i);
		bytes += is_in ? row.values[MODEL_SIZE] : 0;
	}
	assert_int_equal(part->count, count);
	assert_int_equal(part->sums.total.allocated.bytes, bytes);
	free(stacks);
	tape_unmake(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_a_part_of_the_sorted_list),
		cmocka_unit_test(a_page_is_found_without_the_rest),
		cmocka_unit_test(all_rows_can_be_had_in_an_order),
		cmocka_unit_test(a_row_has_the_same_values_in_any_order),
		cmocka_unit_test(a_groups_filter_selects_just_the_group),
		cmocka_unit_test(curves_are_what_was_alive_at_each_moment),
		cmocka_unit_test(cells_have_what_belongs_into_them),
		cmocka_unit_test(neighbours_are_the_nearest_that_lived_together),
		cmocka_unit_test(a_digest_has_what_its_rows_have),
		cmocka_unit_test(what_lives_and_what_is_wasted_is_summed_up),
		cmocka_unit_test(a_part_of_a_selection_is_that_of_its_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
