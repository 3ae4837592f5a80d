/*
 * threads: what each thread allocated, whose blocks it freed, and who created it.
 */
#include "base/sort.h"
#include "groups/handovers.h"
#include "report/note.h"
#include "report/quality.h"
#include "report/rank.h"
#include "report/suppressed.h"

enum {
	THREADS_SHOWN = 24,
	MATRIX_THREADS_MAX = 8, /* more are a list of the largest handovers */
	HANDOVERS_SHOWN = 10,
	CREATED_SHOWN = 8,
	COLUMNS = 12,
	NAME_COLUMNS = 24
};

struct answer {
	const struct report_context *context;
	struct handovers handovers;
	const struct sort_pair *order; /* of threads */
	size_t count;		       /* of them shown */
};

/* "till (101)", or "101" of a thread without a name. */
static void add_name(struct str *out, const struct model *model, uint32_t thread)
{
	const struct model_thread *at =
		thread == MODEL_NO_THREAD ? NULL : model_thread(model, thread);

	if (!at) {
		str_add(out, "nobody");
		return;
	}
	if (at->name[0])
		str_printf(out, "%s (%u)", at->name, at->tid);
	else
		str_add_u64(out, at->tid);
}

/* --- the table ----------------------------------------------------------------------------- */

static const struct emit_column people_columns[] = {
	{ .key = "tid", .title = "tid" },
	{ .key = "name", .title = "name", .left = true },
	{ .key = "allocated_count", .title = "allocations" },
	{ .key = "allocated_bytes", .title = "allocated" },
	{ .key = "peak_bytes", .title = "at peak" },
	{ .key = "leaked_count", .title = "leaked" },
	{ .key = "leaked_bytes", .title = "bytes" },
	{ .key = "temporary_count", .title = "temporary" },
	{ .key = "free_count", .title = "frees" },
	{ .key = "foreign_free_count", .title = "of others'" },
	{ .key = "begin_ns", .title = "began" },
	{ .key = "end_ns", .title = "ended" },
};
static const struct emit_column program_columns[] = {
	{ .key = "tid" },
	{ .key = "name" },
	{ .key = "allocated_count" },
	{ .key = "allocated_bytes" },
	{ .key = "peak_count" },
	{ .key = "peak_bytes" },
	{ .key = "leaked_count" },
	{ .key = "leaked_bytes" },
	{ .key = "temporary_count" },
	{ .key = "free_count" },
	{ .key = "foreign_free_count" },
	{ .key = "begin_ns" },
	{ .key = "end_ns" },
	{ .key = "stack_bytes" },
	{ .key = "stack_used_bytes" },
	{ .key = "stack_known" },
	{ .key = "creator" },
	{ .key = "create_stack" },
};

static void emit_creation(struct emit *emit, const struct answer *answer,
			  const struct model_thread *thread)
{
	const struct model *model = answer->context->model;

	note_thread(emit, "creator", model, thread->creator);
	if (thread->create_stack == CAPTURE_STACK_NONE)
		emit_null(emit, "create_stack");
	else
		rank_emit_stack(emit, "create_stack", answer->context, thread->create_stack);
}

static void emit_unless(struct emit *emit, const char *key, uint64_t bytes)
{
	if (bytes == MODEL_BYTES_UNKNOWN)
		emit_null(emit, key);
	else
		emit_u64(emit, key, bytes, EMIT_BYTES);
}

static void emit_stack_use(struct emit *emit, const struct model_stack_use *use)
{
	emit_unless(emit, "stack_bytes", use->reserved_bytes);
	emit_unless(emit, "stack_used_bytes", use->used_bytes);
	emit_text(emit, "stack_known", model_stack_known_word(use));
}

static void emit_thread(struct emit *emit, const struct answer *answer, uint32_t index)
{
	const struct model_thread *thread = model_thread(answer->context->model, index);
	const struct model_stack_sums *sums = &answer->handovers.threads[index];
	/* The model knows of frees of blocks that nobody saw allocated, too. */
	const bool is_all = selection_is_all(answer->context->selection);

	emit_row(emit);
	emit_u64(emit, "tid", thread->tid, EMIT_PLAIN);
	emit_text(emit, "name", thread->name);
	emit_u64(emit, "allocated_count", sums->allocated.count, EMIT_COUNT);
	emit_u64(emit, "allocated_bytes", sums->allocated.bytes, EMIT_BYTES);
	emit_u64(emit, "peak_count", sums->peak.count, EMIT_COUNT);
	emit_u64(emit, "peak_bytes", sums->peak.bytes, EMIT_BYTES);
	emit_u64(emit, "leaked_count", sums->leaked.count, EMIT_COUNT);
	emit_u64(emit, "leaked_bytes", sums->leaked.bytes, EMIT_BYTES);
	emit_u64(emit, "temporary_count", sums->temporary.count, EMIT_COUNT);
	emit_u64(emit, "free_count",
		 is_all ? thread->free_count : answer->handovers.free_counts[index], EMIT_COUNT);
	emit_u64(emit, "foreign_free_count",
		 is_all ? thread->foreign_free_count : answer->handovers.foreign_free_counts[index],
		 EMIT_COUNT);
	emit_u64(emit, "begin_ns", thread->begin_ns, EMIT_DURATION);
	if (thread->end_ns == MODEL_NEVER)
		emit_null(emit, "end_ns");
	else
		emit_u64(emit, "end_ns", thread->end_ns, EMIT_DURATION);
	if (answer->context->settings->format != EMIT_TEXT) {
		emit_stack_use(emit, &thread->stack_use);
		emit_creation(emit, answer, thread);
	}
	emit_end(emit);
}

static void emit_threads(struct emit *emit, const char *key, const struct answer *answer)
{
	const bool is_text = answer->context->settings->format == EMIT_TEXT;

	if (is_text)
		emit_table(emit, key, people_columns, array_size(people_columns));
	else
		emit_table(emit, key, program_columns, array_size(program_columns));
	for (size_t i = 0; i < answer->count; i++)
		emit_thread(emit, answer, answer->order[i].index);
	emit_end(emit);
}

/* --- text ---------------------------------------------------------------------------------- */

static const struct model_sum *handover_find(const struct answer *answer, uint32_t allocator,
					     uint32_t freer)
{
	static const struct model_sum none;

	for (size_t i = 0; i < answer->handovers.count; i++) {
		const struct handover *handover = &answer->handovers.items[i];

		if (handover->allocator == allocator && handover->freer == freer)
			return &handover->sum;
	}
	return &none;
}

static void add_cell(struct text *text, const struct model_sum *sum, bool is_own)
{
	char words[STR_SHORT_BYTES];

	text_right(text, sum->count == 0 || is_own ? TEXT_DIM : TEXT_VALUE,
		   sum->count ? str_iec(words, sum->bytes) : ".", COLUMNS);
}

/* Rows allocated, columns freed. */
static void add_matrix(struct text *text, const struct answer *answer)
{
	const struct model *model = answer->context->model;
	const uint32_t count = (uint32_t)model_thread_count(model);
	char words[STR_SHORT_BYTES];

	text_heading(text, "Who frees what who allocated", "bytes; by whom they were freed");
	str_add_repeated(&text->out, ' ', NAME_COLUMNS);
	for (uint32_t i = 0; i < count; i++)
		text_right(text, TEXT_DIM,
			   str_format(words, sizeof(words), "by %u", model_thread(model, i)->tid),
			   COLUMNS);
	text_right(text, TEXT_DIM, "by nobody", COLUMNS);
	str_add_char(&text->out, '\n');
	for (uint32_t i = 0; i < count; i++) {
		CLEAN(str_deinit) struct str name = { 0 };
		CLEAN(str_deinit) struct str shown = { 0 };

		add_name(&name, model, i);
		text_cut(&shown, str_text(&name), NAME_COLUMNS);
		text_right(text, TEXT_PLAIN, str_text(&shown), NAME_COLUMNS);
		for (uint32_t j = 0; j < count; j++)
			add_cell(text, handover_find(answer, i, j), i == j);
		add_cell(text, handover_find(answer, i, MODEL_NO_THREAD), false);
		str_add_char(&text->out, '\n');
	}
}

static void add_handovers(struct text *text, const struct answer *answer)
{
	const struct model *model = answer->context->model;
	size_t shown = 0;
	char words[STR_SHORT_BYTES];

	text_heading(text, "Who frees what another allocated", NULL);
	for (size_t i = 0; i < answer->handovers.count && shown < HANDOVERS_SHOWN; i++) {
		const struct handover *handover = &answer->handovers.items[i];

		if (handover->freer == MODEL_NO_THREAD || handover->freer == handover->allocator)
			continue;
		text_right(text, TEXT_VALUE, str_iec(words, handover->sum.bytes), COLUMNS);
		text_right(text, TEXT_PLAIN, str_grouped(words, handover->sum.count), COLUMNS);
		str_add(&text->out, "  ");
		add_name(&text->out, model, handover->allocator);
		str_add(&text->out, " → ");
		add_name(&text->out, model, handover->freer);
		str_add_char(&text->out, '\n');
		shown++;
	}
	if (shown == 0)
		str_add(&text->out, "  Each thread frees its own blocks.\n");
}

/* "≥ 6.1 KiB  0.1 %  of 8.0 MiB  main (100)" */
static void add_stack_use(struct text *text, const struct model *model, uint32_t thread)
{
	const struct model_stack_use *use = &model_thread(model, thread)->stack_use;
	const bool is_exact = use->known == MODEL_STACK_PAGES;
	const bool has_limit = use->reserved_bytes != MODEL_BYTES_UNKNOWN;
	CLEAN(str_deinit) struct str share = { 0 };
	char words[STR_SHORT_BYTES], used[2 * STR_SHORT_BYTES];

	str_format(used, sizeof(used), "%s%s", is_exact ? "" : "≥ ",
		   str_iec(words, use->used_bytes));
	text_right(text, TEXT_VALUE, used, COLUMNS + 2);
	if (has_limit)
		str_add_percent(&share, use->used_bytes, use->reserved_bytes);
	text_right(text, TEXT_PLAIN, has_limit ? str_text(&share) : "", COLUMNS - 4);
	text_right(text, TEXT_DIM, has_limit ? str_iec(words, use->reserved_bytes) : "no limit",
		   COLUMNS);
	str_add(&text->out, "  ");
	add_name(&text->out, model, thread);
	str_add_char(&text->out, '\n');
}

/* Of those of which it is known. */
static void add_stack_uses(struct text *text, const struct answer *answer)
{
	const struct model *model = answer->context->model;
	bool is_exact = true, is_begun = false;

	for (size_t i = 0; i < answer->count; i++) {
		const uint32_t index = answer->order[i].index;
		const struct model_stack_use *use = &model_thread(model, index)->stack_use;

		if (use->known == MODEL_STACK_UNKNOWN)
			continue;
		if (!is_begun)
			text_heading(text, "Stacks", "used, of what is reserved");
		is_begun = true;
		is_exact &= use->known == MODEL_STACK_PAGES;
		add_stack_use(text, model, index);
	}
	if (!is_exact)
		str_add(&text->out, "  ≥: at least; to the deepest call that was recorded. The "
				    "others are known "
				    "by the pages that were touched.\n");
}

static void add_creations(struct text *text, const struct answer *answer)
{
	const struct report_context *context = answer->context;
	size_t shown = 0;

	for (size_t i = 0; i < answer->count && shown < CREATED_SHOWN; i++) {
		const uint32_t index = answer->order[i].index;
		const struct model_thread *thread = model_thread(context->model, index);

		if (thread->create_stack == CAPTURE_STACK_NONE)
			continue;
		if (shown++ == 0)
			text_heading(text, "Created", NULL);
		str_add(&text->out, "  ");
		add_name(&text->out, context->model, index);
		if (thread->creator != MODEL_NO_THREAD) {
			str_add(&text->out, " by ");
			add_name(&text->out, context->model, thread->creator);
		}
		str_add(&text->out, " in ");
		rank_frame(text, context, rank_site_frame(context, thread->create_stack), 1,
			   TEXT_BOLD, text->width - 2 * NAME_COLUMNS);
		rank_callers(text, context, thread->create_stack, COLUMNS);
	}
}

static struct err *threads_text(const struct answer *answer, FILE *out)
{
	const struct report_settings *settings = answer->context->settings;
	const struct emit_settings emit_settings = { .format = EMIT_TEXT,
						     .colour = settings->colour,
						     .width = settings->width };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &emit_settings);
	CLEAN(text_deinit) struct text text = text_begin(settings);
	const size_t count = model_thread_count(answer->context->model);
	struct err *err;

	if (!emit)
		return err_nomem();
	emit_threads(emit, NULL, answer);
	err = emit_finish(emit);
	if (err)
		return err;
	if (answer->count < count) {
		str_add(&text.out, "… and ");
		str_add_counted(&text.out, count - answer->count, "more thread");
		str_add(&text.out, "; --top N shows N\n");
	}
	if (count > 1 && count <= MATRIX_THREADS_MAX)
		add_matrix(&text, answer);
	else if (count > 1)
		add_handovers(&text, answer);
	add_stack_uses(&text, answer);
	add_creations(&text, answer);
	suppressed_line(&text, answer->context);
	quality_text(&text, answer->context);
	return text_write(&text, out);
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static void emit_handovers(struct emit *emit, const struct answer *answer)
{
	const struct model *model = answer->context->model;

	emit_list(emit, "handovers");
	for (size_t i = 0; i < answer->handovers.count; i++) {
		const struct handover *handover = &answer->handovers.items[i];

		emit_object(emit, NULL);
		emit_u64(emit, "allocated_by", model_thread(model, handover->allocator)->tid,
			 EMIT_PLAIN);
		note_thread(emit, "freed_by", model, handover->freer);
		emit_u64(emit, "count", handover->sum.count, EMIT_COUNT);
		emit_u64(emit, "bytes", handover->sum.bytes, EMIT_BYTES);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct err *threads_emit(const struct answer *answer, FILE *out)
{
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);

	if (!emit)
		return err_nomem();
	if (settings.format == EMIT_CSV) {
		emit_threads(emit, NULL, answer);
		return emit_finish(emit);
	}
	emit_object(emit, NULL);
	emit_threads(emit, "threads", answer);
	emit_handovers(emit, answer);
	suppressed_emit(emit, answer->context);
	quality_emit(emit, answer->context);
	emit_end(emit);
	return emit_finish(emit);
}

/* --- */

static struct err *threads_order(struct answer *answer)
{
	const struct report_settings *settings = answer->context->settings;
	const size_t count = model_thread_count(answer->context->model);
	const size_t usual = settings->format == EMIT_TEXT ? THREADS_SHOWN : count;
	struct sort_pair *order = arena_array(answer->context->arena, count, sizeof(*order));

	if (!order)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		/* Ascending order of the complement: most first. */
		order[i].key = settings->has_sort ? ~metric_value((enum metric)settings->sort,
								  &answer->handovers.threads[i])
						  : i;
		order[i].index = (uint32_t)i;
	}
	if (!sort_pairs(order, count))
		return err_nomem();
	answer->order = order;
	answer->count = u64_min(settings->with.top ? settings->with.top : usual, count);
	return NULL;
}

static struct err *run(const struct report_context *context, FILE *out)
{
	struct answer answer = { .context = context };
	struct err *err = handovers_find(context->model, context->selection, context->arena,
					 &answer.handovers);

	if (!err)
		err = threads_order(&answer);
	if (err)
		return err;
	return context->settings->format == EMIT_TEXT ? threads_text(&answer, out)
						      : threads_emit(&answer, out);
}

const struct report report_threads = {
	.name = "threads",
	.summary = "what each thread allocated, whose blocks it freed, its stack, who created it",
	.depth = MODEL_FULL,
	.selects = true,
	.run = run,
};
