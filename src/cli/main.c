/*
 * main: finds the command, runs it, prints its error. The only place that prints errors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/first_process.h"

static const char *const VERSION_TEXT = "memtape " MEMTAPE_VERSION "\n";

/*
 * If we are started with standard descriptors closed, a tape could get one of them and messages
 * would end up in it. They are filled for us only: the program finds them closed as they were.
 */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int error_exit_code(const struct err *err)
{
	return err_code_of(err) == ERR_USAGE ? EXIT_USAGE : EXIT_FINDINGS;
}

/* Lines after the first quote the user's input; indented, so that none can pose as ours. */
static void print_error(const struct err *err)
{
	CLEAN(str_deinit) struct str text = { 0 };

	for (const char *line = err_message(err); *line;) {
		const size_t len = strcspn(line, "\n");
		CLEAN(str_deinit) struct str part = { 0 };

		str_add_bytes(&part, line, len);
		str_add(&text, text.len == 0 ? "" : strncmp(line, "  ", 2) == 0 ? "\n" : "\n  ");
		str_add_terminal(&text,
				 str_text(&part)); /* names from tapes and argv are hostile */
		text.failed |= part.failed;
		line += len + (line[len] == '\n');
	}
	fprintf(stderr, "memtape: %s\n", text.failed ? "out of memory" : str_text(&text));
}

/* Output must have been written; a pipe closed by its reader is not an error. */
static int flush_output(int exit_code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return exit_code;
	if (errno != EPIPE)
		fprintf(stderr, "memtape: write to standard output: %m\n");
	return exit_code == EXIT_OK ? EXIT_FINDINGS : exit_code;
}

static int print_help(const struct command *command)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (command)
		command_help(command, command_terminal_width(), &text);
	else
		command_overview(command_terminal_width(), &text);
	fputs(str_text(&text), stdout);
	return flush_output(EXIT_OK);
}

int command_end(const struct command *command, struct err *err, int exit_code)
{
	if (err) {
		fflush(stdout);
		print_error(err);
		if (err_code_of(err) == ERR_USAGE)
			fprintf(stderr, "Try `memtape %s --help`.\n", command->name);
		if (exit_code == EXIT_OK)
			exit_code = error_exit_code(err);
	}
	err_destroy(err);
	return flush_output(exit_code);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	int exit_code = EXIT_OK;
	struct err *err;

	if (options_ask_for_help(&command->options, argc, argv))
		return print_help(command);
	err = command->run(command, argc, argv, &exit_code);
	return command_end(command, err, exit_code);
}

/* Drop-in replacements are links to this program. */
static const struct command *command_of_link(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	if (!name || (strcmp(name, "memusage") != 0 && strcmp(name, "memusagestat") != 0))
		return NULL;
	return command_find(name);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	fill_standard_descriptors();
	first_process_split();
	command = command_of_link(argv[0]);
	if (command)
		return run_command(command, argc, argv);
	if (!word) {
		CLEAN(str_deinit) struct str text = { 0 };

		command_overview(command_terminal_width(), &text);
		fputs(str_text(&text), stderr);
		return EXIT_USAGE;
	}
	if (strcmp(word, "--version") == 0) {
		fputs(VERSION_TEXT, stdout);
		return flush_output(EXIT_OK);
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return print_help(NULL);
	command = command_find(word);
	if (command)
		return run_command(command, argc - 1, argv + 1);
	return run_command(command_find("record"), argc, argv); /* memtape PROGRAM */
}
