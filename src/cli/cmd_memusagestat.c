/*
 * memusagestat: draws memusage's data files, compatible with glibc's memusagestat. Messages and
 * exit codes match the original, for scripts.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/memusagestat.h"

static const char TRY_TEXT[] =
	"Try `memusagestat --help' or `memusagestat --usage' for more information.\n";

enum { EXIT_BAD_OPTION = 64, OPERANDS_MAX = 2 };

#define AT(member) offsetof(struct memusagestat_options, member)

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, AT(output),
	  "name of the picture (the input's name and .png); .svg and .pdf are such files" },
	{ "string", 's', "STRING", OPTION_TEXT, AT(title), "the title (the input's name)" },
	{ "time", 't', NULL, OPTION_FLAG, AT(is_by_time),
	  "linear in time; otherwise in the number of calls" },
	{ "total", 'T', NULL, OPTION_FLAG, AT(shows_total),
	  "heap and stack together, too, and all on one scale" },
	{ "x-size", 'x', "SIZE", OPTION_TEXT, AT(width), "how many pixels wide (800)" },
	{ "y-size", 'y', "SIZE", OPTION_TEXT, AT(height), "how many pixels high (600)" },
	{ "mmap", 'm', NULL, OPTION_FLAG, AT(has_mappings),
	  "for a tape: count mmap and the like as heap, too" },
	{ "usage", 0, NULL, OPTION_FLAG, AT(shows_usage), "show the options in short" },
	{ "version", 'V', NULL, OPTION_FLAG, AT(shows_version), "show the version" },
};

static const char USAGE_TEXT[] =
	"Usage: memusagestat [-tTmV?] [-o FILE] [-s STRING] [-x SIZE] [-y SIZE]\n"
	"            [--output=FILE] [--string=STRING] [--time] [--total] [--mmap]\n"
	"            [--x-size=SIZE] [--y-size=SIZE] [--help] [--usage] [--version]\n"
	"            DATAFILE [OUTFILE]\n";

static void complain(struct err *err)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, err_message(err));
	fprintf(stderr, "memusagestat: %s\n", str_text(&text));
	err_destroy(err);
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "-?") == 0)
			return true;
	return false;
}

/* A pipe must not be opened twice. */
static bool can_open(const char *path)
{
	struct stat status;

	return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && access(path, R_OK) == 0);
}

static struct err *memusagestat_run(const struct command *command, int argc, char **argv,
				    int *exit_code)
{
	struct memusagestat_options options = { 0 };
	CLEAN(str_deinit) struct str help = { 0 };
	int operand_count = 0;
	struct err *err;

	if (asks_for_help(argc, argv)) {
		command_help(command, command_terminal_width(), &help);
		fputs(str_text(&help), stdout);
		return help.failed ? err_nomem() : NULL;
	}
	err = options_parse(&command->options, argc, argv, &options, &operand_count);
	if (err) {
		complain(err);
		fputs(TRY_TEXT, stderr);
		*exit_code = EXIT_BAD_OPTION;
		return NULL;
	}
	if (options.shows_usage || options.shows_version) {
		fputs(options.shows_usage ? USAGE_TEXT
					  : "memusagestat (memtape) " MEMTAPE_VERSION "\n",
		      stdout);
		return NULL;
	}
	if (operand_count < 1 || operand_count > OPERANDS_MAX) {
		fputs(TRY_TEXT, stdout);
		*exit_code = EXIT_FINDINGS;
		return NULL;
	}
	if (operand_count == OPERANDS_MAX)
		options.output = argv[OPERANDS_MAX];
	if (!can_open(argv[1])) {
		fprintf(stderr, "memusagestat: cannot open input file: %m\n");
		*exit_code = EXIT_FINDINGS;
		return NULL;
	}
	err = memusagestat_draw(&options, argv[1]);
	if (err) {
		complain(err);
		*exit_code = EXIT_FINDINGS;
	}
	return NULL;
}

const struct command cmd_memusagestat = {
	.name = "memusagestat",
	.summary = "plot what memusage recorded, like glibc's memusagestat",
	.options = {
		.usage = "memtape memusagestat [options] DATAFILE [OUTFILE]\n"
			 "       memusagestat [options] DATAFILE [OUTFILE]",
		.about = "Plots heap and stack of a memusage data file or a tape. The input is not changed.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = memusagestat_run,
};
