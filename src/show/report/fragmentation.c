/*
 * fragmentation: what of the heap is resident and holds nothing, and whose blocks keep it: by
 * default where most of it was free.
 */
#include "report/moment.h"
#include "report/quality.h"
#include "report/rank.h"
#include "space/space_waste.h"

enum { SITES_SHOWN = 12, COLUMNS = 11, LABEL_COLUMNS = 30, BAR_COLUMNS = 40, FRAME_INDENT = 60 };

struct answer {
	const struct report_context *context;
	struct space_waste waste;
	struct sites sites;
	const struct site *const *ranked;
	size_t count;
};

/* --- people -------------------------------------------------------------------------------- */

static void add_fact(struct text *text, const char *label, uint64_t bytes, uint64_t whole,
		     const char *words)
{
	const size_t width = str_width(label);
	char number[STR_SHORT_BYTES];

	str_add(&text->out, "  ");
	text_add(text, TEXT_PLAIN, label);
	str_add_repeated(&text->out, ' ', width < LABEL_COLUMNS ? LABEL_COLUMNS - width : 1);
	text_right(text, TEXT_VALUE, str_iec(number, bytes), COLUMNS);
	text_right(text, TEXT_DIM, str_percent(number, bytes, whole), COLUMNS - 2);
	if (words[0]) {
		str_add(&text->out, "   ");
		text_add(text, TEXT_DIM, words);
	}
	str_add_char(&text->out, '\n');
}

static void add_facts(struct text *text, const struct space_waste *waste)
{
	const uint64_t whole = waste->resident;
	CLEAN(str_deinit) struct str free_words = { 0 };
	CLEAN(str_deinit) struct str partial_words = { 0 };
	CLEAN(str_deinit) struct str pinned_words = { 0 };
	CLEAN(str_deinit) struct str slack_words = { 0 };

	str_add_counted(&free_words, waste->free_pages, "page");
	str_add(&free_words, ", ");
	str_add_grouped(&free_words, waste->tail_pages);
	str_add(&free_words, " of them behind the last block of a region");
	str_add_counted(&partial_words, waste->partial_pages, "page");
	str_add(&partial_words, ", kept by ");
	str_add_counted(&partial_words, waste->partial_blocks, "block");
	str_add_counted(&pinned_words, waste->pinned_pages, "page");
	str_add(&pinned_words, " that one block keeps alone");
	str_add(&slack_words, "in ");
	str_add_counted(&slack_words, waste->live.count, "block");
	add_fact(text, "resident heap", whole, whole, "");
	add_fact(text, "live blocks in it", waste->live_resident, whole, "");
	add_fact(text, "wholly free pages", waste->free_pages << SPACE_PAGE_SHIFT, whole,
		 str_text(&free_words));
	add_fact(text, "unused in pages with blocks", waste->wasted, whole,
		 str_text(&partial_words));
	add_fact(text, "  of it pinned", waste->pinned_bytes, whole, str_text(&pinned_words));
	add_fact(text, "slack inside of blocks", waste->live.usable - waste->live.bytes, whole,
		 str_text(&slack_words));
}

static void add_fills(struct text *text, const struct space_waste *waste)
{
	static const char *const names[SPACE_FILLS + 1] = {
		"< 10 %", "< 20 %", "< 30 %", "< 40 %", "< 50 %", "< 60 %",
		"< 70 %", "< 80 %", "< 90 %", "< full", "full",
	};
	uint64_t counts[SPACE_FILLS + 2] = { waste->free_pages };
	uint64_t most = 1;
	char number[STR_SHORT_BYTES];

	memcpy(counts + 1, waste->fills, sizeof(waste->fills));
	counts[1] -= waste->free_pages;
	for (size_t i = 0; i < array_size(counts); i++)
		most = u64_max(most, counts[i]);
	text_heading(text, "Resident pages of the heap, by what of them is live", NULL);
	for (size_t i = 0; i < array_size(counts); i++) {
		if (counts[i] == 0)
			continue;
		text_right(text, TEXT_DIM, i == 0 ? "nothing" : names[i - 1], COLUMNS);
		text_right(text, TEXT_PLAIN, str_grouped(number, counts[i]), COLUMNS);
		str_add(&text->out, "  ");
		for (uint64_t at = 0; at < div_up(counts[i] * BAR_COLUMNS, most); at++)
			str_add(&text->out, "█");
		str_add_char(&text->out, '\n');
	}
}

/* What blocks are larger than requested, where it is a hundredth of all that, at least. */
static void add_classes(struct text *text, const struct space_waste *waste)
{
	const uint64_t slack = waste->live.usable - waste->live.bytes;
	char number[STR_SHORT_BYTES];

	if (slack == 0)
		return;
	text_heading(text, "Slack, by the size that was requested", NULL);
	text_right(text, TEXT_DIM, "up to", COLUMNS);
	text_right(text, TEXT_DIM, "blocks", COLUMNS);
	text_right(text, TEXT_DIM, "live", COLUMNS);
	text_right(text, TEXT_DIM, "slack", COLUMNS);
	str_add_char(&text->out, '\n');
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		const struct space_class *class = &waste->classes[i];

		if (class->slack * 100 < slack || class->slack == 0)
			continue;
		text_right(text, TEXT_DIM, str_iec(number, i == 0 ? 0 : UINT64_MAX >> (64 - i)),
			   COLUMNS);
		text_right(text, TEXT_PLAIN, str_grouped(number, class->count), COLUMNS);
		text_right(text, TEXT_PLAIN, str_iec(number, class->bytes), COLUMNS);
		text_right(text, TEXT_VALUE, str_iec(number, class->slack), COLUMNS);
		text_right(text, TEXT_DIM, str_percent(number, class->slack, class->bytes),
			   COLUMNS - 2);
		str_add_char(&text->out, '\n');
	}
}

static void add_site(struct text *text, const struct answer *answer, const struct site *site)
{
	const struct report_context *context = answer->context;
	const uint32_t stack = site->stacks[METRIC_PEAK];
	char number[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_iec(number, site->sums.peak.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(number, site->sums.leaked.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(number, site->sums.leaked.count), COLUMNS - 2);
	text_right(text, TEXT_PLAIN, str_grouped(number, site->sums.allocated.count), COLUMNS - 1);
	text_right(text, TEXT_PLAIN, str_iec(number, site->sums.allocated.bytes), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, stack), 1, TEXT_BOLD,
		   text->width > FRAME_INDENT + 20 ? text->width - FRAME_INDENT : 20);
	rank_callers(text, context, stack, FRAME_INDENT / 2);
}

static struct err *fragmentation_text(const struct answer *answer, FILE *out)
{
	const struct space_waste *waste = &answer->waste;
	CLEAN(text_deinit) struct text text = text_begin(answer->context->settings);
	CLEAN(str_deinit) struct str title = { 0 };

	text_head(&text, answer->context->model);
	str_add(&title, "The heap after ");
	str_add_duration(&title, waste->ns);
	text_heading(&text, str_text(&title),
		     waste->snapshot == SIZE_MAX
			     ? "no picture of the address space on this tape: pages with live "
			       "blocks only, all taken to be resident"
		     : waste->is_exact ? NULL
				       : "not of all of it is known which pages are resident");
	add_facts(&text, waste);
	add_fills(&text, waste);
	add_classes(&text, waste);
	if (answer->count > 0) {
		text_heading(&text, "Whose blocks leave pages unused",
			     "each is charged its part of its page");
		text_right(&text, TEXT_DIM, "unused", COLUMNS);
		text_right(&text, TEXT_DIM, "pinned", COLUMNS);
		text_right(&text, TEXT_DIM, "pages", COLUMNS - 2);
		text_right(&text, TEXT_DIM, "blocks", COLUMNS - 1);
		text_right(&text, TEXT_DIM, "live", COLUMNS);
		text_add(&text, TEXT_DIM, "  function");
		str_add_char(&text.out, '\n');
	}
	for (size_t i = 0; i < answer->count; i++)
		add_site(&text, answer, answer->ranked[i]);
	quality_text(&text, answer->context);
	return text_write(&text, out);
}

/* --- programs ------------------------------------------------------------------------------ */

static void emit_waste(struct emit *emit, const struct space_waste *waste)
{
	emit_u64(emit, "at_ns", waste->ns, EMIT_DURATION);
	emit_bool(emit, "has_snapshot", waste->snapshot != SIZE_MAX);
	emit_bool(emit, "pages_known", waste->is_exact);
	emit_u64(emit, "live_bytes", waste->live.bytes, EMIT_BYTES);
	emit_u64(emit, "live_count", waste->live.count, EMIT_COUNT);
	emit_u64(emit, "slack_bytes", waste->live.usable - waste->live.bytes, EMIT_BYTES);
	emit_u64(emit, "resident_bytes", waste->resident, EMIT_BYTES);
	emit_u64(emit, "live_resident_bytes", waste->live_resident, EMIT_BYTES);
	emit_u64(emit, "full_pages", waste->full_pages, EMIT_COUNT);
	emit_u64(emit, "free_pages", waste->free_pages, EMIT_COUNT);
	emit_u64(emit, "tail_pages", waste->tail_pages, EMIT_COUNT);
	emit_u64(emit, "partial_pages", waste->partial_pages, EMIT_COUNT);
	emit_u64(emit, "partial_blocks", waste->partial_blocks, EMIT_COUNT);
	emit_u64(emit, "unused_bytes", waste->wasted, EMIT_BYTES);
	emit_u64(emit, "pinned_pages", waste->pinned_pages, EMIT_COUNT);
	emit_u64(emit, "pinned_bytes", waste->pinned_bytes, EMIT_BYTES);
	emit_list(emit, "pages_by_tenths_live");
	for (size_t i = 0; i <= SPACE_FILLS; i++)
		emit_u64(emit, NULL, waste->fills[i], EMIT_COUNT);
	emit_end(emit);
}

static void emit_classes(struct emit *emit, const struct space_waste *waste)
{
	emit_list(emit, "sizes");
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		const uint64_t most = i == 0 ? 0 : UINT64_MAX >> (64 - i);

		if (waste->classes[i].count == 0)
			continue;
		emit_object(emit, NULL);
		emit_u64(emit, "size_min", i == 0 ? 0 : (most >> 1) + 1, EMIT_BYTES);
		emit_u64(emit, "size_max", most, EMIT_BYTES);
		emit_u64(emit, "live_count", waste->classes[i].count, EMIT_COUNT);
		emit_u64(emit, "live_bytes", waste->classes[i].bytes, EMIT_BYTES);
		emit_u64(emit, "slack_bytes", waste->classes[i].slack, EMIT_BYTES);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_site(struct emit *emit, const struct answer *answer, const struct site *site)
{
	const uint32_t stack = site->stacks[METRIC_PEAK];

	emit_row(emit);
	rank_emit_place(emit, answer->context, rank_site_frame(answer->context, stack));
	emit_u64(emit, "unused_bytes", site->sums.peak.bytes, EMIT_BYTES);
	emit_u64(emit, "partial_blocks", site->sums.peak.count, EMIT_COUNT);
	emit_u64(emit, "pinned_bytes", site->sums.leaked.bytes, EMIT_BYTES);
	emit_u64(emit, "pinned_pages", site->sums.leaked.count, EMIT_COUNT);
	emit_u64(emit, "slack_bytes", site->sums.temporary.bytes, EMIT_BYTES);
	emit_u64(emit, "live_bytes", site->sums.allocated.bytes, EMIT_BYTES);
	emit_u64(emit, "live_count", site->sums.allocated.count, EMIT_COUNT);
	rank_emit_stack(emit, "stack", answer->context, stack);
	emit_end(emit);
}

static struct err *fragmentation_emit(const struct answer *answer, FILE *out)
{
	static const struct emit_column columns[] = {
		{ .key = "function" },	   { .key = "file" },	      { .key = "line" },
		{ .key = "module" },	   { .key = "unused_bytes" }, { .key = "partial_blocks" },
		{ .key = "pinned_bytes" }, { .key = "pinned_pages" }, { .key = "slack_bytes" },
		{ .key = "live_bytes" },   { .key = "live_count" },   { .key = "stack" },
	};
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const bool is_json = settings.format == EMIT_JSON;

	if (!emit)
		return err_nomem();
	if (is_json) {
		emit_object(emit, NULL);
		emit_waste(emit, &answer->waste);
		emit_classes(emit, &answer->waste);
	}
	emit_table(emit, is_json ? "sites" : NULL, columns, array_size(columns));
	for (size_t i = 0; i < answer->count; i++)
		emit_site(emit, answer, answer->ranked[i]);
	emit_end(emit);
	if (is_json) {
		quality_emit(emit, answer->context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

/* --- all of it ----------------------------------------------------------------------------- */

/* In the order of enum metric, as whose sums the waste comes (space/space_waste.h). */
static const char *const sorts[] = { "unused", "pinned", "live", "blocks", "slack", NULL };

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	const size_t top = settings->with.top ? settings->with.top : is_text ? SITES_SHOWN : 0;
	const enum metric metric = settings->has_sort ? (enum metric)settings->sort : METRIC_PEAK;
	CLEAN(space_destroy) struct space *space = NULL;
	struct answer answer = { .context = context };
	uint64_t ns = 0;
	struct err *err = report_moment_most_free(context, &ns);

	if (!err)
		err = space_create(context->model, &space);
	if (!err)
		err = space_waste_find(context->model, space, ns, context->arena, &answer.waste);
	if (!err)
		err = sites_find(&answer.waste.sums, context->names, context->mode, context->arena,
				 &answer.sites);
	if (!err)
		err = sites_rank(&answer.sites, metric, top, context->arena, &answer.ranked,
				 &answer.count);
	if (!err)
		err = is_text ? fragmentation_text(&answer, out) : fragmentation_emit(&answer, out);
	space_waste_deinit(&answer.waste);
	return err;
}

const struct report report_fragmentation = {
	.name = "fragmentation",
	.summary = "what of the heap is resident and unused, and whose blocks keep it",
	.depth = MODEL_FULL,
	.sorts = sorts,
	.instead = "--at chooses the moment",
	.run = run,
};
