/*
 * help: prints `memtape --help` and `memtape NAME --help`, all generated from the tables.
 */
#include <assert.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/command.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, WIDTH_MAX = 120, NAME_COLUMN = 14 };

unsigned command_terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < WIDTH_MIN)
		return WIDTH_DEFAULT;
	return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

void command_help(const struct command *command, unsigned width, struct str *out)
{
	assert(width > 0);
	options_help(&command->options, width, out);
}

void command_overview(unsigned width, struct str *out)
{
	CLEAN(str_deinit) struct str lines = { 0 };

	str_add(out, "Usage: memtape PROGRAM [ARGS]\n"
		     "       memtape COMMAND [ARGS]\n\n"
		     "Records what a program does with memory and shows it.\n\n"
		     "Commands:\n");
	for (const struct command *const *at = command_table; *at; at++) {
		str_printf(&lines, "  %s", (*at)->name);
		str_add_repeated(&lines, ' ',
				 NAME_COLUMN - u64_min(NAME_COLUMN - 1, strlen((*at)->name)));
		str_add(&lines, (*at)->summary);
		str_add_char(&lines, '\n');
	}
	str_add_wrapped(out, str_text(&lines), width);
	str_add(out, "\n`memtape help COMMAND` describes a command. `memtape PROGRAM` is short "
		     "for\n`memtape record PROGRAM`; write `memtape record -- PROGRAM` when "
		     "PROGRAM has the\nname of a command.\n");
}
