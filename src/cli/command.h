/*
 * command: the subcommands of `memtape`.
 *
 * One file cmd_NAME.c per command exports `const struct command cmd_NAME`, and NAME is one word in
 * this room's meson.build, which generates the table. The file defines the command's name, its
 * options (--help and the check of the man page use the table) and its function. It never prints an
 * error: it returns one, and main.c prints it. One that cannot return ends by command_end().
 */
#ifndef MEMTAPE_CLI_COMMAND_H
#define MEMTAPE_CLI_COMMAND_H

#include <signal.h>

#include "base/options.h"

/* Exit codes; those of record are the program's, or 125-127 as env(1) has them. */
enum command_exit {
	EXIT_OK = 0,
	EXIT_FINDINGS = 1, /* the answer is no: a damaged tape, a gate not met; any other error */
	EXIT_USAGE = 2,
	EXIT_CANNOT_START = 125, /* memtape itself failed before the program ran */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127
};

struct command {
	const char *name;
	const char *summary; /* one line for the overview, no full stop */
	struct option_table options;
	/*
	 * argv[0] is the command's name; pass argv unchanged to options_parse(&command->options,
	 * ...). The exit code is EXIT_OK on entry. If an error is returned with EXIT_OK, main.c
	 * chooses a code by the error's kind.
	 */
	struct err *(*run)(const struct command *command, int argc, char **argv, int *exit_code);
};

/* All commands in the order of meson.build, NULL at the end. */
extern const struct command *const command_table[];

/* Exact name only; NULL: no such command. */
const struct command *command_find(const char *name);

/* The command with the most similar name, or NULL if none is similar. */
const struct command *command_guess(const char *name);

/* Texts of `memtape --help` and `memtape NAME --help`, for a terminal width columns wide. */
void command_overview(unsigned width, struct str *out);
void command_help(const struct command *command, unsigned width, struct str *out);

/*
 * The end of a command that returned err, which is freed (NULL: none): what is printed then. Returns the
 * process's exit code. For a command whose threads still use what would be freed if it returned; it is
 * to _exit() with that code. Defined in main.c.
 */
int command_end(const struct command *command, struct err *err, int exit_code);

/* SIGINT, SIGTERM and SIGHUP: what asks a command that waits to end. */
void command_end_signals(sigset_t *set_ret);

/* Columns of the terminal on stdout; 80 if it is not a terminal. */
unsigned command_terminal_width(void);

#endif
