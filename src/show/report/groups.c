/*
 * groups: allocations grouped by what they have in common, with sums of those that the filter lets
 * through and of all.
 */
#include "groups/groups.h"

#include "report/quality.h"
#include "report/suppressed.h"
#include "report/text.h"

enum { GROUPS_SHOWN = 20 };

/* What people see; of everything only what says how much of it the filter let through. */
static const struct emit_column people_columns[] = {
	{ .key = "size", .title = "bytes" },
	{ .key = "allocated_count", .title = "calls" },
	{ .key = "share", .title = "of all" },
	{ .key = "leaked_size", .title = "leaked" },
	{ .key = "leaked_count", .title = "blocks" },
	{ .key = "peak_size", .title = "at peak" },
	{ .key = "temporary_count", .title = "temporary" },
	{ .key = "lifetime_p50", .title = "lived" },
	{ .key = "lifetime_p99", .title = "99 % less than" },
	{ .key = "title", .title = "group", .left = true, .elastic = true },
};

static const struct emit_column program_columns[] = {
	{ .key = "title" },
	{ .key = "function" },
	{ .key = "file" },
	{ .key = "line" },
	{ .key = "module" },
	{ .key = "stack_id" },
	{ .key = "stacks" },
	{ .key = "size" },
	{ .key = "allocated_count" },
	{ .key = "leaked_size" },
	{ .key = "leaked_count" },
	{ .key = "temporary_size" },
	{ .key = "temporary_count" },
	{ .key = "peak_size" },
	{ .key = "peak_count" },
	{ .key = "usable_size" },
	{ .key = "min_size" },
	{ .key = "max_size" },
	{ .key = "min_timestamp" },
	{ .key = "max_timestamp" },
	{ .key = "interval" },
	{ .key = "lifetime_p50" },
	{ .key = "lifetime_p90" },
	{ .key = "lifetime_p99" },
	{ .key = "lifetime_max" },
	{ .key = "all_size" },
	{ .key = "all_count" },
	{ .key = "all_leaked_size" },
	{ .key = "all_leaked_count" },
};

static void emit_value(struct emit *emit, const char *key, uint64_t value, enum emit_unit unit)
{
	if (value == FIELD_NONE)
		emit_null(emit, key);
	else
		emit_u64(emit, key, value, unit);
}

static const enum emit_unit units[] = {
	[GROUP_UNIT_BYTES] = EMIT_BYTES,
	[GROUP_UNIT_COUNT] = EMIT_COUNT,
	[GROUP_UNIT_NS] = EMIT_DURATION,
};

static void emit_sums(struct emit *emit, const struct group *group, bool is_of_all)
{
	for (enum group_key key = 0; key <= GROUP_LIFETIME_MAX; key++) {
		const uint64_t value = group_value(group, key, is_of_all);

		if (key == GROUP_RATE && value != FIELD_NONE)
			emit_ratio(emit, "rate_per_s", (double)value / 1000, 3);
		else if (key == GROUP_RATE)
			emit_null(emit, "rate_per_s");
		else
			emit_value(emit, group_key_word(key), value, units[group_key_unit(key)]);
	}
}

/* --- a group ------------------------------------------------------------------------------- */

static void emit_frame(struct emit *emit, const struct report_context *context,
		       const struct name_frame *frame)
{
	const struct name *name = names_get(context->names, frame->name);

	emit_text(emit, "function", name->function);
	emit_text(emit, "file", frame->file);
	emit_value(emit, "line", frame->line ? frame->line : FIELD_NONE, EMIT_PLAIN);
	emit_text(emit, "module", name->module[0] ? name->module : NULL);
}

static void emit_nobody(struct emit *emit)
{
	static const char *const keys[] = { "function", "file", "line", "module" };

	for (size_t i = 0; i < array_size(keys); i++)
		emit_null(emit, keys[i]);
}

static void emit_names(struct emit *emit, const struct report_context *context,
		       const struct groups *groups, const struct group *group)
{
	CLEAN(str_deinit) struct str title = { 0 };

	group_title(context->selection, groups, group, &title);
	emit_text(emit, "title", str_text(&title));
	if (group->site)
		emit_frame(emit, context, group->site);
	else
		emit_nobody(emit);
	emit_value(emit, "stack_id", group->site ? group->stack : FIELD_NONE, EMIT_PLAIN);
	emit_value(emit, "stacks", group->site ? group->stack_count : FIELD_NONE, EMIT_COUNT);
}

static void emit_stack(struct emit *emit, const struct report_context *context, uint32_t stack)
{
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *frame;

	emit_list(emit, "stack");
	while ((frame = walk_next(&walk))) {
		emit_object(emit, NULL);
		emit_frame(emit, context, frame);
		emit_bool(emit, "inlined", frame->is_inlined);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_json(struct emit *emit, const struct report_context *context,
		      const struct groups *groups, const struct group *group)
{
	emit_row(emit);
	emit_names(emit, context, groups, group);
	emit_object(emit, "only_matched");
	emit_sums(emit, group, false);
	emit_end(emit);
	emit_object(emit, "all");
	emit_sums(emit, group, true);
	emit_value(emit, "max_total_usage", group->usage_max, EMIT_BYTES);
	emit_value(emit, "max_total_usage_first_seen_at", group->usage_max_ns, EMIT_DURATION);
	emit_end(emit);
	if (group->site)
		emit_stack(emit, context, group->stack);
	else
		emit_null(emit, "stack");
	emit_end(emit);
}

static void emit_flat(struct emit *emit, const struct report_context *context,
		      const struct groups *groups, const struct group *group)
{
	emit_row(emit);
	emit_names(emit, context, groups, group);
	emit_percent(emit, "share", group->matched.sums.allocated.bytes,
		     group->all.sums.allocated.bytes);
	for (enum group_key key = 0; key <= GROUP_LIFETIME_MAX; key++) {
		if (key != GROUP_RATE)
			emit_value(emit, group_key_word(key), group_value(group, key, false),
				   units[group_key_unit(key)]);
	}
	emit_value(emit, "all_size", group->all.sums.allocated.bytes, EMIT_BYTES);
	emit_value(emit, "all_count", group->all.sums.allocated.count, EMIT_COUNT);
	emit_value(emit, "all_leaked_size", group->all.sums.leaked.bytes, EMIT_BYTES);
	emit_value(emit, "all_leaked_count", group->all.sums.leaked.count, EMIT_COUNT);
	emit_end(emit);
}

/* --- the report ---------------------------------------------------------------------------- */

static struct err *order_of(const struct report_settings *settings, struct group_order *order)
{
	return group_order_parse(settings->with.sort ? settings->with.sort : "size", NULL, order);
}

static struct err *check(const struct report_settings *settings)
{
	struct group_order order;

	return order_of(settings, &order);
}

static void emit_facts(struct emit *emit, const struct report_context *context,
		       const struct groups *groups, const struct group_order *order)
{
	CLEAN(str_deinit) struct str sort = { 0 };

	str_printf(&sort, "%s.%s", order->is_of_all ? "all" : "only_matched",
		   group_key_word(order->key));
	emit_text(emit, "by", group_by_words[groups->by]);
	emit_text(emit, "sort", str_text(&sort));
	emit_bool(emit, "ascending", order->is_ascending);
	emit_text(emit, "filter", context->settings->with.filter);
	emit_u64(emit, "allocations", context->selection->count, EMIT_COUNT);
	emit_u64(emit, "total_count", groups->total_count, EMIT_COUNT);
}

static void emit_groups(struct emit *emit, const struct report_context *context,
			const struct groups *groups)
{
	const enum emit_format format = context->settings->format;
	const bool is_text = format == EMIT_TEXT;

	if (is_text && groups->count == 0)
		return;
	emit_table(emit, format == EMIT_JSON ? "groups" : NULL,
		   is_text ? people_columns : program_columns,
		   is_text ? array_size(people_columns) : array_size(program_columns));
	for (size_t i = 0; i < groups->count && !emit_has_failed(emit); i++) {
		if (format == EMIT_JSON)
			emit_json(emit, context, groups, &groups->items[i]);
		else
			emit_flat(emit, context, groups, &groups->items[i]);
	}
	emit_end(emit);
}

/* "120 of 5,000 allocations in 3 groups by function" */
static struct err *write_head(const struct report_context *context, const struct groups *groups,
			      FILE *out)
{
	const uint64_t all = model_row_count(context->model);
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_style(&text, TEXT_DIM);
	if (context->selection->count < all) {
		str_add_grouped(&text.out, context->selection->count);
		str_add(&text.out, " of ");
	}
	str_add_counted(&text.out, all, "allocation");
	str_add(&text.out, ", in ");
	str_add_counted(&text.out, groups->total_count, "group");
	str_printf(&text.out, " by %s", group_by_words[groups->by]);
	text_style(&text, TEXT_PLAIN);
	str_add(&text.out, "\n\n");
	return text_write(&text, out);
}

static void add_rest(struct text *text, const struct report_context *context,
		     const struct groups *groups)
{
	const uint64_t rest = groups->total_count - groups->count;

	if (rest == 0)
		return;
	text_style(text, TEXT_DIM);
	str_add(&text->out, "… ");
	str_add_counted(&text->out, rest, "more group");
	str_printf(&text->out,
		   context->settings->with.top ? "" : "; --top says how many are shown");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static struct err *write_groups(const struct report_context *context, const struct groups *groups,
				const struct group_order *order, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_json = settings->format == EMIT_JSON;
	CLEAN(emit_destroy)
	struct emit *emit = emit_create(out, &(struct emit_settings) { .format = settings->format,
								       .colour = settings->colour,
								       .width = settings->width });
	CLEAN(text_deinit) struct text text = text_begin(settings);
	struct err *err;

	if (!emit)
		return err_nomem();
	err = settings->format == EMIT_TEXT ? write_head(context, groups, out) : NULL;
	if (err)
		return err;
	if (is_json) {
		emit_object(emit, NULL);
		emit_facts(emit, context, groups, order);
	}
	emit_groups(emit, context, groups);
	if (is_json) {
		suppressed_emit(emit, context);
		quality_emit(emit, context);
		emit_end(emit);
	}
	err = emit_finish(emit);
	if (err || settings->format != EMIT_TEXT)
		return err;
	add_rest(&text, context, groups);
	suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	struct group_settings asked = {
		.by = settings->with.by,
		.mode = context->mode,
		.skip = settings->with.skip,
		.count = settings->with.top,
		.wants_lifetimes = true,
		.wants_usage_max = settings->format == EMIT_JSON,
	};
	struct groups groups = { 0 };
	struct err *err = order_of(settings, &asked.order);

	if (asked.count == 0 && settings->format == EMIT_TEXT)
		asked.count = GROUPS_SHOWN;
	if (!err)
		err = groups_find(context->selection, &asked, context->arena, &groups);
	return err ? err : write_groups(context, &groups, &asked.order, out);
}

const struct report report_groups = {
	.name = "groups",
	.summary = "allocations by function, stack, line, module, thread, size, mark or call",
	.depth = MODEL_FULL,
	.selects = true,
	.sorts_itself = true,
	.check = check,
	.run = run,
};
