#include "answer/program.h"

#include <signal.h>
#include <string.h>

#include "model/names.h"

/*
 * Whether the process wrote a title over its arguments, as servers do: "nginx: worker process",
 * "redis-server unixsocket:/run/socket". A program in a folder with a blank has not.
 */
static bool has_title(const struct model_process *process)
{
	const char *first = process->argc > 0 ? process->argv[0] : "";

	return first[strcspn(first, " \t\n")] &&
	       strcmp(names_short_path(first), names_short_path(process->exe)) != 0;
}

const char *program_name(const struct model *model)
{
	const struct model_process *process = model_process(model);
	const char *called = process->argc > 0 ? process->argv[0] : "";

	called = names_short_path(*called == '-' ? called + 1 : called); /* a login shell */
	return *called && !has_title(process) ? called : names_short_path(process->exe);
}

void program_command_add(struct str *out, const struct model_process *process)
{
	if (process->argc == 0) {
		str_add(out, process->exe[0] ? process->exe : "unknown program");
	} else if (has_title(process)) { /* blanks at its end, and nothing behind it */
		const char *title = process->argv[0];
		size_t len = strlen(title);

		while (len > 0 && strchr(" \t\n", title[len - 1]))
			len--;
		str_add_bytes(out, title, len);
		return;
	}
	for (uint32_t i = 0; i < process->argc; i++) {
		if (i > 0)
			str_add_char(out, ' ');
		str_add(out, i == 0 ? names_short_path(process->argv[i]) : process->argv[i]);
	}
}

const char *const program_end_words[] = {
	[TAPE_END_UNKNOWN] = "unknown", [TAPE_END_EXIT] = "exit", [TAPE_END_SIGNAL] = "signal",
	[TAPE_END_RUNNING] = "running", [TAPE_END_EXEC] = "exec", NULL
};

bool program_has_status(const struct model_process *process)
{
	return process->end_status >= 0 &&
	       (process->end_kind == TAPE_END_EXIT || process->end_kind == TAPE_END_SIGNAL);
}

const char *program_signal_name(struct arena *arena, int number)
{
	const char *name = sigabbrev_np(number);

	if (name)
		return arena_printf(arena, "SIG%s", name);
	return number >= SIGRTMIN && number <= SIGRTMAX
		       ? arena_printf(arena, "SIGRTMIN+%d", number - SIGRTMIN)
		       : arena_printf(arena, "signal %d", number);
}

void program_end_add(struct str *out, const struct model_process *process)
{
	switch (process->end_kind) {
	case TAPE_END_EXIT:
		str_add(out, "exited");
		if (process->end_status >= 0)
			str_printf(out, " %d", process->end_status);
		return;
	case TAPE_END_SIGNAL: {
		const char *name = sigabbrev_np(process->end_status);

		if (name)
			str_printf(out, "killed by SIG%s", name);
		else
			str_printf(out, "killed by signal %d", process->end_status);
		return;
	}
	case TAPE_END_RUNNING:
		str_add(out, "still running");
		return;
	case TAPE_END_EXEC:
		str_add(out, "became another program");
		return;
	case TAPE_END_UNKNOWN:
		break;
	}
	str_add(out, "not known");
}
