/* The conditions of --fail-if. */
#include <assert.h>

#include "answer/diff.h"

struct condition_value {
	const char *condition, *measured;
	bool failed;
};

static const struct member condition_members[] = {
	MEMBER(struct condition_value, condition, TEXT, "as it was written"),
	MEMBER(struct condition_value, failed, FLAG, NULL),
	MEMBER(struct condition_value, measured, TEXT, "what was measured, and what is allowed"),
};
const struct shape shape_diff_condition =
	SHAPE("DiffCondition", struct condition_value, condition_members);

bool diff_is_exceeded(const struct diff_found *found, const struct gate_condition *condition)
{
	struct gate_value values[DIFF_SIDES];

	assert((unsigned)condition->metric < METRICS_KEYED);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		values[side] = (struct gate_value) {
			metric_value(condition->metric, &found->totals[side]),
			found->sides[side].units,
		};
	return gate_is_exceeded(condition, values[DIFF_A], values[DIFF_B]);
}

bool diff_is_failed(const struct diff_found *found)
{
	const struct gate *gate = found->settings->gate;

	for (size_t i = 0; gate && i < gate->count; i++) {
		if (diff_is_exceeded(found, &gate->conditions[i]))
			return true;
	}
	return false;
}

static void add_limit(struct str *out, const struct gate_condition *condition)
{
	if (condition->is_percent) {
		str_printf(out, "%g %%", (double)condition->limit / 1000);
	} else {
		diff_add_value(out, condition->metric, (double)condition->limit);
	}
}

void diff_add_measured(struct str *out, const struct diff_found *found,
		       const struct gate_condition *condition)
{
	const enum metric metric = condition->metric;
	const double change = diff_change(found->sides, metric, found->totals);
	const double before = diff_value(&found->sides[DIFF_A], metric, &found->totals[DIFF_A]);

	str_add(out, diff_metric_word(found->settings, metric));
	if (change == 0) {
		str_add(out, " did not change: ");
		diff_add_value(out, metric, before);
		return;
	}
	str_add(out, change < 0 ? " fell by " : " grew by ");
	diff_add_value(out, metric, diff_magnitude(change));
	if (before > 0) {
		str_add(out, " (");
		diff_add_percent(out, diff_magnitude(change), before);
		str_add(out, ")");
	}
	str_add(out, ", from ");
	diff_add_value(out, metric, before);
	str_add(out, " to ");
	diff_add_value(out, metric,
		       diff_value(&found->sides[DIFF_B], metric, &found->totals[DIFF_B]));
	str_add(out, "; allowed is ");
	add_limit(out, condition);
}

static const char *measured_text(const struct diff_found *found,
				 const struct gate_condition *condition, struct arena *arena)
{
	CLEAN(str_deinit) struct str text = { 0 };

	diff_add_measured(&text, found, condition);
	return text.failed ? NULL : arena_strdup(arena, str_text(&text));
}

struct err *diff_conditions_fill(const struct diff_found *found, struct arena *arena,
				 struct shape_rows *rows_ret)
{
	const struct gate *gate = found->settings->gate;
	const size_t count = gate ? gate->count : 0;
	struct condition_value *values = arena_array(arena, count, sizeof(*values));

	if (!values)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct gate_condition *condition = &gate->conditions[i];

		values[i].condition = arena_text(arena, condition->text, condition->text_len);
		values[i].failed = diff_is_exceeded(found, condition);
		values[i].measured = measured_text(found, condition, arena);
		if (!values[i].condition || !values[i].measured)
			return err_nomem();
	}
	*rows_ret = (struct shape_rows) { .items = values, .count = count };
	return NULL;
}
