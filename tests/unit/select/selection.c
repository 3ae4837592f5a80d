/*
 * Selections against the obvious: every expression is evaluated a second time, row by row, by code
 * that knows nothing of plans, batches, bitmaps and bounds.
 */
#include "../random_tape.h"

#include <stdio.h>

#include "base/str.h"
#include "select/selection.h"
#include "sums/walk.h"

enum { SMALL = 6000, BIG = 260000 };

/* --- the obvious evaluator ----------------------------------------------------------------- */

static struct tape_row chain_end(const struct random_tape *tape, const struct tape_row *row,
				 bool is_last)
{
	struct model_chain chain;

	if (row->values[MODEL_CHAIN] == MODEL_NO_CHAIN)
		return *row;
	chain = model_chain_get(tape->model, row->values[MODEL_CHAIN]);
	return tape_row(tape, is_last ? chain.last_row : chain.first_row);
}

static uint64_t chain_position(const struct random_tape *tape, const struct tape_row *row)
{
	struct tape_row at = *row;
	uint64_t position = 0;

	for (; at.values[MODEL_REALLOC_OF] != MODEL_NO_ROW; position++)
		at = tape_row(tape, at.values[MODEL_REALLOC_OF]);
	return position;
}

struct group_sums_slow {
	uint64_t count, bytes, leaked, leaked_bytes, temporary, first, last, usage_max,
		usage_max_ns;
	bool is_used;
};

struct slow {
	const struct random_tape *tape;
	struct tape_row *rows;
	struct group_sums_slow *groups; /* by stack */
};

/* What is alive of a stack after each of its allocations, counted anew. */
static void slow_usage(struct slow *slow, uint64_t at, uint64_t count)
{
	const uint64_t *now = slow->rows[at].values;
	struct group_sums_slow *group = &slow->groups[now[MODEL_STACK]];
	uint64_t live = 0;

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t *row = slow->rows[i].values;
		const bool is_made = i <= at;
		/* Of equal times frees come first, but for those of what is not made yet. */
		const bool is_freed = row[MODEL_FREE_NS] <= now[MODEL_ALLOC_NS] && i != at;

		if (row[MODEL_STACK] == now[MODEL_STACK] && is_made && !is_freed)
			live += row[MODEL_SIZE];
	}
	if (live > group->usage_max || !group->is_used) {
		group->is_used = true;
		group->usage_max = live;
		group->usage_max_ns = now[MODEL_ALLOC_NS];
	}
}

static void slow_init(struct slow *slow, const struct random_tape *tape, bool wants_usage)
{
	const uint64_t count = model_row_count(tape->model);

	slow->tape = tape;
	slow->rows = calloc(count, sizeof(*slow->rows));
	slow->groups = calloc(model_stack_count(tape->model), sizeof(*slow->groups));
	assert_non_null(slow->rows);
	assert_non_null(slow->groups);
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t *row = (slow->rows[i] = tape_row(tape, i)).values;
		struct group_sums_slow *group = &slow->groups[row[MODEL_STACK]];
		const bool is_leaked = row[MODEL_FREE_NS] == MODEL_NEVER;
		const bool is_temporary = row[MODEL_FLAGS] & MODEL_ALLOCATION_TEMPORARY;

		if (group->count++ == 0)
			group->first = row[MODEL_ALLOC_NS];
		group->last = row[MODEL_ALLOC_NS];
		group->bytes += row[MODEL_SIZE];
		group->leaked += is_leaked;
		group->leaked_bytes += is_leaked ? row[MODEL_SIZE] : 0;
		group->temporary += is_temporary;
	}
	for (uint64_t i = 0; wants_usage && i < count; i++)
		slow_usage(slow, i, count);
}

static void slow_deinit(struct slow *slow)
{
	free(slow->rows);
	free(slow->groups);
}

static uint64_t depth_of(const struct model *model, uint64_t stack)
{
	uint64_t depth = 0;

	for (; stack >= CAPTURE_STACK_FIRST; stack = model_stacks(model)[stack].parent)
		depth++;
	return depth;
}

static uint64_t root_of(const struct model *model, uint64_t stack)
{
	while (stack >= CAPTURE_STACK_FIRST)
		stack = model_stacks(model)[stack].parent;
	return stack;
}

static uint64_t slow_number(const struct slow *slow, const struct tape_row *row, const char *name)
{
	const struct model *model = slow->tape->model;
	const uint64_t *v = row->values;
	const struct group_sums_slow *group = &slow->groups[v[MODEL_STACK]];
	const uint64_t duration = model_process(model)->duration_ns;
	const bool is_leaked = v[MODEL_FREE_NS] == MODEL_NEVER;
	const bool has_freer = v[MODEL_FREE_THREAD] != MODEL_NO_THREAD;
	const struct tape_row first = chain_end(slow->tape, row, false);
	const struct tape_row last = chain_end(slow->tape, row, true);
	const uint64_t last_free = last.values[MODEL_FREE_NS];
	const struct {
		const char *name;
		uint64_t value;
	} values[] = {
		{ "size", v[MODEL_SIZE] },
		{ "usable", v[MODEL_USABLE] },
		{ "slack", v[MODEL_USABLE] - v[MODEL_SIZE] },
		{ "address", v[MODEL_ADDRESS] },
		{ "time", v[MODEL_ALLOC_NS] },
		{ "free_time", is_leaked ? FIELD_NONE : v[MODEL_FREE_NS] },
		{ "lifetime", is_leaked ? FIELD_NONE : v[MODEL_FREE_NS] - v[MODEL_ALLOC_NS] },
		{ "age", (is_leaked ? duration : v[MODEL_FREE_NS]) - v[MODEL_ALLOC_NS] },
		{ "thread", model_thread(model, v[MODEL_THREAD])->tid },
		{ "free_thread",
		  has_freer ? model_thread(model, v[MODEL_FREE_THREAD])->tid : FIELD_NONE },
		{ "stack", v[MODEL_STACK] },
		{ "leaked", is_leaked },
		{ "freed", !is_leaked },
		{ "temporary", (v[MODEL_FLAGS] & MODEL_ALLOCATION_TEMPORARY) != 0 },
		{ "at_peak", (v[MODEL_FLAGS] & MODEL_ALLOCATION_PEAK) != 0 },
		{ "reallocated", (v[MODEL_FLAGS] & MODEL_ALLOCATION_REALLOCED) != 0 },
		{ "foreign_free", has_freer && v[MODEL_FREE_THREAD] != v[MODEL_THREAD] },
		{ "chain_length", v[MODEL_CHAIN] == MODEL_NO_CHAIN
					  ? 1
					  : model_chain_get(model, v[MODEL_CHAIN]).length },
		{ "chain_position", chain_position(slow->tape, row) },
		{ "first_size", first.values[MODEL_SIZE] },
		{ "last_size", last.values[MODEL_SIZE] },
		{ "chain_leaked", last_free == MODEL_NEVER },
		{ "chain_lifetime", last_free == MODEL_NEVER
					    ? FIELD_NONE
					    : last_free - first.values[MODEL_ALLOC_NS] },
		{ "pid", model_process(model)->pid },
		{ "depth", depth_of(model, v[MODEL_STACK]) },
		{ "truncated", root_of(model, v[MODEL_STACK]) == CAPTURE_STACK_TRUNCATED },
		{ "group_allocations", group->count },
		{ "group_bytes", group->bytes },
		{ "group_leaked", group->leaked },
		{ "group_leaked_bytes", group->leaked_bytes },
		{ "group_temporary", group->temporary },
		{ "group_first_time", group->first },
		{ "group_last_time", group->last },
		{ "group_interval", group->last - group->first },
		{ "group_usage_max", group->usage_max },
		{ "group_usage_max_time", group->usage_max_ns },
		{ "whole_group_leaked", group->leaked == group->count },
	};

	for (size_t i = 0; i < array_size(values); i++) {
		if (strcmp(values[i].name, name) == 0)
			return values[i].value;
	}
	fail_msg("no slow value of %s", name);
	return 0;
}

/* Percentages as they are defined: no rounding, of products. */
static int slow_compare(const struct slow *slow, const struct tape_row *row,
			const struct field *field, uint64_t value, const struct expr_value *other)
{
	const uint64_t duration = model_process(slow->tape->model)->duration_ns;
	uint64_t whole = duration;
	unsigned __int128 left = value, right = other->number;

	if (other->kind == EXPR_FIELD)
		right = slow_number(slow, row, other->field->name);

	if (strcmp(field->name, "group_leaked") == 0 || strcmp(field->name, "group_temporary") == 0)
		whole = slow_number(slow, row, "group_allocations");
	if (strcmp(field->name, "group_leaked_bytes") == 0)
		whole = slow_number(slow, row, "group_bytes");
	if (other->kind == EXPR_PERCENT) {
		left *= 100000;
		right *= whole;
	}
	if (other->kind == EXPR_PEAK)
		right = model_totals(slow->tape->model)->peak_ns;
	if (other->kind == EXPR_END)
		right = duration;
	if (other->kind == EXPR_MARK)
		assert_true(facts_mark_find(&(struct facts) { .model = slow->tape->model },
					    other->text, &(uint64_t) { 0 }));
	return left < right ? -1 : left > right;
}

static bool slow_in(const struct slow *slow, const struct tape_row *row, const struct expr *expr)
{
	const uint64_t value = slow_number(slow, row, expr->field->name);

	for (size_t i = 0; i < expr->item_count; i++) {
		const struct expr_item *item = &expr->items[i];
		bool is_in = value != FIELD_NONE;

		if (item->is_none && value == FIELD_NONE)
			return true;
		if (item->is_none)
			continue;
		if (item->has_low && item->low.kind == EXPR_FIELD)
			is_in &= slow_number(slow, row, item->low.field->name) != FIELD_NONE;
		if (item->has_high && item->high.kind == EXPR_FIELD)
			is_in &= slow_number(slow, row, item->high.field->name) != FIELD_NONE;
		if (is_in && item->has_low)
			is_in = slow_compare(slow, row, expr->field, value, &item->low) >=
				item->low_is_open;
		if (is_in && item->has_high)
			is_in = slow_compare(slow, row, expr->field, value, &item->high) <=
				-item->high_is_open;
		if (is_in)
			return true;
	}
	return false;
}

/* Texts of the row that a text field is about; how many. */
static size_t slow_texts(const struct slow *slow, const struct tape_row *row,
			 const struct field *field, const char **texts, size_t room)
{
	const struct random_tape *tape = slow->tape;
	const bool is_of_free = strncmp(field->name, "free_", 5) == 0;
	uint64_t stack = row->values[is_of_free ? MODEL_FREE_STACK : MODEL_STACK];
	size_t count = 0;
	struct walk walk;
	const struct name_frame *frame;

	if (strcmp(field->name, "call") == 0)
		texts[count++] = tape_fn_name((enum tape_fn)row->values[MODEL_FN]);
	else if (strcmp(field->name, "thread_name") == 0)
		texts[count++] = model_thread(tape->model, row->values[MODEL_THREAD])->name;
	else if (strcmp(field->name, "free_call") == 0 &&
		 row->values[MODEL_FREE_FN] != TAPE_FN_EXTENDED)
		texts[count++] = tape_fn_name((enum tape_fn)row->values[MODEL_FREE_FN]);
	if (!strstr(field->name, "function") && strcmp(field->name, "site") != 0)
		return count;
	walk = walk_begin(tape->model, tape->names, (uint32_t)stack,
			  strcmp(field->name, "site") == 0 ? WALK_EXACT : WALK_ALL);
	while ((frame = walk_next(&walk)) && count < room) {
		const char *text = names_get(tape->names, frame->name)->function;

		if (text[0] == '(' && strcmp(field->name, "site") != 0)
			continue; /* nothing that a stack has: (no stack taken) */
		texts[count++] = text;
		if (strcmp(field->name, "site") == 0)
			break;
	}
	return count;
}

/* Of the patterns that the test makes only. */
static bool slow_matches(const char *text, const char *pattern)
{
	if (strcmp(pattern, "^parse") == 0)
		return strncmp(text, "parse", 5) == 0;
	return strstr(text, pattern) != NULL; /* a plain word */
}

static bool slow_text(const struct slow *slow, const struct tape_row *row, const struct expr *expr)
{
	const char *texts[64];
	const size_t count = slow_texts(slow, row, expr->field, texts, array_size(texts));

	for (size_t i = 0; i < expr->item_count; i++) {
		if (expr->items[i].is_none && count == 0)
			return true;
	}
	for (size_t t = 0; t < count; t++) {
		if (expr->kind == EXPR_MATCH && slow_matches(texts[t], expr->pattern))
			return true;
		for (size_t i = 0; i < expr->item_count; i++) {
			const char *wanted = expr->items[i].low.text;
			const size_t len = wanted ? strlen(wanted) : 0;

			if (wanted && strncmp(texts[t], wanted, len) == 0 &&
			    (!texts[t][len] ||
			     (texts[t][len] == '(' && expr->field->rule == FIELD_TEXT_FUNCTION)))
				return true;
		}
	}
	return false;
}

static bool slow_has(const struct slow *slow, const struct tape_row *row, const struct expr *expr)
{
	const struct expr_item *item = expr->items;
	bool has;

	switch (expr->kind) {
	case EXPR_ALL:
		return true;
	case EXPR_NOT:
		return !slow_has(slow, row, expr->parts[0]);
	case EXPR_AND:
	case EXPR_OR:
		has = expr->kind == EXPR_AND;
		for (size_t i = 0; i < expr->part_count; i++) {
			if (slow_has(slow, row, expr->parts[i]) != has)
				return !has;
		}
		return has;
	case EXPR_ALIVE:
		return slow_compare(slow, row, expr->field, row->values[MODEL_ALLOC_NS],
				    &item->low) <= 0 &&
		       (row->values[MODEL_FREE_NS] == MODEL_NEVER ||
			slow_compare(slow, row, expr->field, row->values[MODEL_FREE_NS],
				     &item->high) > 0);
	case EXPR_IN:
		if (expr->field->type != FIELD_TEXT && expr->field->type != FIELD_TEXTS)
			return slow_in(slow, row, expr);
		break;
	case EXPR_MATCH:
		break;
	}
	return slow_text(slow, row, expr);
}

/* --- random expressions -------------------------------------------------------------------- */

static const char *const number_fields[] = {
	"size",
	"usable",
	"slack",
	"address",
	"time",
	"free_time",
	"lifetime",
	"age",
	"thread",
	"free_thread",
	"stack",
	"chain_length",
	"chain_position",
	"first_size",
	"last_size",
	"chain_lifetime",
	"depth",
	"pid",
	"group_allocations",
	"group_bytes",
	"group_leaked",
	"group_leaked_bytes",
	"group_temporary",
	"group_first_time",
	"group_last_time",
	"group_interval",
};

static const char *const bool_tests[] = {
	"leaked",
	"freed",
	"temporary",
	"at_peak",
	"reallocated",
	"foreign_free",
	"chain_leaked",
	"truncated",
	"whole_group_leaked",
	"free_time = none",
	"lifetime != none",
	"all",
	"alive_at 50%",
	"alive_at peak",
	"alive_between 20%..60%",
	"from 30%",
	"until 50.5%",
	"alive_at end",
	"slack > size",
	"first_size < last_size",
	"not free_thread = thread",
	"chain_lifetime > lifetime",
	"size in 100..last_size",
	"age != lifetime",
	"size in first_size..last_size",
	"group_leaked > group_temporary",
	"lifetime <= chain_lifetime",
	"free_time < group_last_time",
	"leaked = no",
	"freed in (yes, no)",
	"leaked in (no, no, yes)",
	"freed != yes",
};

static const char *const text_tests[] = {
	"function ~ '^parse'",
	"function !~ 'http'",
	"function = parse",
	"function in (run, main)",
	"function != 'parse_line(int)'",
	"free_function ~ 'run'",
	"free_function = none",
	"call = malloc",
	"call != 'operator new'",
	"call in (realloc, malloc)",
	"free_call = none",
	"free_call ~ 'delete'",
	"thread_name = main",
	"thread_name ~ 'worker'",
	"thread = main",
	"site = parse",
	"site ~ 'parse'",
};

static const char *const operators[] = { "=", "!=", "<", "<=", ">", ">=" };

static uint64_t pick(uint64_t *random, uint64_t count)
{
	return (random_next(random) >> 16) % count;
}

/* A value that the field has in some row, so that tests are neither always nor never true. */
static void add_value(struct str *out, const struct slow *slow, const char *name, uint64_t *random)
{
	const uint64_t count = model_row_count(slow->tape->model);
	const struct field *field = field_find(name, strlen(name));
	uint64_t value = FIELD_NONE;

	if (field->percent && pick(random, 3) == 0) {
		str_add_ratio(out, pick(random, 1001), 10, 1);
		str_add_char(out, '%');
		return;
	}
	for (int i = 0; i < 5 && value == FIELD_NONE; i++)
		value = slow_number(slow, &slow->rows[pick(random, count)], name);
	str_add_u64(out, value == FIELD_NONE ? 7 : value);
	if (field->type == FIELD_MOMENT || field->type == FIELD_DURATION)
		str_add(out, "ns");
}

static void add_number_test(struct str *out, const struct slow *slow, uint64_t *random)
{
	const char *name = number_fields[pick(random, array_size(number_fields))];

	str_add(out, name);
	if (pick(random, 4)) {
		str_printf(out, " %s ", operators[pick(random, array_size(operators))]);
		add_value(out, slow, name, random);
		return;
	}
	str_add(out, pick(random, 2) ? " in (" : " not in (");
	for (uint64_t i = 0, count = 1 + pick(random, 9); i < count; i++) {
		str_add(out, i ? ", " : "");
		if (pick(random, 4) == 0)
			str_add(out, "..");
		add_value(out, slow, name, random);
	}
	str_add(out, ")");
}

static void add_expression(struct str *out, const struct slow *slow, uint64_t *random, int depth)
{
	const uint64_t kind = pick(random, depth > 3 ? 5 : 10);
	const uint64_t parts = 2 + pick(random, 2);

	if (kind < 3) {
		add_number_test(out, slow, random);
	} else if (kind < 4) {
		str_add(out, bool_tests[pick(random, array_size(bool_tests))]);
	} else if (kind < 5) {
		str_add(out, text_tests[pick(random, array_size(text_tests))]);
	} else if (kind < 6) {
		str_add(out, "not (");
		add_expression(out, slow, random, depth + 1);
		str_add(out, ")");
	} else {
		for (uint64_t i = 0; i < parts; i++) {
			str_add(out, i == 0 ? "(" : kind % 2 ? ") and (" : ") or (");
			add_expression(out, slow, random, depth + 1);
		}
		str_add(out, ")");
	}
}

/* --- the comparison ------------------------------------------------------------------------ */

static const struct selection *select_by(struct random_tape *tape, const char *filter,
					 struct arena *arena)
{
	const struct selection_settings settings = { .filter = filter, .thread_count = 3 };
	const struct selection *selection = NULL;
	CLEAN(err_destroy)
	struct err *err = selection_make(tape->model, tape->names, &settings, arena, &selection);

	if (err)
		fail_msg("%s: %s", filter, err_message(err));
	return selection;
}

/* What is alive after a moment, of what the range has; by going through all rows. */
static uint64_t slow_live(const struct slow *slow, const struct selection *selection, uint64_t ns)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < model_row_count(slow->tape->model); i++) {
		const uint64_t *row = slow->rows[i].values;

		if (row[MODEL_ALLOC_NS] >= selection->from_ns &&
		    row[MODEL_ALLOC_NS] <= u64_min(selection->until_ns, ns) &&
		    row[MODEL_FREE_NS] > ns)
			bytes += row[MODEL_SIZE];
	}
	return bytes;
}

static bool slow_at_peak(const struct slow *slow, const struct selection *selection,
			 const uint64_t *row)
{
	(void)slow;
	if (!selection->has_range)
		return row[MODEL_FLAGS] & MODEL_ALLOCATION_PEAK;
	return row[MODEL_ALLOC_NS] <= selection->peak_ns && row[MODEL_FREE_NS] > selection->peak_ns;
}

static void check_sums(const struct slow *slow, const struct selection *selection)
{
	const size_t stack_count = model_stack_count(slow->tape->model);
	struct model_stack_sums *sums = calloc(stack_count, sizeof(*sums));
	struct model_stack_sums total = { 0 };

	assert_non_null(sums);
	for (uint64_t i = 0; i < model_row_count(slow->tape->model); i++) {
		const uint64_t *row = slow->rows[i].values;
		struct model_stack_sums one = { .allocated = { 1, row[MODEL_SIZE] } };

		if (!selection_has(selection, i))
			continue;
		if (row[MODEL_FREE_NS] == MODEL_NEVER)
			one.leaked = one.allocated;
		if (slow_at_peak(slow, selection, row))
			one.peak = one.allocated;
		if (row[MODEL_FLAGS] & MODEL_ALLOCATION_TEMPORARY)
			one.temporary = one.allocated;
		metric_sums_add(&sums[row[MODEL_STACK]], &one);
		metric_sums_add(&total, &one);
	}
	for (size_t i = 0; i < stack_count; i++)
		assert_memory_equal(&sums[i], sums_of_stack(&selection->sums, i), sizeof(*sums));
	assert_memory_equal(&total, &selection->sums.total, sizeof(total));
	assert_int_equal(total.allocated.count, selection->count);
	free(sums);
}

static void check_rows(const struct selection *selection)
{
	uint64_t rows[MODEL_BATCH], at = 0, seen = 0;
	size_t count;

	while ((count = selection_next(selection, &at, rows)) > 0) {
		for (size_t i = 0; i < count; i++) {
			assert_true(selection_has(selection, rows[i]));
			if (seen % 37 == 0)
				assert_int_equal(selection_row(selection, seen), rows[i]);
			assert_int_equal(selection_index(selection, rows[i]), seen);
			seen++;
		}
	}
	assert_int_equal(seen, selection->count);
}

static uint64_t compare_one(const struct slow *slow, struct random_tape *tape, const char *text)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct selection *selection = select_by(tape, text, &arena);
	const struct expr *expr;

	assert_null(expr_parse(text, &arena, &expr));
	for (uint64_t i = 0; i < model_row_count(tape->model); i++) {
		if (selection_has(selection, i) != slow_has(slow, &slow->rows[i], expr))
			fail_msg("%s: row %d is %s", text, (int)i,
				 selection_has(selection, i) ? "in" : "out");
	}
	check_rows(selection);
	check_sums(slow, selection);
	return selection->count;
}

static void any_filter_lets_through_what_it_should(void **state)
{
	struct random_tape tape;
	struct slow slow;
	uint64_t random = 4711, none = 0, all = 0;
	enum { EXPRESSIONS = 600 };

	(void)state;
	tape_make(&tape, 12345, SMALL);
	slow_init(&slow, &tape, false);
	for (int i = 0; i < EXPRESSIONS; i++) {
		CLEAN(str_deinit) struct str text = { 0 };
		uint64_t count;

		add_expression(&text, &slow, &random, 0);
		count = compare_one(&slow, &tape, str_text(&text));
		none += count == 0;
		all += count == model_row_count(tape.model);
	}
	for (size_t i = 0; i < array_size(bool_tests); i++)
		compare_one(&slow, &tape, bool_tests[i]);
	for (size_t i = 0; i < array_size(text_tests); i++)
		compare_one(&slow, &tape, text_tests[i]);
	assert_true(none < EXPRESSIONS / 4); /* else nothing was tested */
	assert_true(all < EXPRESSIONS / 4);
	slow_deinit(&slow);
	tape_unmake(&tape);
}

static void segments_are_passed_over_rightly(void **state)
{
	static const char *const texts[] = {
		"from 10% and until 15% and size > 100",
		"not (from 10% and until 15%)",
		"until 3% or from 99.9%",
		"time in (1%..2%, 50%..50.1%, 70%..) and free_time > 90%",
		"address < 0x20000 and alive_at 20%",
		"stack = 5 or lifetime < 100ns",
		"free_time = none and until 5%",
		"chain_position > 2 and function ~ '^parse'",
	};
	struct random_tape tape;
	struct slow slow;

	(void)state;
	tape_make(&tape, 99, BIG);
	assert_true(model_row_count(tape.model) > 2 * MODEL_SEGMENT);
	slow_init(&slow, &tape, false);
	for (size_t i = 0; i < array_size(texts); i++)
		compare_one(&slow, &tape, texts[i]);
	slow_deinit(&slow);
	tape_unmake(&tape);
}

static void check_usage(uint64_t seed)
{
	struct random_tape tape;
	struct slow slow;

	tape_make(&tape, seed, 600);
	slow_init(&slow, &tape, true);
	for (uint64_t stack = 0; stack < model_stack_count(tape.model); stack++) {
		char text[100];

		snprintf(text, sizeof(text),
			 "stack = %d and group_usage_max = %d and group_usage_max_time = %dns",
			 (int)stack, (int)slow.groups[stack].usage_max,
			 (int)slow.groups[stack].usage_max_ns);
		assert_int_equal(compare_one(&slow, &tape, text), slow.groups[stack].count);
	}
	slow_deinit(&slow);
	tape_unmake(&tape);
}

static void a_groups_own_peak_is_found(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		check_usage(seed);
}

/* --- the rest ------------------------------------------------------------------------------ */

static void without_settings_it_is_everything(void **state)
{
	struct random_tape tape;
	const struct selection *selection;

	(void)state;
	tape_make(&tape, 3, 500);
	selection = select_by(&tape, NULL, &tape.arena);
	assert_true(selection_is_all(selection));
	assert_int_equal(selection->count, model_row_count(tape.model));
	assert_ptr_equal(sums_of_stack(&selection->sums, 0), model_stack_sums(tape.model, 0));
	check_rows(selection);
	assert_false(selection_needs_rows(&(struct selection_settings) { .filter = "" }));
	assert_true(selection_needs_rows(&(struct selection_settings) { .until = "5%" }));
	tape_unmake(&tape);
}

static void a_range_of_time_holds_for_filter_and_fields(void **state)
{
	const struct selection_settings settings = { .filter = "kept_in_range and size > 10",
						     .from = "mark(loaded)",
						     .until = "mark('a phase')" };
	struct random_tape tape;
	const struct selection *selection;
	uint64_t expected = 0;

	(void)state;
	tape_make(&tape, 5, 3000);
	assert_null(selection_make(tape.model, tape.names, &settings, &tape.arena, &selection));
	for (uint64_t i = 0; i < model_row_count(tape.model); i++) {
		const struct tape_row row = tape_row(&tape, i);
		const bool is_in = row.values[MODEL_ALLOC_NS] >= selection->from_ns &&
				   row.values[MODEL_ALLOC_NS] <= selection->until_ns &&
				   row.values[MODEL_FREE_NS] > selection->until_ns &&
				   row.values[MODEL_SIZE] > 10;

		assert_int_equal(selection_has(selection, i), is_in);
		expected += is_in;
	}
	assert_true(expected > 0);
	assert_int_equal(
		select_by(&tape, "mark = loaded", &tape.arena)->count,
		select_by(&tape, "from mark(loaded) and time < mark('a phase')", &tape.arena)
			->count);
	assert_true(select_by(&tape, "mark = none", &tape.arena)->count > 0);
	tape_unmake(&tape);
}

static void a_range_has_a_peak_of_its_own(void **state)
{
	static const struct selection_settings ranges[] = {
		{ .from = "70%" },
		{ .until = "30%" },
		{ .from = "20%", .until = "60%" },
		{ .from = "55%", .until = "56%", .filter = "size > 40" },
		{ .from = "end" },
	};

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct random_tape tape;
		struct slow slow;

		tape_make(&tape, seed, 1500);
		slow_init(&slow, &tape, false);
		for (size_t i = 0; i < array_size(ranges); i++) {
			const struct selection *selection;
			uint64_t most = 0, ns = 0;

			assert_null(selection_make(tape.model, tape.names, &ranges[i], &tape.arena,
						   &selection));
			for (uint64_t row = 0; row < model_row_count(tape.model); row++) {
				const uint64_t at = slow.rows[row].values[MODEL_ALLOC_NS];
				const uint64_t live = slow_live(&slow, selection, at);

				if (live > most) {
					most = live;
					ns = at;
				}
			}
			assert_int_equal(slow_live(&slow, selection, selection->peak_ns), most);
			if (most > 0)
				assert_int_equal(selection->peak_ns, ns);
			if (!ranges[i].filter)
				assert_int_equal(selection->sums.total.peak.bytes, most);
			check_sums(&slow, selection);
		}
		slow_deinit(&slow);
		tape_unmake(&tape);
	}
}

static void sorted_rows_are_those_of_a_full_sort(void **state)
{
	static const char *const orders[] = { "size",	  "size:asc",	  "-time",
					      "lifetime", "lifetime:asc", "address",
					      "call",	  "site:desc",	  "chain_length" };
	struct random_tape tape;
	const struct selection *selection;

	(void)state;
	tape_make(&tape, 8, 4000);
	selection = select_by(&tape, "size > 20", &tape.arena);
	for (size_t i = 0; i < array_size(orders); i++) {
		struct selection_order order;
		const uint64_t *all, *some;
		uint64_t all_count, some_count;

		assert_null(selection_order_parse(orders[i], &order));
		assert_null(
			selection_sorted(selection, &order, 0, 0, &tape.arena, &all, &all_count));
		assert_int_equal(all_count, selection->count);
		assert_null(selection_sorted(selection, &order, 5, 20, &tape.arena, &some,
					     &some_count));
		assert_int_equal(some_count, 20);
		assert_memory_equal(some, all + 5, 20 * sizeof(*some));
		assert_null(selection_sorted(selection, &order, all_count - 1, 20, &tape.arena,
					     &some, &some_count));
		assert_int_equal(some_count, 1);
		assert_null(selection_sorted(selection, &order, all_count + 7, 20, &tape.arena,
					     &some, &some_count));
		assert_int_equal(some_count, 0);
	}
	tape_unmake(&tape);
}

static void sorting_by_size_goes_down_and_ties_stay_in_time(void **state)
{
	struct random_tape tape;
	struct selection_order order;
	const uint64_t *rows;
	uint64_t count;

	(void)state;
	tape_make(&tape, 9, 4000);
	assert_null(selection_order_parse("size", &order));
	assert_null(selection_sorted(select_by(&tape, "leaked", &tape.arena), &order, 0, 0,
				     &tape.arena, &rows, &count));
	assert_true(count > 10);
	for (uint64_t i = 1; i < count; i++) {
		const uint64_t before = tape_row(&tape, rows[i - 1]).values[MODEL_SIZE];
		const uint64_t size = tape_row(&tape, rows[i]).values[MODEL_SIZE];

		assert_true(before > size || (before == size && rows[i - 1] < rows[i]));
	}
	tape_unmake(&tape);
}

/* Usable bytes are as the writer of tapes makes them: size + size % 3. */
static void mappings_are_told_by_their_shape(void **state)
{
	static const struct {
		uint64_t address, size;
	} blocks[] = {
		{ 0x7f0000000010, 4080 },
		{ 0x7f0000010010, 49 * 4096 - 16 },
		{ 0x7f0000020010, 4080 + 4096 * 30 },
		{ 0x7f0000030020, 4080 },
		{ 0x7f0000040010, 4096 },
		{ 0x7f0000050010, 0 },
	};
	struct random_tape tape = { 0 };
	const struct selection *selection;
	char path[64];

	(void)state;
	writer_init(&tape.writer, 64 << 10);
	for (size_t i = 0; i < array_size(blocks); i++)
		writer_event(&tape.writer, 1, TAPE_FN_MALLOC, WRITER_START_TICKS + i,
			     blocks[i].address, blocks[i].size, TAPE_NODE_NONE);
	writer_path(path);
	writer_save(&tape.writer, path);
	writer_deinit(&tape.writer);
	assert_null(model_load(path, MODEL_FULL, &tape.model));
	unlink(path);
	tape.names = names_create(tape.model, NULL);
	assert_non_null(tape.names);
	selection = select_by(&tape, "mmapped", &tape.arena);
	assert_int_equal(selection->count, 3);
	for (uint64_t i = 0; i < selection->count; i++)
		assert_int_equal(selection_row(selection, i), i);
	tape_unmake(&tape);
}

static const struct {
	struct selection_settings settings;
	const char *message;
	bool is_seen_without_tape;
} bad_rows[] = {
	{ { .filter = "size >" }, "unexpected end", true },
	{ { .from = "soon" }, "not a time", true },
	{ { .from = "50%", .until = "20%" }, "later than", true },
	{ { .from = "end", .until = "20%" }, "later than", false },
	{ { .filter = "time > mark(nowhere)" }, "no mark 'nowhere'", false },
	{ { .until = "mark(nowhere)" }, "no mark 'nowhere'", false },
	{ { .filter = "function ~ '(x'" }, "missing closing parenthesis", false },
	{ { .filter = "function ~ '^(((.+)+)+)+[0-9]$'" }, "takes too long", false },
};

static void nonsense_is_refused(void **state)
{
	struct random_tape tape;

	(void)state;
	tape_make(&tape, 10, 100);
	for (size_t i = 0; i < array_size(bad_rows); i++) {
		const struct selection *selection;
		CLEAN(err_destroy) struct err *early = selection_check(&bad_rows[i].settings);
		CLEAN(err_destroy)
		struct err *err = selection_make(tape.model, tape.names, &bad_rows[i].settings,
						 &tape.arena, &selection);

		assert_int_equal(early != NULL, bad_rows[i].is_seen_without_tape);
		assert_non_null(err);
		assert_int_equal(err_code_of(err), ERR_USAGE);
		if (!strstr(err_message(err), bad_rows[i].message))
			fail_msg("%s", err_message(err));
	}
	tape_unmake(&tape);
}

static void who_gives_up_or_has_no_time_gets_an_error(void **state)
{
	const bool cancel = true;
	const struct selection_settings cancelled = { .filter = "size > 1", .cancel = &cancel };
	static const char *const texts[] = { "size > 1", "group_interval > 1", "chain_position > 1",
					     "group_usage_max > 1" };
	struct random_tape tape;
	const struct selection *selection;
	struct err *err;

	(void)state;
	tape_make(&tape, 11, 1000);
	err = selection_make(tape.model, tape.names, &cancelled, &tape.arena, &selection);
	assert_int_equal(err_code_of(err), ERR_STATE);
	err_destroy(err);
	for (size_t i = 0; i < array_size(texts); i++) {
		const struct selection_settings hurried = { .filter = texts[i],
							    .time_limit_ns = 1 };

		err = selection_make(tape.model, tape.names, &hurried, &tape.arena, &selection);
		assert_int_equal(err_code_of(err), ERR_LIMIT);
		err_destroy(err);
	}
	tape_unmake(&tape);
}

static void a_model_without_rows_has_nothing_to_choose_from(void **state)
{
	const struct selection_settings settings = { .filter = "leaked" };
	struct random_tape tape;
	const struct selection *selection;
	struct err *err;

	(void)state;
	tape_make_depth(&tape, 12, 100, MODEL_SUMMARY);
	assert_null(select_by(&tape, NULL, &tape.arena)->bits);
	err = selection_make(tape.model, tape.names, &settings, &tape.arena, &selection);
	assert_int_equal(err_code_of(err), ERR_STATE);
	err_destroy(err);
	tape_unmake(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_filter_lets_through_what_it_should),
		cmocka_unit_test(segments_are_passed_over_rightly),
		cmocka_unit_test(a_groups_own_peak_is_found),
		cmocka_unit_test(without_settings_it_is_everything),
		cmocka_unit_test(a_range_of_time_holds_for_filter_and_fields),
		cmocka_unit_test(a_range_has_a_peak_of_its_own),
		cmocka_unit_test(sorted_rows_are_those_of_a_full_sort),
		cmocka_unit_test(sorting_by_size_goes_down_and_ties_stay_in_time),
		cmocka_unit_test(mappings_are_told_by_their_shape),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(who_gives_up_or_has_no_time_gets_an_error),
		cmocka_unit_test(a_model_without_rows_has_nothing_to_choose_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
