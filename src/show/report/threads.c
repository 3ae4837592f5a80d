#include "questions/threads.h"

#include "questions/questions.h"
#include "report/answered.h"
#include "report/quality.h"
#include "report/rank.h"
#include "report/suppressed.h"

enum {
	THREADS_SHOWN = 24,
	MATRIX_THREADS_MAX = 8, /* for more, lists the largest handovers */
	HANDOVERS_SHOWN = 10,
	CREATED_SHOWN = 8,
	COLUMNS = 12,
	NAME_COLUMNS = 24
};

/* "till (101)", or "101" for a thread without a name. */
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

static const struct model_sum *handover_find(const struct threads_answer *answer,
					     uint32_t allocator, uint32_t freer)
{
	static const struct model_sum none;

	for (size_t i = 0; i < answer->found.count; i++) {
		const struct handover *handover = &answer->found.items[i];

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

/* Rows: allocating thread, columns: freeing thread. */
static void add_matrix(struct text *text, const struct model *model,
		       const struct threads_answer *answer)
{
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
		str_add_cut(&shown, str_text(&name), NAME_COLUMNS);
		text_right(text, TEXT_PLAIN, str_text(&shown), NAME_COLUMNS);
		for (uint32_t j = 0; j < count; j++)
			add_cell(text, handover_find(answer, i, j), i == j);
		add_cell(text, handover_find(answer, i, MODEL_NO_THREAD), false);
		str_add_char(&text->out, '\n');
	}
}

static void add_handovers(struct text *text, const struct model *model,
			  const struct threads_answer *answer)
{
	size_t shown = 0;
	char words[STR_SHORT_BYTES];

	text_heading(text, "Who frees what another allocated", NULL);
	for (size_t i = 0; i < answer->found.count && shown < HANDOVERS_SHOWN; i++) {
		const struct handover *handover = &answer->found.items[i];

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

/* For threads whose stack use is known. */
static void add_stack_uses(struct text *text, const struct model *model,
			   const struct threads_answer *answer)
{
	const struct thread_row *rows = answer->threads.items;
	bool is_exact = true, is_begun = false;

	for (size_t i = 0; i < answer->threads.count; i++) {
		const uint32_t index = rows[i].index;
		const struct model_stack_use *use = &rows[i].thread.stack_use;

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

static void add_creations(struct text *text, const struct report_context *context,
			  const struct threads_answer *answer)
{
	const struct thread_row *rows = answer->threads.items;
	size_t shown = 0;

	for (size_t i = 0; i < answer->threads.count && shown < CREATED_SHOWN; i++) {
		const uint32_t index = rows[i].index;
		const struct model_thread *thread = &rows[i].thread;

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

/* Threads that are not among these rows. */
static size_t count_more(const struct model *model, const struct shape_rows *rows)
{
	const struct thread_row *items = rows->items;
	size_t more = model_real_thread_count(model);

	for (size_t i = 0; i < rows->count; i++)
		more -= model_thread_is_real(model, model_thread(model, items[i].index));
	return more;
}

static struct err *threads_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct threads_answer *threads = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	const size_t count = model_thread_count(context->model);
	const size_t more = count_more(context->model, &threads->threads);
	struct err *err = answered_table(&question_threads, context, answer, out);

	if (err)
		return err;
	if (more > 0) {
		str_add(&text.out, "… and ");
		str_add_counted(&text.out, more, "more thread");
		str_add(&text.out, "; --top N shows N\n");
	}
	if (count > 1 && count <= MATRIX_THREADS_MAX)
		add_matrix(&text, context->model, threads);
	else if (count > 1)
		add_handovers(&text, context->model, threads);
	add_stack_uses(&text, context->model, threads);
	add_creations(&text, context, threads);
	suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = THREADS_SHOWN;
}

const struct report report_threads = {
	.question = &question_threads,
	.text = threads_text,
	.for_text = for_text,
};
