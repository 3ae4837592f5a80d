#include "cli/record_options.h"

#include "capture/pack.h"
#include "cli/record_player.h"
#include "cli/record_summary.h"
#include "cli/trace_kinds.h"
#include "collect/allocators.h"

/* The default suits a process that runs beside the recorded program. */
static int level_make(const struct record_options *options)
{
	if (!options->compress)
		return 0;
	return options->level == RECORD_LEVEL_DEFAULT ? CAPTURE_PACK_LEVEL : (int)options->level;
}

/* The tape is about to be made: starts what reads it beside the recording. */
static struct err *readers_begin(void *context, const char *path)
{
	struct record_options *options = context;
	struct err *err = NULL;

	if (options->serves)
		err = record_serve_start(&options->serve, path);
	else if (options->control)
		err = record_serve_tell_path(path);
	if (!err && options->send.to)
		err = record_send_start(&options->send, path);
	return err;
}

static bool take_wish(void *context, struct collector_wish *wish)
{
	struct record_options *options = context;

	return record_serve_wish(&options->serve, wish);
}

static void grant(void *context, const struct collector_granted *granted)
{
	struct record_options *options = context;

	record_serve_grant(&options->serve, granted);
}

/* The recording goes on without. */
static void print_untraced(void *context, uint32_t kinds, const char *why)
{
	const struct record_options *options = context;

	if (options->quiet)
		return;
	if (kinds)
		trace_kinds_print_missing(kinds, why);
	else
		trace_kinds_print_user_only();
}

struct err *record_settings(struct record_options *options, struct collector_settings *settings)
{
	const char *selfcheck = getenv("MEMTAPE_SELFCHECK");
	struct trace_kinds kinds = { 0 };
	const uint64_t chunk_count = options->buffer_bytes / SPOOL_CHUNK_BYTES;
	bool is_asked;
	struct err *err;

	if (options->level < 1 || options->level > RECORD_LEVEL_MAX)
		return err_new(ERR_USAGE, "--level must be from 1 to %d", RECORD_LEVEL_MAX);
	if (chunk_count < SPOOL_CHUNK_COUNT_MIN || chunk_count > SPOOL_CHUNK_COUNT_MAX)
		return err_new(ERR_USAGE, "--buffer must be from 256k to 8g");
	options->serves |= options->serves_until_exit;
	if (options->serves && options->control)
		return err_new(ERR_USAGE, "--control does not go with --serve");
	is_asked = options->serves || options->control;
	if ((options->serve.port || options->serve.opens) && !options->serves)
		return err_new(ERR_USAGE, "--port and --open need --serve");
	if (options->serve.port > UINT16_MAX)
		return err_new(ERR_USAGE, "--port must be from 1 to 65535");
	if (!*options->output)
		return err_new(ERR_USAGE, "--output needs a name");
	err = record_send_check(&options->send);
	if (!err)
		err = allocators_check(&options->allocators);
	if (!err && options->trace)
		err = trace_kinds_parse(options->trace, &kinds);
	if (!err && options->control)
		err = record_serve_obey(&options->serve, options->control);
	if (err)
		return err;
	*settings = (struct collector_settings) {
		.output = options->output,
		.overwrite = options->force,
		.stacks = options->stacks,
		.free_stacks = options->free_stacks && options->stacks,
		.latency = options->latency,
		.allocators = options->allocators,
		.trace_kinds = kinds.set,
		.on_untraced = print_untraced,
		.live = options->live || is_asked || options->send.to,
		.on_ready = is_asked || options->send.to ? readers_begin : NULL,
		.take_wish = is_asked ? take_wish : NULL,
		.grant = grant,
		.player = options->summary && !options->quiet ? &record_player : NULL,
		.look = record_summary_look,
		.context = options,
		.selfcheck = selfcheck && *selfcheck && strcmp(selfcheck, "0") != 0,
		.level = level_make(options),
		.chunk_bytes = SPOOL_CHUNK_BYTES,
		.chunk_count = (uint32_t)chunk_count + SPOOL_OPEN_COUNT,
	};
	return NULL;
}

void record_ended(struct record_options *options, const struct err *err,
		  const struct collector_result *result)
{
	record_serve_ended(&options->serve);
	record_send_ended(&options->send);
	if (err || options->serves_until_exit || !result->path)
		record_serve_stop(&options->serve);
	if (err || !result->path)
		record_send_stop(&options->send);
}

struct err *record_show(const struct record_options *options, const struct program *program,
			const struct collector_result *result)
{
	const struct record_summary_wish wish = { options->summary && !options->quiet,
						  options->verbose };

	if (options->quiet && !result->fault && result->path)
		return NULL;
	return record_summary_print(program, result, &options->allocators, &wish);
}
