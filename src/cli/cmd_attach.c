/*
 * attach: records a process that runs already, and lets it go again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/attach_bpf.h"
#include "cli/command.h"
#include "cli/pid_operand.h"
#include "cli/process_list.h"
#include "cli/record_options.h"
#include "scan/stop.h"

struct attach_command {
	struct record_options common;
	const char *duration; /* NULL: until Ctrl-C, or its end */
	bool lists;
	int hook; /* index into hook_words */
	struct attach_bpf_options bpf;
};

static const char *const hook_words[] = { "calls", "inline", NULL };

static const struct option_row rows[] = {
	{ "duration", 'd', "TIME", OPTION_TEXT, offsetof(struct attach_command, duration),
	  "let the process go after TIME (10s, 500ms, 2m) instead of at Ctrl-C" },
	{ "list", 0, NULL, OPTION_FLAG, offsetof(struct attach_command, lists),
	  "show the processes that there are, and which of them can be attached to" },
	{ "hook", 0, "HOW", OPTION_CHOICE, offsetof(struct attach_command, hook),
	  "calls (the default): change where the allocator is called from; inline: also the "
	  "first instructions of its functions, for calls by pointers taken before",
	  .choices = hook_words },
	RECORD_TAPE_OPTIONS(struct attach_command, common),
	RECORD_EVENT_OPTIONS(struct attach_command, common),
	RECORD_REST_OPTIONS(struct attach_command, common),
	{ "control", 0, "FD", OPTION_TEXT, offsetof(struct attach_command, common.control),
	  "internal: socket of `memtape serve`" },
	ATTACH_BPF_OPTIONS(struct attach_command, bpf),
};

static struct err *settings_make(struct attach_command *options,
				 struct collector_settings *settings)
{
	struct err *err = record_settings(&options->common, settings);

	if (!err && options->duration &&
	    (!str_parse_duration(options->duration, &settings->attach_ns) ||
	     settings->attach_ns == 0))
		return err_new(ERR_USAGE, "--duration: %s is not a time such as 10s, 500ms or 2m",
			       options->duration);
	return err;
}

/* What runs there, for the tape's name and for messages. */
static struct err *program_of(pid_t pid, struct arena *arena, struct program *program)
{
	char link[STR_SHORT_BYTES], exe[4096];
	ssize_t len;

	len = readlink(str_format(link, sizeof(link), "/proc/%d/exe", (int)pid), exe,
		       sizeof(exe) - 1);
	if (len < 0 && errno == ENOENT)
		return err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid);
	if (len < 0 && errno == EACCES)
		return stop_refusal(pid, EPERM);
	if (len < 0)
		return err_errno("process %d", (int)pid);
	exe[len] = '\0';
	program->path = program->subject = arena_strdup(arena, exe);
	if (!program->path)
		return err_nomem();
	program->name =
		strrchr(program->path, '/') ? strrchr(program->path, '/') + 1 : program->path;
	return NULL;
}

static void print_attached(void *context, const struct attach_report *report)
{
	struct record_options *options = context;
	CLEAN(str_deinit) struct str text = { 0 };

	if (options->control)
		record_serve_begun(&options->serve, report->pause_ns);
	if (options->quiet)
		return;
	str_add(&text, "memtape: recording; the process stood still for ");
	str_add_duration(&text, report->pause_ns);
	str_add(&text, ". Ctrl-C or `memtape detach` lets it go");
	fprintf(stderr, "%s\n", str_text(&text));
}

static struct err *run_attached(struct attach_command *options,
				const struct collector_settings *settings, pid_t pid)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct collector_result result = { 0 };
	struct program program = { 0 };
	struct err *err = program_of(pid, &arena, &program);

	if (err)
		return err;
	if (options->bpf.is_wanted)
		return attach_bpf_run(&options->bpf, &options->common, settings->attach_ns, pid,
				      &program);
	options->common.send.program = program.name;
	err = collector_attach(settings, pid, &program, &arena, &result);
	record_ended(&options->common, err, &result);
	signal(SIGPIPE, SIG_IGN);
	if (result.path)
		err_destroy(record_show(&options->common, &program, &result));
	companion_destroy(result.companion);
	record_send_wait(&options->common.send, NULL);
	record_serve_wait(&options->common.serve, result.is_asked_to_end);
	return err;
}

static struct err *list(const struct attach_command *options, int argc)
{
	if (argc > (options->bpf.json ? 3 : 2))
		return err_new(ERR_USAGE,
			       "--list takes no process, and no other option but --json");
	return process_list_print(options->bpf.json);
}

static struct err *attach_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct attach_command options = { .common = RECORD_OPTIONS_DEFAULTS,
					  .bpf.top = ATTACH_BPF_TOP };
	struct collector_settings settings;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);
	pid_t pid = 0;

	(void)exit_code;
	if (!err && (options.lists || argc == 1))
		return list(&options, argc);
	if (!err)
		err = attach_bpf_check(&options.bpf, &options.common);
	if (!err && options.bpf.is_wanted && options.hook > 0)
		return err_new(ERR_USAGE, "--bpf takes no --hook");
	if (!err && options.bpf.all && operand_count > 0)
		return err_new(ERR_USAGE, "expected no process with --all");
	if (!err && !options.bpf.all)
		err = pid_operand(operand_count, argv + 1, &pid);
	if (!err)
		err = settings_make(&options, &settings);
	if (err)
		return err;
	if (options.bpf.all)
		return attach_bpf_run(&options.bpf, &options.common, settings.attach_ns, -1, NULL);
	settings.on_attached = print_attached;
	settings.is_inline = options.hook > 0;
	return run_attached(&options, &settings, pid);
}

const struct command cmd_attach = {
	.name = "attach",
	.summary = "record a process that runs already, until it is let go",
	.options = {
		.usage = "memtape attach [--list] [--json]\n       memtape attach [options] PID\n       memtape attach --bpf [options] PID\n       memtape attach --bpf --all [options]",
		.about = "Records process PID from now on, as `memtape record` does, until Ctrl-C, `memtape detach PID`, --duration or its end. It is let go then, and goes on as if nothing had happened. Blocks that it had before are on the tape without stacks. Without a process, or with --list, shows which processes there are. With --bpf the process is not touched: the kernel counts what it allocates from now on, and what is live at the end is shown.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = attach_run,
};
