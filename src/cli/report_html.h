/*
 * report_html: `memtape report TAPE --html`, one file that opens in a browser without a server.
 */
#ifndef MEMTAPE_CLI_REPORT_HTML_H
#define MEMTAPE_CLI_REPORT_HTML_H

#include "cli/reading.h"
#include "cli/suppressing.h"

struct report_html_options {
	bool html;
	bool with_source;
	bool with_argv;
	uint64_t max_bytes; /* 0: not given */
};

#define REPORT_HTML_ROW(settings, member, field)                                                   \
	(offsetof(settings, member) + offsetof(struct report_html_options, field))

/* clang-format off */
#define REPORT_HTML_OPTIONS(settings, member)                                                      \
	{ "html", 0, NULL, OPTION_FLAG, REPORT_HTML_ROW(settings, member, html),                   \
	  "write the web app with this tape as one file (-o) that needs no server or network" },   \
	{ "max-size", 0, "SIZE", OPTION_BYTES, REPORT_HTML_ROW(settings, member, max_bytes),       \
	  "--html: reduce detail to stay below SIZE (default: 4MiB)" },                            \
	{ "with-source", 0, NULL, OPTION_FLAG, REPORT_HTML_ROW(settings, member, with_source),     \
	  "--html: include the source files that allocate most" },                                 \
	{ "with-argv", 0, NULL, OPTION_FLAG, REPORT_HTML_ROW(settings, member, with_argv),         \
	  "--html: include the program's arguments" }
/* clang-format on */

/* ERR_USAGE: an option that has no effect without --html. */
struct err *report_html_check(const struct report_html_options *options);

struct err *report_html(const struct report_html_options *options,
			const struct reading_symbol_options *symbols,
			const struct suppressing_options *suppressing, const char *tape_path,
			const char *output_path, bool may_overwrite);

#endif
