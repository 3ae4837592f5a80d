/* A comparison as JSON and CSV. */
#include "report/diff_parts.h"
#include "report/quality.h"
#include "report/rank.h"
#include "report/table.h"

/* Keys of both sides: peak_bytes_a, peak_count_a, leaked_bytes_a ... */
struct keys {
	char texts[DIFF_SIDES][TABLE_SUMS][STR_SHORT_BYTES];
};

static void keys_make(struct keys *keys)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		for (size_t i = 0; i < TABLE_SUMS; i++)
			str_format(keys->texts[side][i], STR_SHORT_BYTES, "%s_%c",
				   metric_key(table_sums[i]), side == DIFF_A ? 'a' : 'b');
	}
}

static void emit_subject(struct emit *emit, const struct diff_answer *answer, unsigned side)
{
	const struct diff_subject *subject = &answer->subjects[side];
	const struct report_context context = { .model = subject->model, .names = subject->names };

	emit_object(emit, side == DIFF_A ? "a" : "b");
	emit_text(emit, "tape", subject->path);
	emit_text(emit, "exe", model_process(subject->model)->exe);
	emit_u64(emit, "from_ns", subject->from_ns, EMIT_DURATION);
	if (subject->until_ns == MODEL_NEVER)
		emit_null(emit, "until_ns");
	else
		emit_u64(emit, "until_ns", subject->until_ns, EMIT_DURATION);
	emit_u64(emit, "units", subject->units, EMIT_COUNT);
	table_metrics(emit, table_sums, TABLE_SUMS, &answer->totals[side]);
	emit_u64(emit, "suppressed_bytes", subject->suppressed.bytes, EMIT_BYTES);
	emit_u64(emit, "suppressed_count", subject->suppressed.count, EMIT_COUNT);
	quality_emit(emit, &context);
	emit_end(emit);
}

/* Integers, unless they are for one of several units of work. */
static void emit_value(struct emit *emit, const char *key, double value)
{
	if (value == (double)(int64_t)value)
		emit_i64(emit, key, (int64_t)value);
	else
		emit_ratio(emit, key, value, 3);
}

static void emit_change(struct emit *emit, const struct diff_answer *answer, enum metric metric,
			const struct model_stack_sums *sums)
{
	emit_value(emit, "a", diff_value(&answer->sides[DIFF_A], metric, &sums[DIFF_A]));
	emit_value(emit, "b", diff_value(&answer->sides[DIFF_B], metric, &sums[DIFF_B]));
	emit_value(emit, "difference", diff_change(answer->sides, metric, sums));
}

static void emit_row_facts(struct emit *emit, const struct diff_answer *answer,
			   const struct diff_row *row, const struct keys *keys)
{
	const unsigned side = row->stacks[DIFF_B] == UINT32_MAX ? DIFF_A : DIFF_B;
	const struct report_context context = {
		.model = answer->subjects[side].model,
		.names = answer->subjects[side].names,
		.mode = answer->settings->report.with.all_frames ? WALK_ALL : WALK_FOLD,
	};

	emit_row(emit);
	emit_text(emit, "function", row->function);
	emit_text(emit, "module", row->module[0] ? row->module : NULL);
	emit_text(emit, "status", diff_status_word(diff_row_status(&answer->diff, row)));
	emit_change(emit, answer, answer->diff.metric, row->sums);
	for (unsigned k = 0; k < DIFF_SIDES; k++) {
		for (size_t i = 0; i < TABLE_SUMS; i++)
			emit_u64(emit, keys->texts[k][i],
				 metric_value(table_sums[i], &row->sums[k]), EMIT_PLAIN);
	}
	if (row->function)
		rank_emit_stack(emit, "stack", &context, row->stacks[side]);
	emit_end(emit);
}

static void emit_rows(struct emit *emit, const char *key, const struct diff_answer *answer)
{
	enum { FIRST = 6, KEYS = DIFF_SIDES * TABLE_SUMS };
	struct emit_column columns[FIRST + KEYS + 1] = {
		{ .key = "function" },
		{ .key = "module" },
		{ .key = "status" },
		{ .key = "a" },
		{ .key = "b" },
		{ .key = "difference" },
		[FIRST + KEYS] = { .key = "stack" },
	};
	struct keys keys;

	keys_make(&keys);
	for (unsigned i = 0; i < KEYS; i++)
		columns[FIRST + i].key = keys.texts[i / TABLE_SUMS][i % TABLE_SUMS];
	emit_table(emit, key, columns, array_size(columns));
	for (size_t i = 0; i < answer->count; i++)
		emit_row_facts(emit, answer, &answer->diff.rows[i], &keys);
	emit_end(emit);
}

static void emit_totals(struct emit *emit, const struct diff_answer *answer)
{
	emit_object(emit, "totals");
	for (unsigned metric = 0; metric < METRICS; metric++) {
		emit_object(emit, metric_words[metric]);
		emit_change(emit, answer, metric, answer->totals);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_gate(struct emit *emit, const struct diff_answer *answer)
{
	const struct gate *gate = answer->settings->gate;

	emit_list(emit, "conditions");
	for (size_t i = 0; gate && i < gate->count; i++) {
		CLEAN(str_deinit) struct str words = { 0 };

		str_add_bytes(&words, gate->conditions[i].text, gate->conditions[i].text_len);
		emit_object(emit, NULL);
		emit_text(emit, "condition", str_text(&words));
		emit_bool(emit, "failed", diff_is_exceeded(answer, &gate->conditions[i]));
		emit_end(emit);
	}
	emit_end(emit);
}

struct err *diff_write_data(const struct diff_answer *answer, FILE *out)
{
	const struct emit_settings settings = { .format = answer->settings->report.format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	CLEAN(str_deinit) struct str verdict = { 0 };

	if (!emit)
		return err_nomem();
	if (settings.format == EMIT_CSV) {
		emit_rows(emit, NULL, answer);
		return emit_finish(emit);
	}
	diff_add_verdict(&verdict, answer);
	emit_object(emit, NULL);
	emit_text(emit, "by", diff_by_words[answer->settings->by]);
	emit_text(emit, "metric", metric_words[answer->diff.metric]);
	emit_text(emit, "verdict", str_text(&verdict));
	emit_totals(emit, answer);
	emit_rows(emit, "rows", answer);
	emit_gate(emit, answer);
	emit_subject(emit, answer, DIFF_A);
	emit_subject(emit, answer, DIFF_B);
	emit_end(emit);
	return emit_finish(emit);
}
