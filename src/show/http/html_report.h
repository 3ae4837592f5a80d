/*
 * html_report: a tape's answers and the app that shows them as one file that works without a
 * server.
 */
#ifndef MEMTAPE_HTTP_HTML_REPORT_H
#define MEMTAPE_HTTP_HTML_REPORT_H

#include "base/err.h"

struct suppressions;
struct symbol_options;

/* Progress, done of total; total 0: unknown. */
typedef void (*html_progress_fn)(void *context, const char *what, uint64_t done, uint64_t total);

struct html_report {
	const char *tape_path;
	const struct symbol_options *symbols;
	const struct suppressions *suppressions; /* for leaks; NULL: none */
	const char *version;			 /* of memtape */
	uint64_t max_bytes;
	bool with_source;
	bool with_argv;
	const char *home;	   /* files below it are shown below "~"; NULL: unknown */
	html_progress_fn progress; /* NULL: none */
	void *context;
};

/* It as a format beside those of export/, and the server's route for it. */
#define HTML_REPORT_NAME    "html"
#define HTML_REPORT_SUMMARY "all that memtape serve shows, as a page without a server"
#define HTML_REPORT_PATH    "/api/v1/export/report.html"

enum { HTML_REPORT_BYTES = 4 << 20 }; /* the usual limit */

/*
 * Nothing is written before everything is known to fit. ERR_LIMIT: it does not, even with the least
 * detail; ERR_UNSUPPORTED: built without the app.
 */
struct err *html_report_write(const struct html_report *report, FILE *out);

#endif
