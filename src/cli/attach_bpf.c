#include "cli/attach_bpf.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "bpf/watch.h"
#include "cli/brief.h"
#include "cli/command.h"
#include "cli/input.h"

enum {
	POLL_NS = 100 * 1000000,
	POLL_ALL_NS = 20 * 1000000 /* processes begin that nobody knows yet */
};

/* --- options --------------------------------------------------------------------------------- */

/* What a tape of probes has not, or nobody could fill. */
static const char *unfit_option(const struct record_options *common)
{
	const struct record_options usual = RECORD_OPTIONS_DEFAULTS;
	const struct {
		const char *name;
		bool is_given;
	} options[] = {
		{ "no-free-stacks", !common->free_stacks },
		{ "no-stacks", !common->stacks },
		{ "latency", common->latency },
		{ "trace", common->trace != NULL },
		{ "allocator", common->allocators.count > 0 },
		{ "no-compress", !common->compress },
		{ "level", common->level != usual.level },
		{ "live", common->live },
		{ "serve", common->serves || common->serves_until_exit },
		{ "port", common->serve.port != 0 },
		{ "open", common->serve.opens },
		{ "buffer", common->buffer_bytes != usual.buffer_bytes },
		{ "verbose", common->verbose },
		{ "control", common->control != NULL },
		{ "to", common->send.to != NULL },
	};

	for (size_t i = 0; i < array_size(options); i++)
		if (options[i].is_given)
			return options[i].name;
	return NULL;
}

static const char *bpf_only_option(const struct attach_bpf_options *options)
{
	if (options->all)
		return "all";
	if (options->has_totals)
		return "totals";
	if (options->older)
		return "older";
	if (options->interval)
		return "interval";
	if (options->sample_bytes)
		return "sample";
	if (options->block_count)
		return "blocks";
	if (options->top != ATTACH_BPF_TOP)
		return "top";
	return options->json ? "json" : NULL;
}

struct err *attach_bpf_check(const struct attach_bpf_options *options,
			     const struct record_options *common)
{
	const char *unfit = options->is_wanted ? unfit_option(common) : bpf_only_option(options);

	if (unfit)
		return err_new(ERR_USAGE,
			       options->is_wanted ? "--bpf takes no --%s"
			       : options->json	  ? "--%s needs --bpf or --list"
						  : "--%s needs --bpf",
			       unfit);
	if (options->has_totals && options->sample_bytes)
		return err_new(ERR_USAGE, "--totals: what was freed is not known with --sample");
	if (options->sample_bytes > 1 << 30)
		return err_new(ERR_USAGE, "--sample: at most 1g");
	if (options->block_count > 1 << 28)
		return err_new(ERR_USAGE, "--blocks: at most 268435456 blocks can be followed");
	return NULL;
}

static struct err *parse_time(const char *option, const char *text, uint64_t *ns_ret)
{
	if (text && (!str_parse_duration(text, ns_ret) || *ns_ret == 0))
		return err_new(ERR_USAGE, "--%s: %s is not a time such as 10s, 500ms or 2m", option,
			       text);
	return NULL;
}

/* --- showing --------------------------------------------------------------------------------- */

struct showing {
	const struct attach_bpf_options *options;
	const struct record_options *common;
	struct str filter;
	uint64_t interval_ns; /* 0: at the end only */
	uint64_t duration_ns;
	pid_t pid;
	const struct program *program;
};

static struct brief brief_of(const struct showing *showing)
{
	struct brief brief = { .report = "leaks",
			       .is_json = showing->options->json,
			       .with = parameters_usual(),
			       .symbols = &showing->options->symbols };

	brief.with.top = showing->options->top;
	brief.with.filter = showing->filter.len > 0 ? str_text(&showing->filter) : NULL;
	return brief;
}

static struct err *show_tape(const struct showing *showing, const char *path)
{
	const struct brief brief = brief_of(showing);

	return brief_show(&brief, path);
}

struct making {
	struct watch *watch;
	pid_t pid;
};

static struct err *make_tape(void *context, const char *path)
{
	const struct making *making = context;

	return watch_write(making->watch, making->pid, path, false);
}

static struct err *show_process(const struct showing *showing, struct watch *watch, pid_t pid)
{
	struct making making = { watch, pid };
	struct brief brief = brief_of(showing);

	return brief_show_made(&brief, make_tape, &making);
}

static bool keeps_tapes(const struct showing *showing)
{
	return showing->pid > 0 || strcmp(showing->common->output, PATTERN_DEFAULT) != 0;
}

static struct err *tape_path(const struct showing *showing, const struct watch_live *live,
			     struct str *path)
{
	const struct pattern_values values = {
		.program = live->exe,
		.pid = live->pid,
		.start_seconds = time(NULL),
	};

	pattern_expand(path, showing->common->output, &values);
	return path->failed ? err_nomem()
			    : output_check_file(str_text(path), showing->common->force);
}

static struct err *keep_tape(const struct showing *showing, struct watch *watch,
			     const struct watch_live *live, bool is_shown)
{
	CLEAN(str_deinit) struct str path = { 0 };
	struct err *err = tape_path(showing, live, &path);

	if (!err)
		err = watch_write(watch, live->pid, str_text(&path), showing->common->force);
	if (!err && is_shown)
		err = show_tape(showing, str_text(&path));
	if (!err && !showing->common->quiet)
		fprintf(stderr, "memtape: %s\n", str_text(&path));
	return err;
}

/* What separates the answers about several processes. */
static void print_between(const struct showing *showing, const char *json, const char *text)
{
	if (showing->pid < 0)
		fputs(showing->options->json ? json : text, stdout);
}

/* Those with most first; at the end of the watch their tapes are kept. */
static struct err *show_now(const struct showing *showing, struct watch *watch, bool is_end)
{
	const bool keeps = is_end && keeps_tapes(showing);
	const bool shows = !is_end || (showing->common->summary && !showing->common->quiet);
	const struct watch_live *lives;
	size_t count;
	struct err *err = watch_take(watch, &lives, &count);

	if (err)
		return err;
	if (shows)
		print_between(showing, "[", "");
	for (size_t i = 0; i < count && !err; i++) {
		const bool is_shown = shows && i < u64_max(showing->options->top, 1);
		struct watch_live live = lives[i];

		if (showing->pid > 0)
			live.exe = showing->program->path;
		if (is_shown && i > 0)
			print_between(showing, ",\n", "\n");
		if (keeps)
			err = keep_tape(showing, watch, &live, is_shown);
		else if (is_shown)
			err = show_process(showing, watch, live.pid);
	}
	if (shows)
		print_between(showing, "]\n",
			      count > 0 ? "" : "Nothing is live that was allocated meanwhile.\n");
	fflush(stdout);
	return err;
}

/* --- watching -------------------------------------------------------------------------------- */

static void print_begun(const struct showing *showing, const struct watch *watch)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (showing->common->quiet)
		return;
	watch_describe(watch, &text);
	if (showing->pid > 0)
		fprintf(stderr, "memtape: watching process %d: %s. Ctrl-C ends it\n",
			(int)showing->pid, str_text(&text));
	else
		fprintf(stderr, "memtape: watching all processes: %s. Ctrl-C ends it\n",
			str_text(&text));
}

/* A process that has ended and waits for its parent counts as gone. */
static bool is_gone(pid_t pid)
{
	char path[STR_SHORT_BYTES], exe[8];

	return pid > 0 && readlink(str_format(path, sizeof(path), "/proc/%d/exe", (int)pid), exe,
				   sizeof(exe)) < 0;
}

/* Signals of the end are blocked and taken here. */
static bool is_asked_to_end(const struct showing *showing, const sigset_t *signals)
{
	const struct timespec time = { .tv_nsec = showing->pid > 0 ? POLL_NS : POLL_ALL_NS };

	return sigtimedwait(signals, NULL, &time) > 0;
}

static struct err *wait_for_end(const struct showing *showing, struct watch *watch,
				const sigset_t *signals)
{
	const uint64_t begin_ns = monotonic_ns();
	uint64_t next_ns = showing->interval_ns ? begin_ns + showing->interval_ns : UINT64_MAX;
	struct err *err = NULL;

	while (!err && !is_asked_to_end(showing, signals) && !is_gone(showing->pid)) {
		const uint64_t now_ns = monotonic_ns();

		if (showing->duration_ns && now_ns - begin_ns >= showing->duration_ns)
			break;
		err = watch_poll(watch);
		if (!err && now_ns >= next_ns) {
			err = show_now(showing, watch, false);
			next_ns += showing->interval_ns;
		}
	}
	return err;
}

static struct err *watch_until_end(const struct showing *showing,
				   const struct watch_settings *settings)
{
	CLEAN(watch_close) struct watch *watch = NULL;
	sigset_t signals, before;
	struct err *err;

	command_end_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	err = watch_open(settings, &watch);
	if (!err) {
		print_begun(showing, watch);
		err = wait_for_end(showing, watch, &signals);
	}
	if (!err)
		err = watch_poll(watch);
	if (!err)
		err = show_now(showing, watch, true);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct err *attach_bpf_run(const struct attach_bpf_options *options,
			   const struct record_options *common, uint64_t duration_ns, pid_t pid,
			   const struct program *program)
{
	const struct watch_settings settings = {
		.pid = pid,
		.sample_bytes = options->sample_bytes,
		.has_totals = options->has_totals,
		.block_count = options->block_count,
	};
	CLEAN(str_deinit) struct str filter = { 0 };
	CLEAN(str_deinit) struct str path = { 0 };
	struct showing showing = { .options = options,
				   .common = common,
				   .pid = pid,
				   .program = program,
				   .duration_ns = duration_ns };
	uint64_t older_ns = 0;
	struct err *err = parse_time("older", options->older, &older_ns);

	if (!err)
		err = parse_time("interval", options->interval, &showing.interval_ns);
	if (!err && pid > 0)
		err = tape_path(&showing, &(struct watch_live) { pid, program->path, 0, 0 }, &path);
	if (!err && pid < 0 && keeps_tapes(&showing) && !pattern_has(common->output, 'p'))
		err = err_new(ERR_USAGE, "--output: with --all each process has a tape of its own: "
					 "the name needs a %%p");
	if (err)
		return err;
	if (older_ns)
		str_printf(&filter, "age >= %lluns", (unsigned long long)older_ns);
	showing.filter = filter;
	return watch_until_end(&showing, &settings);
}
