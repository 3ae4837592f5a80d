#include "questions/leaks.h"

#include "model/import.h"
#include "questions/questions.h"
#include "report/lsan.h"
#include "report/memcheck.h"
#include "report/xtree.h"
#include "report/quality.h"
#include "report/rank.h"

enum { RECORDS_SHOWN = 20, FRAMES_SHOWN = 24, BYTES_COLUMNS = 12, BLOCKS_COLUMNS = 11 };

static void add_scan(struct text *text, const struct report_context *context,
		     const struct leak_classes_answer *answer)
{
	const struct scan_facts *scan = &answer->scan;
	struct str *out = &text->out;

	str_add(out, "\n  scanned ");
	if (!(model_missing(context->model) & TAPE_MISSING_TIMES)) {
		str_add(out, "after ");
		str_add_duration(out, scan->time_ns);
		str_add_char(out, ' ');
	}
	str_printf(out, "(%s), ", scan->reason);
	str_add(out, scan->pause_ns > 0 ? "while " : "with ");
	str_add_counted(out, scan->threads, "thread");
	if (scan->pause_ns > 0) { /* not of a core dump */
		str_add(out, " stood still for ");
		str_add_duration(out, scan->pause_ns);
	}
	str_add_char(out, '\n');
	if (scan->missed_threads > 0) {
		str_add(out, "  ");
		str_add_counted(out, scan->missed_threads, "thread");
		str_add(out, " could not be stopped: what they hold may look lost\n");
	}
	if (scan->unread_bytes > 0) {
		str_add(out, "  ");
		str_add_iec(out, scan->unread_bytes);
		str_add(out, " could not be read: what they point to may look lost\n");
	}
	if (scan->off_tape_blocks > 0) {
		str_add(out, "  ");
		str_add_counted(out, scan->off_tape_blocks, "more block");
		str_add(out, " with ");
		str_add_iec(out, scan->off_tape_bytes);
		str_add(out, model_process(context->model)->flags & TAPE_FLAG_FORKED
				     ? " are not on the tape, but from before the fork\n"
				     : " are not on the tape\n");
	}
}

static void add_numbers(struct text *text, uint64_t bytes, uint64_t blocks)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_iec(words, bytes), BYTES_COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(words, blocks), BLOCKS_COLUMNS);
	str_add(&text->out, "  ");
}

static void add_stack(struct text *text, const struct report_context *context,
		      const struct loss_record *record)
{
	const size_t indent = BYTES_COLUMNS + BLOCKS_COLUMNS + 2;
	struct walk walk = walk_begin(context->model, context->names, record->stack, context->mode);
	const struct name_frame *frame;
	uint64_t times;

	for (size_t i = 0; i < FRAMES_SHOWN && (frame = walk_next_run(&walk, true, &times)); i++) {
		if (i > 0)
			str_add_repeated(&text->out, ' ', indent);
		rank_frame(text, context, frame, times, i == 0 ? TEXT_BOLD : TEXT_PLAIN,
			   text->width - indent);
	}
}

static void add_record(struct text *text, const struct report_context *context,
		       const struct loss_record *record)
{
	CLEAN(str_deinit) struct str line = { 0 };

	add_numbers(text, record->bytes, record->blocks);
	add_stack(text, context, record);
	if (record->indirect_blocks == 0)
		return;
	str_add_repeated(&text->out, ' ', BYTES_COLUMNS + BLOCKS_COLUMNS + 2);
	str_add(&line, "and indirectly ");
	str_add_iec(&line, record->indirect_bytes);
	str_add(&line, " in ");
	str_add_counted(&line, record->indirect_blocks, "block");
	text_add(text, TEXT_DIM, str_text(&line));
	str_add_char(&text->out, '\n');
}

/* Records of a class, the largest first. */
static void add_kind(struct text *text, const struct report_context *context,
		     const struct leak_classes_answer *answer, enum loss_kind kind)
{
	static const char *const titles[] = {
		[LOSS_DEFINITE] = "Definitely lost: nothing points to it",
		[LOSS_INDIRECT] = "Indirectly lost: only lost blocks point to it",
		[LOSS_POSSIBLE] = "Possibly lost: only pointers into its middle lead to it",
		[LOSS_REACHABLE] = "Still reachable",
	};
	const struct loss_record *records = answer->records.items;
	bool is_begun = false;

	for (size_t i = 0; i < answer->records.count; i++) {
		if (records[i].kind != kind)
			continue;
		if (!is_begun)
			text_heading(text, titles[kind], NULL);
		is_begun = true;
		add_record(text, context, &records[i]);
	}
}

static struct err *leak_classes_text(const struct report_context *context, const void *value,
				     FILE *out)
{
	static const enum loss_kind order[] = { LOSS_DEFINITE, LOSS_POSSIBLE, LOSS_INDIRECT,
						LOSS_REACHABLE };
	const struct leak_classes_answer *answer = value;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	switch (context->settings->style) {
	case REPORT_OWN:
		break;
	case REPORT_MEMCHECK:
		return memcheck_text(context, answer, out);
	case REPORT_LSAN:
		return lsan_text(context, answer, out);
	case REPORT_SUPPRESSIONS:
		return lsan_suppressions(context, answer, out);
	case REPORT_XTREE:
		return xtree_write(context, answer, out);
	}
	text_head(&text, context->model);
	str_add_char(&text.out, '\n');
	memcheck_summary(&text.out, "", &answer->classes);
	add_scan(&text, context, answer);
	for (size_t i = 0; i < array_size(order); i++)
		add_kind(&text, context, answer, order[i]);
	if (answer->records.count < answer->record_count) {
		str_add(&text.out, "\n… and ");
		str_add_counted(&text.out, answer->record_count - answer->records.count,
				"more record");
		str_add(&text.out, "; --top N shows N\n");
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = RECORDS_SHOWN;
}

static bool fails(const struct report_settings *settings, const void *value)
{
	const struct leak_classes_answer *answer = value;

	for (unsigned kind = 0; kind < LOSS_KINDS; kind++)
		if (settings->fail_on >> kind & 1 && answer->classes.sums[kind].count > 0)
			return true;
	return false;
}

const struct report report_leak_classes = {
	.question = &question_leak_classes,
	.text = leak_classes_text,
	.for_text = for_text,
	.fail_kinds = (1 << LOSS_KINDS) - 1,
	.fails = fails,
	.has_styles = true,
};
