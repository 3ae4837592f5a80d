#include "answer/program.h"

#include <signal.h>
#include <string.h>

#include "model/names.h"

const char *program_name(const struct model *model)
{
	const struct model_process *process = model_process(model);
	const char *called = process->argc > 0 ? process->argv[0] : "";

	called = names_short_path(*called == '-' ? called + 1 : called); /* a login shell */
	/* If it was overwritten, as servers do, it has blanks. */
	return *called && !called[strcspn(called, " \t\n")] ? called
							    : names_short_path(process->exe);
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
