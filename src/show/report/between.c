/*
 * between: what a span of time left behind, and what it took away.
 */
#include "base/sort.h"
#include "report/quality.h"
#include "report/rank.h"
#include "select/moment.h"
#include "time/span.h"

enum {
	SITES_SHOWN = 12,
	COLUMNS = 12, /* of a number */
	NUMBERS_COLUMNS = 5 * COLUMNS + 2
};

enum order { BY_SURVIVED, BY_NET, BY_ALLOCATED, BY_FREED, BY_COUNT, BY_TEMPORARY };

static const char *const orders[] = { "survived", "net",       "allocated", "freed",
				      "count",	  "temporary", NULL };

struct answer {
	const struct report_context *context;
	struct span span;
	struct sites sites;
	const struct span_sums *by_site;
	const struct sort_pair *order; /* of sites */
	size_t count;
};

static struct err *span_parse(const struct report_settings *settings, struct moment_span *span_ret)
{
	struct err *err = moment_parse(settings->operands[0], &span_ret->from);

	return err_wrap(err ? err : moment_parse(settings->operands[1], &span_ret->until),
			"between");
}

static struct err *check(const struct report_settings *settings)
{
	struct moment_span span;

	return span_parse(settings, &span);
}

/* A key that is smaller where there is more of it. */
static uint64_t order_key(enum order order, const struct span_sums *sums)
{
	switch (order) {
	case BY_SURVIVED:
		return ~sums->survived.bytes;
	case BY_NET:
		return ~((uint64_t)span_net(sums) ^ UINT64_C(1) << 63);
	case BY_ALLOCATED:
		return ~sums->allocated.bytes;
	case BY_FREED:
		return ~sums->freed.bytes;
	case BY_COUNT:
		return ~sums->allocated.count;
	case BY_TEMPORARY:
		return ~sums->temporary.count;
	}
	return 0;
}

/* People are not shown sites where nothing happened. */
static struct err *sites_order(struct answer *answer, enum order order, size_t top)
{
	const bool is_text = answer->context->settings->format == EMIT_TEXT;
	struct sort_pair *pairs =
		arena_array(answer->context->arena, answer->sites.count, sizeof(*pairs));

	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < answer->sites.count; i++) {
		const struct span_sums *sums = &answer->by_site[i];

		if (is_text && sums->allocated.count == 0 && sums->freed.count == 0)
			continue;
		pairs[answer->count++] = (struct sort_pair) { order_key(order, sums), (uint32_t)i };
	}
	if (!sort_pairs(pairs, answer->count))
		return err_nomem();
	if (top && answer->count > top)
		answer->count = top;
	answer->order = pairs;
	return NULL;
}

/* --- text ---------------------------------------------------------------------------------- */

static void add_signed(struct str *out, int64_t bytes)
{
	const uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (bytes != 0)
		str_add(out, bytes < 0 ? "-" : "+");
	str_add_iec(out, size);
}

static void add_fact(struct text *text, const char *label, const struct model_sum *sum,
		     const char *words)
{
	char value[STR_SHORT_BYTES];

	text_label(text, label);
	text_right(text, TEXT_VALUE, str_iec(value, sum->bytes), COLUMNS);
	str_add(&text->out, "   in ");
	str_add_counted(&text->out, sum->count, "block");
	str_add(&text->out, words);
	str_add_char(&text->out, '\n');
}

static void add_facts(struct text *text, const struct answer *answer)
{
	const struct span_sums *total = &answer->span.total;
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str net = { 0 };

	str_add(&title, "Between ");
	str_add_duration(&title, answer->span.from_ns);
	str_add(&title, " and ");
	str_add_duration(&title, answer->span.until_ns);
	text_heading(text, str_text(&title), NULL);
	add_fact(text, "allocated", &total->allocated, "");
	add_fact(text, "survived", &total->survived, " of those, alive at the end of the span");
	add_fact(text, "freed", &total->freed, ", also of those allocated before");
	text_label(text, "live");
	add_signed(&net, span_net(total));
	text_right(text, TEXT_VALUE, str_text(&net), COLUMNS);
	str_add(&text->out, "   from ");
	str_add_iec(&text->out, total->before.bytes);
	str_add(&text->out, " to ");
	str_add_iec(&text->out, total->after.bytes);
	str_add_char(&text->out, '\n');
}

static void add_columns(struct text *text)
{
	static const char *const titles[] = { "survived", "blocks", "net", "allocated", "freed" };

	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
}

static void add_site(struct text *text, const struct answer *answer, size_t site)
{
	const struct span_sums *sums = &answer->by_site[site];
	const uint32_t stack = answer->sites.items[site].stacks[METRIC_LEAKED];
	CLEAN(str_deinit) struct str net = { 0 };
	char words[STR_SHORT_BYTES];

	add_signed(&net, span_net(sums));
	text_right(text, TEXT_VALUE, str_iec(words, sums->survived.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(words, sums->survived.count), COLUMNS);
	text_right(text, span_net(sums) > 0 ? TEXT_BAD : TEXT_GOOD, str_text(&net), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, sums->allocated.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, sums->freed.bytes), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, answer->context, rank_site_frame(answer->context, stack), 1, TEXT_BOLD,
		   text->width - NUMBERS_COLUMNS);
	rank_callers(text, answer->context, stack, COLUMNS);
}

static struct err *between_text(const struct answer *answer, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(answer->context->settings);

	text_head(&text, answer->context->model);
	add_facts(&text, answer);
	if (answer->count > 0)
		add_columns(&text);
	for (size_t i = 0; i < answer->count; i++)
		add_site(&text, answer, answer->order[i].index);
	quality_text(&text, answer->context);
	return text_write(&text, out);
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static void emit_sums(struct emit *emit, const struct span_sums *sums)
{
	emit_u64(emit, "allocated_bytes", sums->allocated.bytes, EMIT_BYTES);
	emit_u64(emit, "allocated_count", sums->allocated.count, EMIT_COUNT);
	emit_u64(emit, "survived_bytes", sums->survived.bytes, EMIT_BYTES);
	emit_u64(emit, "survived_count", sums->survived.count, EMIT_COUNT);
	emit_u64(emit, "temporary_bytes", sums->temporary.bytes, EMIT_BYTES);
	emit_u64(emit, "temporary_count", sums->temporary.count, EMIT_COUNT);
	emit_u64(emit, "freed_bytes", sums->freed.bytes, EMIT_BYTES);
	emit_u64(emit, "freed_count", sums->freed.count, EMIT_COUNT);
	emit_u64(emit, "live_before_bytes", sums->before.bytes, EMIT_BYTES);
	emit_u64(emit, "live_before_count", sums->before.count, EMIT_COUNT);
	emit_u64(emit, "live_after_bytes", sums->after.bytes, EMIT_BYTES);
	emit_u64(emit, "live_after_count", sums->after.count, EMIT_COUNT);
	emit_i64(emit, "net_bytes", span_net(sums));
	emit_i64(emit, "net_count", (int64_t)(sums->after.count - sums->before.count));
}

static void emit_site(struct emit *emit, const struct answer *answer, size_t site)
{
	const uint32_t stack = answer->sites.items[site].stacks[METRIC_LEAKED];

	emit_row(emit);
	rank_emit_place(emit, answer->context, rank_site_frame(answer->context, stack));
	emit_sums(emit, &answer->by_site[site]);
	emit_u64(emit, "stacks", answer->sites.items[site].stack_count, EMIT_COUNT);
	rank_emit_stack(emit, "stack", answer->context, stack);
	emit_end(emit);
}

static struct err *between_emit(const struct answer *answer, FILE *out)
{
	static const struct emit_column columns[] = {
		{ .key = "function" },
		{ .key = "file" },
		{ .key = "line" },
		{ .key = "module" },
		{ .key = "allocated_bytes" },
		{ .key = "allocated_count" },
		{ .key = "survived_bytes" },
		{ .key = "survived_count" },
		{ .key = "temporary_bytes" },
		{ .key = "temporary_count" },
		{ .key = "freed_bytes" },
		{ .key = "freed_count" },
		{ .key = "live_before_bytes" },
		{ .key = "live_before_count" },
		{ .key = "live_after_bytes" },
		{ .key = "live_after_count" },
		{ .key = "net_bytes" },
		{ .key = "net_count" },
		{ .key = "stacks" },
		{ .key = "stack" },
	};
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const bool is_json = settings.format == EMIT_JSON;

	if (!emit)
		return err_nomem();
	if (is_json) {
		emit_object(emit, NULL);
		emit_u64(emit, "from_ns", answer->span.from_ns, EMIT_DURATION);
		emit_u64(emit, "until_ns", answer->span.until_ns, EMIT_DURATION);
		emit_object(emit, "total");
		emit_sums(emit, &answer->span.total);
		emit_end(emit);
	}
	emit_table(emit, is_json ? "sites" : NULL, columns, array_size(columns));
	for (size_t i = 0; i < answer->count; i++)
		emit_site(emit, answer, answer->order[i].index);
	emit_end(emit);
	if (is_json) {
		quality_emit(emit, answer->context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

static struct err *answer_find(struct answer *answer)
{
	const struct report_context *context = answer->context;
	struct moment_span moments;
	struct span_sums *by_site;
	uint64_t from_ns = 0, until_ns = 0;
	struct err *err = span_parse(context->settings, &moments);

	if (!err)
		err = moment_span_ns(&moments, context->model, &from_ns, &until_ns);
	if (!err) /* two moments, and no open end */
		err = moment_ns(&moments.until, context->model, &until_ns);
	if (!err)
		err = span_find(context->model, context->selection, from_ns, until_ns,
				context->arena, &answer->span);
	if (!err)
		err = sites_find(&answer->span.sums, context->names, context->mode, context->arena,
				 &answer->sites);
	if (!err)
		err = span_by_site(&answer->span, &answer->sites, context->arena, &by_site);
	if (err)
		return err;
	answer->by_site = by_site;
	return NULL;
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	struct answer answer = { .context = context };
	struct err *err = answer_find(&answer);

	if (!err)
		err = sites_order(&answer, settings->has_sort ? settings->sort : BY_SURVIVED,
				  settings->with.top ? settings->with.top
				  : is_text	     ? SITES_SHOWN
						     : 0);
	if (err)
		return err;
	return is_text ? between_text(&answer, out) : between_emit(&answer, out);
}

const struct report report_between = {
	.name = "between",
	.summary = "what was allocated from A until B and is left, and what was freed",
	.depth = MODEL_FULL,
	.operands = "A B",
	.selects = true,
	.ignores_leaks = true,
	.sorts = orders,
	.check = check,
	.run = run,
};
