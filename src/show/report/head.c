#include "report/text.h"

#include "answer/program.h"
#include "model/import.h"

static void add_end(struct str *out, const struct model_process *process)
{
	switch (process->end_kind) {
	case TAPE_END_EXIT:
		if (process->end_status <
		    0) { /* recorded without its parent: the exit status is unknown */
			str_add(out, " · ended by itself");
			break;
		}
		str_add(out, " · exit code ");
		str_add_i64(out, process->end_status);
		break;
	case TAPE_END_SIGNAL:
		str_add(out, " · killed by signal ");
		str_add_i64(out, process->end_status);
		break;
	case TAPE_END_RUNNING:
		str_add(out, " · still running");
		break;
	case TAPE_END_EXEC:
		str_add(out, " · became another program");
		break;
	case TAPE_END_UNKNOWN:
		break;
	}
}

/* The programs that the process was before an exec. */
static void add_before(struct str *out, const struct model *model)
{
	const struct model_note *notes = model_notes(model);
	bool is_first = true;

	for (size_t i = 0; i < model_note_count(model); i++) {
		if (notes[i].type != TAPE_EXT_BEFORE)
			continue;
		str_add(out, is_first ? "before it: " : ", ");
		str_add(out, notes[i].text[0] ? notes[i].text : "a program");
		str_add(out, " (");
		str_add_grouped(out, notes[i].before.allocation_count);
		str_add(out, notes[i].before.allocation_count == 1 ? " allocation, peak "
								   : " allocations, peak ");
		str_add_iec(out, notes[i].before.peak_bytes);
		str_add(out, ")");
		is_first = false;
	}
}

bool text_goes_on(const struct model *model)
{
	return model_goes_on(model);
}

bool text_was_replaced(const struct model *model)
{
	return model_process(model)->end_kind == TAPE_END_EXEC;
}

void text_head(struct text *text, const struct model *model)
{
	const struct model_process *process = model_process(model);
	const size_t thread_count = model_real_thread_count(model);
	CLEAN(str_deinit) struct str command = { 0 };
	CLEAN(str_deinit) struct str shown = { 0 };
	CLEAN(str_deinit) struct str facts = { 0 };
	CLEAN(str_deinit) struct str before = { 0 };

	program_command_add(&command, process);
	if (process->pid) /* unknown for other tools' recordings */
		str_printf(&facts, "pid %u · ", process->pid);
	if (model_missing(model) & TAPE_MISSING_TIMES)
		str_add(&facts, "times are not known");
	else
		str_add_duration(&facts, process->duration_ns);
	if (thread_count > 1) {
		str_add(&facts, " · ");
		str_add_grouped(&facts, thread_count);
		str_add(&facts, " threads");
	}
	add_end(&facts, process);
	str_add_cut(&shown, str_text(&command), text->width);
	text_add(text, TEXT_BOLD, str_text(&shown));
	str_add_char(&text->out, '\n');
	text_add(text, TEXT_DIM, str_text(&facts));
	str_add_char(&text->out, '\n');
	add_before(&before, model);
	if (before.len > 0) {
		text_add(text, TEXT_DIM, str_text(&before));
		str_add_char(&text->out, '\n');
	}
}
