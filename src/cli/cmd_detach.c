/*
 * detach: ends a recording that `memtape attach` began, while its process goes on.
 */
#include <stdio.h>

#include "base/str.h"
#include "cli/command.h"
#include "cli/pid_operand.h"
#include "collect/detach.h"

struct detach_command {
	bool quiet;
};

static const struct option_row rows[] = {
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct detach_command, quiet),
	  "print errors only" },
};

static void print_done(pid_t pid, const struct detach_result *result)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (result->collector) {
		str_printf(&text,
			   "process %d is recorded no more; memtape attach (process %d) ended its "
			   "tape",
			   (int)pid, (int)result->collector);
	} else {
		str_printf(&text, "process %d is recorded no more; it stood still for ", (int)pid);
		str_add_duration(&text, result->report.pause_ns);
	}
	fprintf(stderr, "memtape: %s\n", str_text(&text));
}

static struct err *detach_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct detach_command options = { 0 };
	struct detach_result result;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);
	pid_t pid = 0;

	(void)exit_code;
	if (!err)
		err = pid_operand(operand_count, argv + 1, &pid);
	if (!err)
		err = detach(pid, &result);
	if (!err && !options.quiet)
		print_done(pid, &result);
	return err;
}

const struct command cmd_detach = {
	.name = "detach",
	.summary = "let a process go that memtape attach records",
	.options = {
		.usage = "memtape detach [options] PID",
		.about = "Ends the recording of process PID by `memtape attach`, which writes the tape's end and its summary. The process goes on as if nothing had happened, also if memtape attach was killed.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = detach_run,
};
