/*
 * trace: what the kernel does for a program, with the program's stacks.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "cli/brief.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/record_options.h"
#include "cli/trace_counts.h"
#include "cli/trace_kinds.h"
#include "collect/signals.h"
#include "host/process_fd.h"
#include "trace/perf.h"
#include "trace/tracing_tape.h"

enum { POLL_MS = 50, TOP = 10 };

struct trace_command {
	struct record_options common;
	uint64_t pid;
	bool all;
	uint64_t duration_ns;
	uint64_t period;
	uint64_t stack_bytes;
	bool json;
	uint64_t top;
	uint64_t interval_ns;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "pid", 'p', "PID", OPTION_U64, offsetof(struct trace_command, pid),
	  "trace this process, which runs already" },
	{ "all", 'a', NULL, OPTION_FLAG, offsetof(struct trace_command, all),
	  "trace all processes, as root" },
	{ "duration", 'd', "TIME", OPTION_DURATION, offsetof(struct trace_command, duration_ns),
	  "end after TIME (10s, 500ms, 2m) instead of at Ctrl-C or with the program" },
	{ "period", 0, "N", OPTION_U64, offsetof(struct trace_command, period),
	  "record only every Nth event; all are counted" },
	{ "stack-size", 0, "SIZE", OPTION_BYTES, offsetof(struct trace_command, stack_bytes),
	  "copy SIZE of each stack (default: 16k, at most 63k; 0: no stacks): deeper stacks are "
	  "cut" },
	RECORD_TAPE_OPTIONS(struct trace_command, common),
	{ "top", 'n', "N", OPTION_U64, offsetof(struct trace_command, top),
	  "show the N places with most of each kind (default 10)" },
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct trace_command, json),
	  "print the report as JSON" },
	{ "interval", 'i', "TIME", OPTION_DURATION, offsetof(struct trace_command, interval_ns),
	  "print how many events there were every TIME (1s), of --all by process" },
	{ "no-summary", 0, NULL, OPTION_UNFLAG, offsetof(struct trace_command, common.summary),
	  "do not print a report, only the tape's name" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct trace_command, common.quiet),
	  "print errors only" },
	READING_SYMBOL_OPTIONS(struct trace_command, symbols),
};

/* --- what is wanted -------------------------------------------------------------------------- */

static struct err *options_check(const struct trace_command *options, int operand_count)
{
	const int subjects = (options->pid != 0) + options->all + (operand_count > 1);

	if (operand_count == 0)
		return err_new(ERR_USAGE, "what is to be traced? brk, mmap, munmap, faults, "
					  "major-faults, thp-splits, oom or all");
	if (subjects != 1)
		return err_new(ERR_USAGE, "expected one of --pid, --all and a program");
	if (options->pid > INT32_MAX)
		return err_new(ERR_USAGE, "--pid: there is no process %llu",
			       (unsigned long long)options->pid);
	if (options->period == 0 || options->period > UINT32_MAX)
		return err_new(ERR_USAGE, "--period must be at least 1");
	if (options->stack_bytes > PERF_STACK_BYTES_MAX)
		return err_new(ERR_USAGE, "--stack-size: at most 63k can be copied");
	return NULL;
}

/* --- the program ----------------------------------------------------------------------------- */

/* A child that waits to become the program. */
struct child {
	pid_t pid;   /* 0: it was not started by us */
	int go;	     /* closed: it may */
	int trouble; /* it writes errno there if it cannot */
	int status;
	bool has_ended;
};

static void child_run(char **argv, int go, int trouble, const sigset_t *signals)
{
	char byte;

	sigprocmask(SIG_SETMASK, signals, NULL);
	if (read(go, &byte, 1) != 0)
		_exit(EXIT_CANNOT_START);
	execvp(argv[0], argv);
	(void)!write(trouble, &errno, sizeof(errno));
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static struct err *child_start(struct child *child, char **argv, const sigset_t *signals)
{
	int go[2], trouble[2];

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_errno("cannot start a program");
	if (pipe2(trouble, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return err_errno("cannot start a program");
	}
	child->pid = fork();
	if (child->pid == 0) {
		close(go[1]);
		child_run(argv, go[0], trouble[1], signals);
	}
	close(go[0]);
	close(trouble[1]);
	child->go = go[1];
	child->trouble = trouble[0];
	return child->pid < 0 ? err_errno("cannot start a program") : NULL;
}

/* Lets it run. An error says why it cannot be started. */
static struct err *child_go(struct child *child, const char *name)
{
	int number;

	close(child->go);
	child->go = -1;
	if (read(child->trouble, &number, sizeof(number)) == sizeof(number)) {
		errno = number;
		return err_errno("cannot run %s", name);
	}
	return NULL;
}

/* One that was never let run ends. */
static void child_deinit(struct child *child)
{
	if (child->pid <= 0)
		return;
	if (child->go >= 0) {
		kill(child->pid, SIGKILL);
		close(child->go);
	}
	close(child->trouble);
	if (!child->has_ended)
		waitpid(child->pid, &child->status, 0);
}
CLEAN_DEFINE_DEINIT(child_deinit, struct child);

/* --- tracing --------------------------------------------------------------------------------- */

/* Whether the tracing ends with it. The program gets what memtape gets, but not from the terminal. */
static bool is_signalled(const struct child *child, const sigset_t *signals)
{
	const struct timespec now = { 0 };
	siginfo_t info;
	const int number = sigtimedwait(signals, &info, &now);

	if (number <= 0)
		return false;
	if (child->pid == 0)
		return true;
	if (info.si_code <= 0)
		kill(child->pid, number);
	return false;
}

static struct err *wait_for_end(const struct trace_command *options, uint32_t kinds,
				struct tracing *trace, struct child *child, int process_fd,
				const sigset_t *signals)
{
	const uint64_t begin_ns = monotonic_ns();
	struct trace_counts counts = {
		.kinds = kinds,
		.is_json = options->json,
		.process_count =
			options->all ? u64_min(options->top, TRACE_COUNTS_PROCESSES_MAX) : 0,
		.period_ns = options->interval_ns,
		.begin_ns = begin_ns,
		.next_ns = begin_ns + options->interval_ns,
	};
	struct err *err = NULL;

	while (!err && !is_signalled(child, signals)) {
		if (options->duration_ns && monotonic_ns() - begin_ns >= options->duration_ns)
			break;
		if (child->pid > 0 && waitpid(child->pid, &child->status, WNOHANG) == child->pid) {
			child->has_ended = true;
			break;
		}
		if (process_fd >= 0 && process_fd_has_ended(process_fd))
			break;
		err = tracing_poll(trace, POLL_MS);
		if (!err)
			err = trace_counts_show(&counts, trace);
	}
	return err;
}

static void print_begun(const struct trace_command *options, const struct tracing *trace)
{
	if (options->common.quiet)
		return;
	if (tracing_is_user_only(trace))
		trace_kinds_print_user_only();
	if (options->pid || options->all)
		fprintf(stderr, "memtape: tracing. Ctrl-C ends it\n");
}

static struct err *tape_path(const struct trace_command *options, const char *program, pid_t pid,
			     struct str *path)
{
	const struct pattern_values values = {
		.program = program,
		.pid = pid > 0 ? pid : getpid(),
		.start_seconds = time(NULL),
	};

	pattern_expand(path, options->common.output, &values);
	return path->failed ? err_nomem()
			    : output_check_file(str_text(path), options->common.force);
}

static struct err *show(const struct trace_command *options, const char *path)
{
	struct brief brief = { .report = "trace",
			       .is_json = options->json,
			       .with = parameters_usual(),
			       .symbols = &options->symbols };

	brief.with.top = options->top;
	return brief_show(&brief, path);
}

static struct err *run_traced(const struct trace_command *options, uint32_t kinds, char **argv,
			      struct child *child, const sigset_t *signals, struct str *path,
			      int *exit_code)
{
	CLEAN(tracing_tape_close) struct tracing_tape *tape = NULL;
	CLEAN(close)
	const int process_fd = options->pid ? process_fd_open((pid_t)options->pid) : -1;
	const pid_t pid = options->all ? -1 : child->pid ? child->pid : (pid_t)options->pid;
	const struct tracing_settings settings = {
		.pid = pid,
		.is_paused_child = child->pid > 0,
		.kinds = kinds,
		.period = (uint32_t)options->period,
		.stack_bytes = (uint32_t)(options->stack_bytes & ~UINT64_C(7)),
		.argv = child->pid > 0 ? (const char *const *)argv : NULL,
	};
	char link[STR_SHORT_BYTES], exe[4096] = "all";
	ssize_t len = -1;
	struct err *err;

	if (options->pid && process_fd < 0)
		return errno == ESRCH ? err_new(ERR_NOT_FOUND, "there is no process %d", (int)pid)
				      : err_errno("process %d", (int)pid);
	if (child->pid == 0 && pid > 0)
		len = readlink(str_format(link, sizeof(link), "/proc/%d/exe", (int)pid), exe,
			       sizeof(exe) - 1);
	if (len >= 0)
		exe[len] = '\0';
	err = tape_path(options, child->pid > 0 ? argv[0] : exe, pid, path);
	if (!err)
		err = tracing_tape_open(&settings, str_text(path), options->common.force, &tape);
	if (!err && child->pid > 0) {
		err = child_go(child, argv[0]);
		if (err)
			*exit_code =
				err_errno_of(err) == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	}
	if (err)
		return err;
	print_begun(options, tracing_tape_tracing(tape));
	err = wait_for_end(options, kinds, tracing_tape_tracing(tape), child, process_fd, signals);
	return err ? err : tracing_tape_finish(tape);
}

static struct err *trace_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct trace_command options = { .common = RECORD_OPTIONS_DEFAULTS,
					 .period = 1,
					 .stack_bytes = PERF_STACK_BYTES,
					 .top = TOP };
	CLEAN(child_deinit) struct child child = { .go = -1, .trouble = -1 };
	CLEAN(str_deinit) struct str path = { 0 };
	sigset_t signals, before;
	int operand_count = 0;
	struct trace_kinds kinds = { 0 };
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err)
		err = options_check(&options, operand_count);
	if (!err)
		err = trace_kinds_parse(argv[1], &kinds);
	if (err)
		return err;
	argv[1 + operand_count] = NULL;
	command_end_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	if (operand_count > 1)
		err = child_start(&child, argv + 2, &before);
	if (!err && kinds.is_all) /* not before it is forked: tracefs may have to be mounted */
		err = trace_kinds_allowed(kinds.set, options.common.quiet, &kinds.set);
	if (!err)
		err = run_traced(&options, kinds.set, argv + 2, &child, &signals, &path, exit_code);
	if (!err && options.common.summary && !options.common.quiet)
		err = show(&options, str_text(&path));
	if (!err && !options.common.quiet)
		fprintf(stderr, "memtape: %s\n", str_text(&path));
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!err && child.has_ended && WIFSIGNALED(child.status)) {
		fflush(NULL);
		signals_die(WTERMSIG(child.status));
		*exit_code = 128 + WTERMSIG(child.status);
	} else if (!err && child.has_ended) {
		*exit_code = WEXITSTATUS(child.status);
	}
	return err;
}

const struct command cmd_trace = {
	.name = "trace",
	.summary = "see what the kernel does for a program: brk, mmap, page faults",
	.options = {
		.usage = "memtape trace KIND,... [options] [--] PROGRAM [ARGS]\n       memtape trace KIND,... [options] --pid PID\n       memtape trace KIND,... [options] --all",
		.about = "Traces events of the kernel with the program's stacks: brk (the heap's end moves), mmap, munmap, faults (page faults), major-faults (those that wait for a disk), thp-splits (huge pages that are split into small ones), oom (processes that are killed for want of memory), or all of them. The program is not touched, and may be of any language, linked statically, or run already. Without root, page faults only.",
		.rows = rows,
		.row_count = array_size(rows),
		.stop_at_operand = 2, /* the program: what follows is its */
	},
	.run = trace_run,
};
