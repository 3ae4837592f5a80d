#include "cli/caption.h"

#include <assert.h>

#include "findings/edits.h"
#include "plot/flame_tape.h"

enum { COMMAND_COLUMNS = 100 };

/* Escapes the argument so that it stays on one line. */
static void add_argument(struct str *text, const char *argument)
{
	for (; *argument; argument++) {
		const bool is_blank = (uint8_t)*argument <= ' ';

		if (!is_blank)
			str_add_char(text, *argument);
		else if (text->len > 0 && text->ptr[text->len - 1] != ' ')
			str_add_char(text, ' ');
	}
}

/* Truncates at a character boundary. */
static void cut(struct str *text, size_t len)
{
	if (text->failed)
		return;
	while (len > 0 && ((uint8_t)text->ptr[len] & 0xc0) == 0x80)
		len--;
	text->ptr[len] = '\0';
	text->len = len;
	str_add(text, "\u2026");
}

void caption_command(struct str *text, const struct model_process *process)
{
	const size_t begin = text->len;

	if (process->argc == 0)
		str_add(text, names_short_path(process->exe));
	for (uint32_t i = 0; i < process->argc && text->len - begin < COMMAND_COLUMNS; i++) {
		if (i > 0)
			str_add_char(text, ' ');
		add_argument(text, i == 0 ? names_short_path(process->argv[i]) : process->argv[i]);
	}
	if (text->len - begin > COMMAND_COLUMNS)
		cut(text, begin + COMMAND_COLUMNS);
}

void caption_facts(struct str *text, const struct model *model,
		   const struct reading_part_options *part)
{
	const struct model_process *process = model_process(model);

	assert(model);
	str_printf(text, "pid %u", process->pid);
	flame_add_date(text, process->start_realtime_ns);
	str_add(text, " · ran ");
	str_add_duration(text, process->duration_ns);
	flame_add_counts(text, model);
	edits_caption(model, text);
	if (part->from || part->until)
		str_printf(text, " · %s .. %s", part->from ? part->from : "start",
			   part->until ? part->until : "end");
	if (part->filter)
		str_printf(text, " · only %s", part->filter);
}
