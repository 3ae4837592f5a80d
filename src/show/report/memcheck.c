#include "report/memcheck.h"

enum { LABEL_COLUMNS = 18 };

static void add_sum(struct str *out, uint64_t bytes, uint64_t blocks)
{
	str_add_grouped(out, bytes);
	str_add(out, " bytes in ");
	str_add_grouped(out, blocks);
	str_add(out, " blocks");
}

void memcheck_summary(struct str *out, const char *prefix, const struct loss_classes *classes)
{
	for (unsigned kind = 0; kind < LOSS_KINDS; kind++) {
		const struct model_sum *sum = &classes->sums[kind];

		if (kind == LOSS_NOT_SCANNED && sum->count == 0)
			continue;
		str_add(out, prefix);
		str_add_repeated(out, ' ', LABEL_COLUMNS - strlen(loss_words[kind]));
		str_printf(out, "%s: ", loss_words[kind]);
		add_sum(out, sum->bytes, sum->count);
		str_add_char(out, '\n');
	}
}

/* "main (list.c:42)", "0x1234 (in /usr/lib/libfoo.so)" */
static void add_frame(struct str *out, const struct report_context *context,
		      const struct name_frame *frame)
{
	const struct name *name = names_get(context->names, frame->name);

	str_add_terminal(out, name->is_known ? name->full : "???");
	if (frame->file) {
		str_add(out, " (");
		str_add_terminal(out, names_short_path(frame->file));
		if (frame->line > 0)
			str_printf(out, ":%u", frame->line);
		str_add_char(out, ')');
	} else if (name->module[0]) {
		str_add(out, " (in ");
		str_add_terminal(out, name->module);
		str_add_char(out, ')');
	}
	str_add_char(out, '\n');
}

/* Frames with the address of their code; a stack that is hidden as a whole shows its last frame. */
static void add_stack(struct str *out, const char *prefix, const struct report_context *context,
		      uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(context->model);
	size_t shown = 0;

	for (enum walk_mode mode = context->mode; shown == 0; mode = WALK_ALL) {
		for (uint32_t at = stack; at >= CAPTURE_STACK_FIRST; at = stacks[at].parent) {
			const struct name_frames frames = names_frames(context->names, at);

			for (size_t i = 0; i < frames.count; i++) {
				if (walk_hides(mode, context->names, at, &frames.frames[i]))
					continue;
				str_printf(out, "%s   %s 0x%llX: ", prefix, shown++ ? "by" : "at",
					   (unsigned long long)stacks[at].pc);
				add_frame(out, context, &frames.frames[i]);
			}
		}
		if (mode == WALK_ALL)
			break;
	}
	if (shown == 0)
		str_printf(out, "%s   at 0x0: ???\n", prefix);
}

static void add_record(struct str *out, const char *prefix, const struct report_context *context,
		       const struct loss_record *record, uint64_t number, uint64_t count)
{
	const uint64_t blocks = record->blocks + record->indirect_blocks;

	str_printf(out, "%s", prefix);
	if (record->indirect_blocks > 0) {
		str_add_grouped(out, record->bytes + record->indirect_bytes);
		str_add(out, " (");
		str_add_grouped(out, record->bytes);
		str_add(out, " direct, ");
		str_add_grouped(out, record->indirect_bytes);
		str_add(out, " indirect)");
	} else {
		str_add_grouped(out, record->bytes);
	}
	str_add(out, " bytes in ");
	str_add_grouped(out, record->indirect_blocks > 0 ? record->blocks : blocks);
	str_printf(out, " blocks are %s in loss record ", loss_words[record->kind]);
	str_add_grouped(out, number);
	str_add(out, " of ");
	str_add_grouped(out, count);
	str_add_char(out, '\n');
	add_stack(out, prefix, context, record->stack);
	str_printf(out, "%s\n", prefix);
}

static void add_heap(struct str *out, const char *prefix, const struct report_context *context,
		     const struct leak_classes_answer *answer)
{
	const struct model_totals *totals = model_totals(context->model);
	struct model_sum in_use = { 0 };

	for (unsigned kind = 0; kind < LOSS_KINDS; kind++) {
		in_use.count += answer->classes.sums[kind].count;
		in_use.bytes += answer->classes.sums[kind].bytes;
	}
	str_printf(out, "%sHEAP SUMMARY:\n%s    in use at exit: ", prefix, prefix);
	add_sum(out, in_use.bytes, in_use.count);
	str_printf(out, "\n%s  total heap usage: ", prefix);
	str_add_grouped(out, totals->allocated.count);
	str_add(out, " allocs, ");
	str_add_grouped(out, totals->freed.count);
	str_add(out, " frees, ");
	str_add_grouped(out, totals->allocated.bytes);
	str_printf(out, " bytes allocated\n%s\n", prefix);
	if (in_use.count == 0)
		str_printf(out, "%sAll heap blocks were freed -- no leaks are possible\n%s\n",
			   prefix, prefix);
}

/* Memcheck's errors are records of lost blocks, definitely or possibly. */
static uint64_t error_count(const struct leak_classes_answer *answer)
{
	const struct loss_record *records = answer->records.items;
	uint64_t count = 0;

	for (size_t i = 0; i < answer->records.count; i++)
		count += records[i].kind == LOSS_DEFINITE || records[i].kind == LOSS_POSSIBLE;
	return count;
}

struct err *memcheck_text(const struct report_context *context,
			  const struct leak_classes_answer *answer, FILE *out)
{
	const struct loss_record *records = answer->records.items;
	const uint64_t count = answer->record_count, errors = error_count(answer);
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	char prefix[STR_SHORT_BYTES];

	str_format(prefix, sizeof(prefix), "==%u== ", model_process(context->model)->pid);
	add_heap(&text.out, prefix, context, answer);
	for (size_t i = answer->records.count; i-- > 0;)
		add_record(&text.out, prefix, context, &records[i], count - i, count);
	str_printf(&text.out, "%sLEAK SUMMARY:\n", prefix);
	memcheck_summary(&text.out, prefix, &answer->classes);
	str_printf(&text.out,
		   "%s\n%sERROR SUMMARY: %llu errors from %llu contexts (suppressed: "
		   "%llu from %llu)\n",
		   prefix, prefix, (unsigned long long)errors, (unsigned long long)errors,
		   (unsigned long long)answer->suppressed_records,
		   (unsigned long long)answer->suppressed_records);
	return text_write(&text, out);
}
