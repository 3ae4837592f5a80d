/*
 * reallocs: who lets blocks grow, how often they had to move, and whether they grow in a way that
 * makes copying cost more the larger they get.
 */
#include "groups/reallocs.h"

#include "base/sort.h"
#include "report/quality.h"
#include "report/rank.h"

enum {
	SITES_SHOWN = 8,
	CHAINS_SHOWN = 6,
	CHAINS_EMITTED = 100,
	COLUMNS = 11,
	NUMBERS_COLUMNS = 6 * COLUMNS + 2
};

struct answer {
	const struct report_context *context;
	struct reallocs reallocs;
	const struct realloc_sums *by_site;
	const struct sort_pair *order; /* of sites */
	size_t count;
};

/* "x1.50 a step", "+4.0 KiB a step"; nothing for a block that did not grow. */
static void add_growth(struct str *out, const struct realloc_chain *chain)
{
	const double factor = realloc_chain_factor(chain);

	if (realloc_chain_is_constant(chain)) {
		str_add_char(out, '+');
		str_add_iec(out, chain->increment_min);
	} else if (factor > 0) {
		str_add(out, "×");
		str_add_double(out, factor, 2);
	} else {
		str_add_char(out, '-');
	}
}

/* --- text ---------------------------------------------------------------------------------- */

static void add_number(struct text *text, uint64_t number)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN, str_grouped(words, number), COLUMNS);
}

static void add_total(struct text *text, const struct realloc_sums *total)
{
	CLEAN(str_deinit) struct str right = { 0 };

	str_add_counted(&right, total->steps, "time");
	str_add(&right, " in ");
	str_add_counted(&right, total->chains, "block");
	str_add(&right, ", ");
	str_add_percent(&right, total->moved, total->steps);
	str_add(&right, " of them moved: ");
	str_add_iec(&right, total->copied_bytes);
	str_add(&right, " copied at most");
	text_heading(text, "Reallocated", str_text(&right));
}

static void add_titles(struct text *text)
{
	static const char *const titles[] = { "copied",	 "steps",   "blocks",
					      "longest", "largest", "growth" };

	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
}

static void add_hint(struct text *text, const struct realloc_sums *sums)
{
	if (sums->constant_chains == 0)
		return;
	str_add_repeated(&text->out, ' ', COLUMNS);
	text_style(text, TEXT_BAD);
	str_add(&text->out, "! ");
	str_add_counted(&text->out, sums->constant_chains, "block");
	str_add(&text->out,
		" grew by constant steps and moved again and again: reserve the size, or "
		"grow by a factor");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_site(struct text *text, const struct report_context *context,
		     const struct realloc_sums *sums)
{
	const uint32_t stack = sums->heaviest.stack;
	CLEAN(str_deinit) struct str growth = { 0 };
	char words[STR_SHORT_BYTES];

	add_growth(&growth, &sums->heaviest);
	text_right(text, TEXT_VALUE, str_iec(words, sums->copied_bytes), COLUMNS);
	add_number(text, sums->steps);
	add_number(text, sums->chains);
	add_number(text, sums->longest);
	text_right(text, TEXT_PLAIN, str_iec(words, sums->last_bytes_max), COLUMNS);
	text_right(text, TEXT_PLAIN, str_text(&growth), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, stack), 1, TEXT_BOLD,
		   text->width - NUMBERS_COLUMNS);
	rank_callers(text, context, stack, COLUMNS);
	add_hint(text, sums);
}

static void add_chain(struct text *text, const struct report_context *context,
		      const struct realloc_chain *chain)
{
	CLEAN(str_deinit) struct str growth = { 0 };
	char words[STR_SHORT_BYTES];

	add_growth(&growth, chain);
	text_right(text, TEXT_VALUE, str_iec(words, chain->copied_bytes), COLUMNS);
	add_number(text, chain->steps);
	add_number(text, chain->moved);
	text_right(text, TEXT_PLAIN, str_iec(words, chain->first_bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, chain->last_bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_text(&growth), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, chain->stack), 1, TEXT_PLAIN,
		   text->width - NUMBERS_COLUMNS);
}

static void add_chains(struct text *text, const struct answer *answer)
{
	static const char *const titles[] = { "copied", "steps", "moved", "from", "to", "growth" };
	const enum realloc_order order = answer->context->settings->sort;

	text_heading(text, "Single blocks",
		     order == REALLOC_BY_LENGTH ? "that were reallocated most often"
		     : order == REALLOC_BY_SIZE ? "that became largest"
						: "that were copied most");
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < answer->reallocs.top_count && i < CHAINS_SHOWN; i++)
		add_chain(text, answer->context, &answer->reallocs.top[i]);
}

static struct err *reallocs_text(const struct answer *answer, FILE *out)
{
	const struct report_context *context = answer->context;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	if (answer->count == 0) {
		str_add_char(&text.out, '\n');
		text_add(&text, TEXT_GOOD, "Nothing was reallocated.");
		str_add_char(&text.out, '\n');
	} else {
		add_total(&text, &answer->reallocs.total);
		add_titles(&text);
		for (size_t i = 0; i < answer->count; i++)
			add_site(&text, context, &answer->by_site[answer->order[i].index]);
		add_chains(&text, answer);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static void emit_growth(struct emit *emit, const struct realloc_chain *chain)
{
	const double factor = realloc_chain_factor(chain);

	if (factor > 0)
		emit_ratio(emit, "growth_factor", factor, 4);
	else
		emit_null(emit, "growth_factor");
	if (realloc_chain_is_constant(chain))
		emit_u64(emit, "increment_bytes", chain->increment_min, EMIT_BYTES);
	else
		emit_null(emit, "increment_bytes");
}

static void emit_sums(struct emit *emit, const struct realloc_sums *sums)
{
	emit_u64(emit, "blocks", sums->chains, EMIT_COUNT);
	emit_u64(emit, "reallocs", sums->steps, EMIT_COUNT);
	emit_u64(emit, "grown", sums->grown, EMIT_COUNT);
	emit_u64(emit, "moved", sums->moved, EMIT_COUNT);
	emit_u64(emit, "copied_bytes", sums->copied_bytes, EMIT_BYTES);
	emit_u64(emit, "longest", sums->longest, EMIT_COUNT);
	emit_u64(emit, "final_bytes_max", sums->last_bytes_max, EMIT_BYTES);
	emit_u64(emit, "constant_blocks", sums->constant_chains, EMIT_COUNT);
}

static void emit_sites(struct emit *emit, const char *key, const struct answer *answer)
{
	static const struct emit_column columns[] = {
		{ .key = "function" },
		{ .key = "file" },
		{ .key = "line" },
		{ .key = "module" },
		{ .key = "blocks" },
		{ .key = "reallocs" },
		{ .key = "grown" },
		{ .key = "moved" },
		{ .key = "copied_bytes" },
		{ .key = "longest" },
		{ .key = "final_bytes_max" },
		{ .key = "constant_blocks" },
		{ .key = "growth_factor" },
		{ .key = "increment_bytes" },
		{ .key = "stack" },
	};

	emit_table(emit, key, columns, array_size(columns));
	for (size_t i = 0; i < answer->count; i++) {
		const struct realloc_sums *sums = &answer->by_site[answer->order[i].index];
		const uint32_t stack = sums->heaviest.stack;

		emit_row(emit);
		rank_emit_place(emit, answer->context, rank_site_frame(answer->context, stack));
		emit_sums(emit, sums);
		emit_growth(emit, &sums->heaviest);
		rank_emit_stack(emit, "stack", answer->context, stack);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_chains(struct emit *emit, const struct answer *answer)
{
	emit_list(emit, "chains");
	for (size_t i = 0; i < answer->reallocs.top_count; i++) {
		const struct realloc_chain *chain = &answer->reallocs.top[i];

		emit_object(emit, NULL);
		emit_u64(emit, "first_allocation", chain->first_row, EMIT_PLAIN);
		emit_u64(emit, "last_allocation", chain->last_row, EMIT_PLAIN);
		emit_u64(emit, "reallocs", chain->steps, EMIT_COUNT);
		emit_u64(emit, "grown", chain->grown, EMIT_COUNT);
		emit_u64(emit, "moved", chain->moved, EMIT_COUNT);
		emit_u64(emit, "copied_bytes", chain->copied_bytes, EMIT_BYTES);
		emit_u64(emit, "first_bytes", chain->first_bytes, EMIT_BYTES);
		emit_u64(emit, "final_bytes", chain->last_bytes, EMIT_BYTES);
		emit_u64(emit, "max_bytes", chain->max_bytes, EMIT_BYTES);
		emit_growth(emit, chain);
		rank_emit_stack(emit, "stack", answer->context, chain->stack);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct err *reallocs_emit(const struct answer *answer, FILE *out)
{
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);

	if (!emit)
		return err_nomem();
	if (settings.format == EMIT_CSV) {
		emit_sites(emit, NULL, answer);
		return emit_finish(emit);
	}
	emit_object(emit, NULL);
	emit_sums(emit, &answer->reallocs.total);
	emit_text(emit, "sort", realloc_order_words[answer->context->settings->sort]);
	emit_sites(emit, "sites", answer);
	emit_chains(emit, answer);
	quality_emit(emit, answer->context);
	emit_end(emit);
	return emit_finish(emit);
}

/* --- */

static uint64_t sums_value(enum realloc_order order, const struct realloc_sums *sums)
{
	switch (order) {
	case REALLOC_BY_COPIED:
		return sums->copied_bytes;
	case REALLOC_BY_LENGTH:
		return sums->longest;
	case REALLOC_BY_SIZE:
		return sums->last_bytes_max;
	}
	return 0;
}

static struct err *sites_order(struct answer *answer, const struct sites *sites, size_t top)
{
	struct arena *arena = answer->context->arena;
	struct realloc_sums *by_site = arena_array(arena, sites->count, sizeof(*by_site));
	struct sort_pair *order = arena_array(arena, sites->count, sizeof(*order));

	if (!by_site || !order)
		return err_nomem();
	for (size_t i = 0; i < model_stack_count(answer->context->model); i++) {
		if (sites->site_of[i] != UINT32_MAX)
			realloc_sums_add(&by_site[sites->site_of[i]], &answer->reallocs.stacks[i]);
	}
	for (size_t i = 0; i < sites->count; i++) {
		const uint64_t value = sums_value(answer->context->settings->sort, &by_site[i]);

		if (by_site[i].chains > 0)
			order[answer->count++] = (struct sort_pair) { ~value, (uint32_t)i };
	}
	if (!sort_pairs(order, answer->count))
		return err_nomem();
	if (top && answer->count > top)
		answer->count = top;
	answer->by_site = by_site;
	answer->order = order;
	return NULL;
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	const size_t chains = settings->with.top ? settings->with.top : CHAINS_EMITTED;
	struct answer answer = { .context = context };
	struct sites sites;
	struct err *err = reallocs_find(context->model, context->selection, settings->sort, chains,
					context->arena, &answer.reallocs);

	if (!err)
		err = sites_find(&context->sums, context->names, context->mode, context->arena,
				 &sites);
	if (!err)
		err = sites_order(&answer, &sites,
				  settings->with.top ? settings->with.top
				  : is_text	     ? SITES_SHOWN
						     : 0);
	if (err)
		return err;
	return is_text ? reallocs_text(&answer, out) : reallocs_emit(&answer, out);
}

const struct report report_reallocs = {
	.name = "reallocs",
	.summary = "blocks that grew by realloc: how often, how far, what was copied",
	.depth = MODEL_FULL,
	.sorts = realloc_order_words,
	.selects = true,
	.ignores_leaks = true,
	.run = run,
};
