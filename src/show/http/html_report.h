/*
 * html_report: a tape's answers and the app that shows them as one file that needs no server.
 */
#ifndef MEMTAPE_HTTP_HTML_REPORT_H
#define MEMTAPE_HTTP_HTML_REPORT_H

#include "base/err.h"

struct suppressions;
struct symbol_options;

/* What was done of how much; total 0: nobody knows how much there will be. */
typedef void (*html_progress_fn)(void *context, const char *what, uint64_t done, uint64_t total);

struct html_report {
	const char *tape_path;
	const struct symbol_options *symbols;
	const struct suppressions *suppressions; /* of its leaks; NULL: none */
	const char *version;			 /* of memtape */
	uint64_t max_bytes;
	bool with_source;
	bool with_argv;
	const char *home;	   /* whose files are below "~"; NULL: not known */
	html_progress_fn progress; /* NULL: none */
	void *context;
};

/* Nothing is written before all of it is known to fit. ERR_LIMIT: it does not, whatever is left
 * out; ERR_UNSUPPORTED: built without the app. */
struct err *html_report_write(const struct html_report *report, FILE *out);

#endif
