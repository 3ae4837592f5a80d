#include "cli/report_html.h"

#include <assert.h>
#include <time.h>

#include "cli/input.h"
#include "base/monotonic.h"
#include "http/html_report.h"

enum { QUIET_MS = 500, EVERY_MS = 100 };

struct progress {
	uint64_t begin_ms;
	uint64_t shown_ms; /* 0: nothing shown yet */
};

/* "reading the tape: 42 %", "asking: 17 answers", overwriting the previous line. */
static void progress_show(void *context, const char *what, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	const uint64_t now = monotonic_ns() / 1000000;

	if (now - progress->begin_ms < QUIET_MS || now - progress->shown_ms < EVERY_MS)
		return;
	progress->shown_ms = now;
	if (total)
		fprintf(stderr, "\rmemtape: %s: %u %%\x1b[K", what, (unsigned)(done * 100 / total));
	else if (done)
		fprintf(stderr, "\rmemtape: %s: %llu answers\x1b[K", what,
			(unsigned long long)done);
	else
		fprintf(stderr, "\rmemtape: %s\x1b[K", what);
}

struct err *report_html_check(const struct report_html_options *options)
{
	const bool has_any = options->max_bytes || options->with_source || options->with_argv;

	if (has_any && !options->html)
		return err_new(ERR_USAGE,
			       "--max-size, --with-source and --with-argv are for --html");
	return NULL;
}

struct err *report_html(const struct report_html_options *options,
			const struct reading_symbol_options *symbol_options,
			const struct suppressing_options *suppressing_options,
			const char *tape_path, const char *output_path, bool may_overwrite)
{
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	struct progress progress = { .begin_ms = monotonic_ns() / 1000000 };
	struct html_report report = {
		.tape_path = tape_path,
		.symbols = &symbols.options,
		.suppressions = &suppressing.rules,
		.version = MEMTAPE_VERSION,
		.max_bytes = options->max_bytes ? options->max_bytes : HTML_REPORT_BYTES,
		.with_source = options->with_source,
		.with_argv = options->with_argv,
		.home = getenv("HOME"),
		.context = &progress,
	};
	struct reading_output output;
	struct err *err = output_check(output_path, may_overwrite);

	assert(options->html && tape_path);
	if (!output_path && isatty(STDOUT_FILENO))
		err = err_new(ERR_USAGE, "--html: expected a file: -o report.html");
	if (isatty(STDERR_FILENO))
		report.progress = progress_show;
	if (!err)
		err = suppressing_load(&suppressing, suppressing_options);
	if (!err)
		err = reading_symbols_init(&symbols, symbol_options, tape_path);
	if (!err)
		err = reading_output_open(&output, output_path, may_overwrite, tape_path);
	if (err)
		return err;
	err = html_report_write(&report, output.file);
	if (progress.shown_ms)
		fputs("\r\x1b[K", stderr);
	return reading_output_close(&output, err);
}
