#include <assert.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "cli/foreign.h"
#include "cli/reading.h"

enum { QUIET_MS = 500, EVERY_MS = 100 };

struct progress {
	uint64_t begin_ms;
	uint64_t shown_ms; /* 0: nothing shown yet */
};

/* "reading the tape: 42 %, 12.3 M events/s", overwriting the previous line. */
static void progress_show(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	CLEAN(str_deinit) struct str text = { 0 };
	const uint64_t now = monotonic_ns() / 1000000, passed = now - progress->begin_ms;

	if (passed < QUIET_MS || now - progress->shown_ms < EVERY_MS)
		return;
	progress->shown_ms = now;
	str_add(&text, "\rmemtape: reading the tape: ");
	str_add_u64(&text, done * 100 / u64_max(total, 1));
	str_add(&text, " %, ");
	str_add_ratio(&text, done, passed * 1000, 1);
	str_add(&text, " M events/s\x1b[K");
	if (!text.failed)
		fputs(str_text(&text), stderr);
}

enum model_index reading_index(bool no_index)
{
	return no_index ? MODEL_INDEX_USE : MODEL_INDEX_AUTO;
}

void reading_announce(const void *context, const struct model_index_plan *plan)
{
	const char *option = context;
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, "memtape: writing ");
	str_add_terminal(&text, plan->path);
	str_add(&text, ", an index of about ");
	str_add_iec(&text, plan->bytes);
	str_add(&text, " (");
	str_add_iec(&text, plan->free_bytes);
	str_add(&text, " free); it makes later commands fast, and can be deleted at any time");
	if (option)
		str_printf(&text, "; %s: a temporary file instead", option);
	str_add_char(&text, '\n');
	if (!text.failed)
		fputs(str_text(&text), stderr);
}

struct selection_settings reading_part(const struct reading_part_options *options)
{
	return (struct selection_settings) {
		.filter = options->filter,
		.from = options->from,
		.until = options->until,
	};
}

enum model_depth reading_part_depth(const struct reading_part_options *options,
				    enum model_depth depth)
{
	const struct selection_settings settings = reading_part(options);

	assert(depth == MODEL_SUMMARY || depth == MODEL_FULL);
	return selection_needs_rows(&settings) ? MODEL_FULL : depth;
}

struct model_settings reading_part_model(const struct reading_part_options *options)
{
	return (struct model_settings) { .subject = selection_subject(options->filter) };
}

struct err *reading_model(const char *tape_path, enum model_depth depth,
			  const struct model_settings *settings, struct model **model_ret)
{
	struct progress progress = { .begin_ms = monotonic_ns() / 1000000 };
	struct model_settings with = settings ? *settings : (struct model_settings) { 0 };
	struct err *err;

	assert(tape_path);
	assert(depth == MODEL_SUMMARY || depth == MODEL_FULL);
	if (isatty(STDERR_FILENO)) {
		with.progress = progress_show;
		with.progress_context = &progress;
	}
	if (!with.announce)
		with.announce = reading_announce;
	err = model_load_with(tape_path, depth, &with, model_ret);
	if (progress.shown_ms)
		fputs("\r\x1b[K", stderr);
	return foreign_explain(err, tape_path);
}
