/*
 * top: a program that is being recorded, or all processes, live on a terminal.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/pid_operand.h"
#include "cli/top_once.h"
#include "cli/top_recorder.h"
#include "cli/top_screen.h"
#include "questions/questions.h"
#include "screen/screen.h"

enum { INTERVAL_NS_MIN = 100000000, SITES_MAX = 200 };
static const uint64_t INTERVAL_NS = 1000000000;

struct top_options {
	const char *pid;
	uint64_t interval_ns;
	uint64_t count; /* UINT64_MAX: not given */
	uint64_t cost_percent;
	bool once, json, no_colour;
	int sort; /* -1: not given */
	const char *filter;
	const char *last;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "pid", 'p', "PID", OPTION_TEXT, offsetof(struct top_options, pid),
	  "show process PID, which is being recorded, instead of the list of processes" },
	{ "interval", 'i', "TIME", OPTION_DURATION, offsetof(struct top_options, interval_ns),
	  "time between two looks (2s, 500ms; default 1s, at least 100ms)" },
	{ "sort", 's', "WHAT", OPTION_CHOICE, offsetof(struct top_options, sort),
	  "sort functions by live, growth, churn, allocated or blocks", now_orders },
	{ "filter", 0, "EXPR", OPTION_TEXT, offsetof(struct top_options, filter),
	  "only allocations that match EXPR; see memtape-filter(7)" },
	{ "last", 0, "TIME", OPTION_TEXT, offsetof(struct top_options, last),
	  "rates and growth of the last TIME (10s, 60s, 10m, 1h or all; default: 60s)" },
	{ "cost", 0, "PERCENT", OPTION_U64, offsetof(struct top_options, cost_percent),
	  "read the tape so often that this takes PERCENT of a processor (default: 1, at most "
	  "30)" },
	{ "once", '1', NULL, OPTION_FLAG, offsetof(struct top_options, once),
	  "print one look and exit; so does output that is no terminal" },
	{ "count", 'n', "N", OPTION_U64, offsetof(struct top_options, count),
	  "print N looks and exit" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct top_options, json),
	  "print each look as JSON with a stable schema, on a line" },
	{ "no-colour", 0, NULL, OPTION_FLAG, offsetof(struct top_options, no_colour),
	  "bold and reverse only; so does NO_COLOR" },
	READING_SYMBOL_OPTIONS(struct top_options, symbols),
};

static struct err *window_find(const char *last, unsigned *window_ret)
{
	*window_ret = SCREEN_WINDOW_USUAL;
	if (!last)
		return NULL;
	for (unsigned i = 0; screen_windows[i]; i++) {
		if (strcmp(screen_windows[i], last) == 0) {
			*window_ret = i;
			return NULL;
		}
	}
	return err_new(ERR_USAGE, "--last: expected 10s, 60s, 10m, 1h or all");
}

static struct err *options_check(const struct top_options *options, int operand_count)
{
	const struct selection_settings selection = { .filter = options->filter };

	if (operand_count > 1 || (operand_count == 1 && options->pid))
		return err_new(ERR_USAGE, "expected one process or one tape at most");
	if (options->interval_ns < INTERVAL_NS_MIN)
		return err_new(ERR_USAGE, "--interval: at least 100ms");
	if (options->cost_percent == 0 || options->cost_percent > TOP_COST_MAX)
		return err_new(ERR_USAGE, "--cost: from 1 to %d", TOP_COST_MAX);
	if (options->count == 0)
		return err_new(ERR_USAGE, "--count: at least 1");
	if (options->filter && strlen(options->filter) >= TOP_TEXT_BYTES)
		return err_new(ERR_USAGE, "--filter: at most %d bytes", TOP_TEXT_BYTES - 1);
	if (!options->pid && operand_count == 0 &&
	    (options->filter || options->last || options->sort >= 0) &&
	    (options->once || options->json || options->count != UINT64_MAX ||
	     !isatty(STDOUT_FILENO)))
		return err_new(ERR_USAGE, "--filter, --last and --sort are about one process: name "
					  "it with --pid");
	return selection_check(&selection);
}

static struct err *tape_choose(const struct top_options *options, int operand_count, char **argv,
			       char **path_ret)
{
	char *operand = (char *)options->pid;
	pid_t pid = 0;
	struct err *err;

	if (operand_count == 1) {
		*path_ret = strdup(argv[1]);
		return *path_ret ? NULL : err_nomem();
	}
	if (!options->pid)
		return NULL;
	err = pid_operand(1, &operand, &pid);
	return err ? err : top_recorder_tape(pid, path_ret);
}

static struct err *show(const struct top_options *options, const struct top_settings *settings,
			const char *path, unsigned window, int *exit_code)
{
	const struct top_screen_settings screen = {
		.tape_path = path,
		.top = *settings,
		.window = window,
		.wants_colour = !options->no_colour && reading_wants_colour(stdout),
	};
	int number = 0;
	struct err *err = top_screen_run(&screen, &number);

	if (number != 0 && number != SIGINT)
		*exit_code = 128 + number;
	return err;
}

static struct err *top_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct top_options options = {
		.interval_ns = INTERVAL_NS, .count = UINT64_MAX, .cost_percent = 1, .sort = -1
	};
	struct top_settings settings = { .symbols = &options.symbols };
	CLEAN(free) char *path = NULL;
	int operand_count = 0;
	unsigned window = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err)
		err = window_find(options.last, &window);
	if (!err)
		err = options_check(&options, operand_count);
	if (!err)
		err = tape_choose(&options, operand_count, argv, &path);
	if (err)
		return err;
	settings.interval_ns = options.interval_ns;
	settings.cost_percent = options.cost_percent;
	settings.asked = (struct top_asked) {
		.order = options.sort < 0 ? NOW_BY_LIVE : (enum now_order)options.sort,
		.last = screen_windows[window],
		.top = SITES_MAX,
	};
	str_format(settings.asked.filter, sizeof(settings.asked.filter), "%s",
		   options.filter ? options.filter : "");
	if (options.once || options.json || options.count != UINT64_MAX || !isatty(STDOUT_FILENO) ||
	    !isatty(STDIN_FILENO)) {
		const uint64_t count =
			options.once || options.count == UINT64_MAX ? 1 : options.count;
		struct top_once once = {
			.tape_path = path,
			.top = settings,
			.count = count,
			.is_json = options.json,
		};

		once.top.follows = count > 1;
		return top_once_run(&once);
	}
	settings.follows = true;
	return show(&options, &settings, path, window, exit_code);
}

const struct command cmd_top = {
	.name = "top",
	.summary = "watch a program that is being recorded, or all processes, on the terminal",
	.options = {
		.usage = "memtape top [options] [-p PID | TAPE]",
		.about = "Shows what a program that is being recorded has in memory, and which functions grow or allocate, once a second; without -p or TAPE the list of processes, those that are recorded first: Enter goes into one. ? shows the keys. The program itself is not touched: its tape is read.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = top_run,
};
