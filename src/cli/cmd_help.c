#include "cli/command.h"

#include <stdio.h>

static struct err *help_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	CLEAN(str_deinit) struct str text = { 0 };
	const struct command *about = NULL;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, NULL, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count > 1)
		return err_new(ERR_USAGE, "expected one command");
	if (operand_count == 1) {
		about = command_find(argv[1]);
		if (!about)
			return err_new(ERR_USAGE,
				       "unknown command '%s'; `memtape --help` lists them",
				       argv[1]);
		command_help(about, command_terminal_width(), &text);
	} else {
		command_overview(command_terminal_width(), &text);
	}
	if (text.failed)
		return err_nomem();
	fputs(str_text(&text), stdout);
	return NULL;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "show help for a command",
	.options = {
		.usage = "memtape help [COMMAND]",
		.about = "Prints the list of commands, or what one of them does and its options.",
	},
	.run = help_run,
};
