/*
 * trace: what the kernel did for the program, by kind and stack.
 */
#include "questions/address_space.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { STACKS_SHOWN = 10, NUMBER_COLUMNS = 12, BYTES_COLUMNS = 12, FRAMES_SHOWN = 20 };

static void add_words(struct str *out, enum tape_kernel_kind kind, const struct trace_kind *of)
{
	static const char *const verbs[TAPE_KERNEL_KINDS] = {
		[TAPE_KERNEL_BRK] = "the heap grew by ",
		[TAPE_KERNEL_MMAP] = "mapped ",
		[TAPE_KERNEL_MUNMAP] = "unmapped ",
		[TAPE_KERNEL_HUGE_SPLIT] = "",
	};

	str_add_grouped(out, of->count);
	if (verbs[kind]) {
		str_add(out, kind == TAPE_KERNEL_HUGE_SPLIT ? " pages, "
			     : of->count == 1		    ? " call, "
							    : " calls, ");
		str_add(out, verbs[kind]);
		str_add_iec(out, of->bytes);
	}
	if (of->lost > 0) {
		str_add(out, "; ");
		str_add_grouped(out, of->lost);
		str_add(out, " lost, for want of room");
	}
	if (of->own > 0) {
		str_add(out, "; ");
		str_add_grouped(out, of->own);
		str_add(out, " of the recorder, not shown");
	}
	if (of->period == 1 && of->recorded + of->lost + of->own < of->count) {
		str_add(out, "; ");
		str_add_grouped(out, of->recorded);
		str_add(out, " of them shown");
	}
	if (of->period > 1) {
		str_add(out, "; one of ");
		str_add_grouped(out, of->period);
		str_add(out, " recorded");
	}
}

static void add_numbers(struct text *text, uint64_t count, uint64_t bytes)
{
	char number[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_grouped(number, count), NUMBER_COLUMNS);
	text_right(text, TEXT_PLAIN, bytes ? str_iec(number, bytes) : "", BYTES_COLUMNS);
}

/* With the frames of the allocator, which are of interest here. */
static void add_stack(struct text *text, const struct report_context *context,
		      const struct trace_stack *stack)
{
	const size_t indent = NUMBER_COLUMNS + BYTES_COLUMNS + 2;
	struct walk walk = walk_begin(context->model, context->names, stack->stack, context->mode);
	const struct name_frame *frame;
	uint64_t times;
	size_t i;

	add_numbers(text, stack->count, stack->bytes);
	str_add(&text->out, "  ");
	for (i = 0; i < FRAMES_SHOWN && (frame = walk_next_run(&walk, true, &times)); i++) {
		if (i > 0)
			str_add_repeated(&text->out, ' ', indent);
		rank_frame(text, context, frame, times, i == 0 ? TEXT_BOLD : TEXT_PLAIN,
			   text->width - indent);
	}
	if (i == 0)
		str_add(&text->out, "(no stack)\n");
}

static void add_place(struct str *out, uint64_t count, const char *words)
{
	if (count == 0)
		return;
	str_add(out, ", ");
	str_add_grouped(out, count);
	str_add(out, words);
}

/* Whose blocks they are in: without the frames of the allocator, as in other reports. */
static void add_owners(struct text *text, const struct report_context *context,
		       const struct trace_owners *owners, const char *title)
{
	CLEAN(str_deinit) struct str words = { 0 };
	struct report_context folded = *context;

	if (!owners || owners->count == 0)
		return;
	folded.mode = WALK_MY;
	str_add_grouped(&words, owners->in_blocks);
	str_add(&words, " in blocks");
	if (owners->allocating > 0) {
		str_add(&words, " (");
		str_add_grouped(&words, owners->allocating);
		str_add(&words, " while these were allocated)");
	}
	add_place(&words, owners->in_heap, " in no block of the heap");
	add_place(&words, owners->in_stacks, " in stacks of threads");
	add_place(&words, owners->in_files, " in mapped files");
	add_place(&words, owners->elsewhere, " elsewhere");
	text_heading(text, title, str_text(&words));
	for (size_t i = 0; i < owners->sites.count; i++) {
		const struct trace_owner *owner =
			&((const struct trace_owner *)owners->sites.items)[i];

		add_stack(text, &folded,
			  &(struct trace_stack) { .count = owner->count,
						  .bytes = owner->bytes,
						  .stack = owner->stack });
	}
}

/* Where it is not known who split them: the mappings that lost some. */
static void add_estimates(struct text *text, const struct report_context *context,
			  const struct trace_answer *answer)
{
	const struct trace_estimate *items = answer->split_estimates.items;
	struct report_context folded = *context;
	CLEAN(str_deinit) struct str words = { 0 };

	if (answer->split_estimates.count == 0)
		return;
	folded.mode = WALK_MY;
	str_add(&words,
		"an estimate: gone between two looks at the mappings, whose memory was not");
	text_heading(text, "Huge pages probably split", str_text(&words));
	for (size_t i = 0; i < answer->split_estimates.count; i++) {
		if (items[i].stack != CAPTURE_STACK_NONE) {
			add_stack(text, &folded,
				  &(struct trace_stack) { .count = items[i].count,
							  .bytes = items[i].bytes,
							  .stack = items[i].stack });
			continue;
		}
		add_numbers(text, items[i].count, items[i].bytes);
		str_add(&text->out, "  ");
		str_add_terminal(&text->out, items[i].name && items[i].name[0] ? items[i].name
					     : items[i].kind		       ? items[i].kind
									       : "(no stack)");
		str_add_char(&text->out, '\n');
	}
}

static void add_kind(struct text *text, const struct report_context *context,
		     const struct trace_answer *answer, enum tape_kernel_kind kind)
{
	static const char *const titles[TAPE_KERNEL_KINDS] = {
		[TAPE_KERNEL_BRK] = "brk",
		[TAPE_KERNEL_MMAP] = "mmap",
		[TAPE_KERNEL_MUNMAP] = "munmap",
		[TAPE_KERNEL_FAULT] = "Page faults",
		[TAPE_KERNEL_MAJOR_FAULT] = "Major page faults",
		[TAPE_KERNEL_HUGE_SPLIT] = "Huge pages split",
		[TAPE_KERNEL_OOM] = "Processes killed for want of memory",
	};
	const struct trace_kind *of = trace_answer_kind(answer, kind);
	const struct trace_stack *stacks = answer->stacks.items;
	CLEAN(str_deinit) struct str words = { 0 };

	if (!of)
		return;
	add_words(&words, kind, of);
	text_heading(text, titles[kind], str_text(&words));
	for (size_t i = 0; i < answer->stacks.count; i++)
		if (stacks[i].number == kind)
			add_stack(text, context, &stacks[i]);
	if (!of->is_user_only || kind < TAPE_KERNEL_FAULT)
		return;
	text_add(text, TEXT_DIM,
		 "  Faults within system calls are not here: that takes root, or "
		 "kernel.perf_event_paranoid of 1 or less.");
	str_add_char(&text->out, '\n');
}

static struct err *trace_text(const struct report_context *context, const void *value, FILE *out)
{
	const struct trace_answer *answer = value;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	bool has_any = false;

	text_head(&text, context->model);
	for (unsigned kind = 0; kind < TAPE_KERNEL_KINDS; kind++) {
		has_any |= trace_answer_kind(answer, kind) != NULL;
		add_kind(&text, context, answer, kind);
	}
	add_owners(&text, context, answer->owners, "Page faults by allocation");
	add_owners(&text, context, answer->split_owners, "Splits of huge pages by allocation");
	add_estimates(&text, context, answer);
	if (!has_any && answer->split_estimates.count == 0)
		str_add(&text.out, "\nThis tape has no events of the kernel: `memtape trace` "
				   "records them, or `memtape record --trace`.\n");
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = STACKS_SHOWN;
}

const struct report report_trace = {
	.question = &question_trace,
	.text = trace_text,
	.for_text = for_text,
};
