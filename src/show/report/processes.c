/*
 * processes: the process tree (questions/processes.c), children below their parents.
 */
#include "questions/questions.h"
#include "questions/threads.h"
#include "report/quality.h"
#include "report/report.h"
#include "report/text.h"

enum {
	PID_COLUMNS = 8,
	SUM_COLUMNS = 12,
	DEPTH_MAX = 24,	       /* indented so far */
	COMMAND_BYTES_MAX = 60 /* of a command line, if the width is not limited */
};

static void add_command(struct text *text, const struct process_row *row, size_t columns)
{
	CLEAN(str_deinit) struct str command = { 0 };
	CLEAN(str_deinit) struct str plain = { 0 };
	size_t len;

	str_add(&command, row->argv.count == 0 ? row->name : "");
	for (size_t i = 0; i < row->argv.count && command.len < 2 * columns; i++) {
		str_add(&command, i > 0 ? " " : "");
		str_add(&command, i > 0 ? row->argv.items[i] : row->name);
	}
	for (const char *at = str_text(&command); *at; at++) /* lines of a script are one */
		str_add_char(&plain, *at == '\n' || *at == '\t' ? ' ' : *at);
	len = plain.len;
	if (len > columns)
		for (len = columns; len > 0 && ((unsigned char)plain.ptr[len] & 0xc0) == 0x80;)
			len--; /* do not split a character */
	if (!plain.failed && plain.len > len) {
		plain.ptr[len] = '\0';
		plain.len = len;
		str_add(&plain, "…");
	}
	str_add_terminal(&text->out, str_text(&plain));
}

static void add_end(struct text *text, const struct process_row *row)
{
	if (row->exit == SHAPE_NONE && strcmp(row->end, "exit") == 0)
		return; /* as most do */
	if (row->exit == 0)
		return;
	str_add(&text->out, "  ");
	text_style(text, row->signal ? TEXT_BAD : TEXT_DIM);
	str_add(&text->out, row->signal ? row->signal : row->end);
	if (row->exit != SHAPE_NONE)
		str_printf(&text->out, " %llu", (unsigned long long)row->exit);
	text_style(text, TEXT_PLAIN);
}

static void add_row(struct text *text, const struct process_row *row, size_t depth)
{
	const size_t indent = 2 * u64_min(depth, DEPTH_MAX);
	const size_t used = PID_COLUMNS + 6 * SUM_COLUMNS + indent + 16;
	const size_t columns =
		text->width > used + 8 ? u64_min(text->width - used, 4096) : COMMAND_BYTES_MAX;
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN,
		   str_format(words, sizeof(words), "%llu", (unsigned long long)row->pid),
		   PID_COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(words, row->allocations.count), SUM_COLUMNS);
	text_right(text, TEXT_VALUE, str_iec(words, row->peak.bytes), SUM_COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, row->leaked.bytes), SUM_COLUMNS);
	text_right(text, TEXT_DIM,
		   row->inherited_bytes == 0		? ""
		   : row->inherited_bytes == SHAPE_NONE ? "?"
							: str_iec(words, row->inherited_bytes),
		   SUM_COLUMNS);
	text_right(text, TEXT_DIM, row->pss == SHAPE_NONE ? "" : str_iec(words, row->pss),
		   SUM_COLUMNS);
	text_right(text, TEXT_DIM, row->private == SHAPE_NONE ? "" : str_iec(words, row->private),
		   SUM_COLUMNS);
	str_add(&text->out, "  ");
	for (size_t i = 0; i < indent; i++)
		str_add_char(&text->out, ' ');
	add_command(text, row, columns);
	add_end(text, row);
	str_add_char(&text->out, '\n');
}

/* First children and next siblings by row; count: none. The last list is of those without parent. */
struct kin {
	size_t *first, *last, *next;
};

static bool kin_make(const struct processes_answer *answer, struct arena *arena, struct kin *kin)
{
	const struct process_row *rows = answer->processes.items;
	const size_t count = answer->processes.count;

	kin->first = arena_array(arena, count + 1, sizeof(*kin->first));
	kin->last = arena_array(arena, count + 1, sizeof(*kin->last));
	kin->next = arena_array(arena, count + 1, sizeof(*kin->next));
	if (!kin->first || !kin->last || !kin->next)
		return false;
	for (size_t i = 0; i <= count; i++)
		kin->first[i] = kin->last[i] = kin->next[i] = count;
	for (size_t i = 0; i < count; i++) {
		const size_t parent = rows[i].parent == SHAPE_NONE ? count : (size_t)rows[i].parent;

		if (kin->first[parent] == count)
			kin->first[parent] = i;
		else
			kin->next[kin->last[parent]] = i;
		kin->last[parent] = i;
	}
	return true;
}

/* Without recursion: a chain of parents may be long. path: room for all of them. */
static void add_tree(struct text *text, const struct processes_answer *answer,
		     const struct kin *kin, size_t *path)
{
	const struct process_row *rows = answer->processes.items;
	const size_t count = answer->processes.count;
	size_t depth = 0;
	size_t at = kin->first[count];

	while (at < count || depth > 0) {
		if (at == count) {
			at = kin->next[path[--depth]];
			continue;
		}
		add_row(text, &rows[at], depth);
		if (kin->first[at] < count) {
			path[depth++] = at;
			at = kin->first[at];
		} else {
			at = kin->next[at];
		}
	}
}

static struct err *processes_text(const struct report_context *context, const void *answer,
				  FILE *out)
{
	const struct processes_answer *processes = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	size_t *path = arena_array(context->arena, processes->processes.count + 1, sizeof(*path));
	struct kin kin;

	if (!path || !kin_make(processes, context->arena, &kin))
		return err_nomem();
	text_right(&text, TEXT_DIM, "pid", PID_COLUMNS);
	text_right(&text, TEXT_DIM, "allocations", SUM_COLUMNS);
	text_right(&text, TEXT_DIM, "peak", SUM_COLUMNS);
	text_right(&text, TEXT_DIM, "never freed", SUM_COLUMNS);
	text_right(&text, TEXT_DIM, "inherited", SUM_COLUMNS);
	text_right(&text, TEXT_DIM, "PSS", SUM_COLUMNS);
	text_right(&text, TEXT_DIM, "private", SUM_COLUMNS);
	text_add(&text, TEXT_DIM, "  process");
	str_add_char(&text.out, '\n');
	add_tree(&text, processes, &kin, path);
	quality_text(&text, context);
	return text_write(&text, out);
}

const struct report report_processes = {
	.question = &question_processes,
	.text = processes_text,
};
