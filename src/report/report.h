/*
 * report: answers about one tape, as text for people, JSON and CSV for programs.
 *
 * One file here exports one `const struct report`, and its name is one word in this room's
 * meson.build, which generates the table. The shapes of the JSON are promises: members are added,
 * never renamed or removed (docs/man/memtape-report.1).
 */
#ifndef MEMTAPE_REPORT_REPORT_H
#define MEMTAPE_REPORT_REPORT_H

#include "base/emit.h"
#include "base/str.h"
#include "query/metric.h"
#include "query/walk.h"

struct report_settings {
	enum emit_format format;
	bool colour;	/* text: ANSI colours */
	unsigned width; /* text: columns; 0: unlimited */
	bool has_sort;	/* sort was chosen, else each report has its own */
	enum metric sort;
	uint64_t top;	   /* entries of a list; 0: as many as the report finds good */
	bool shows_all;	   /* machinery of allocation and program start too */
	bool is_bottom_up; /* tree: from those who allocate outwards */
	const struct symbol_options *symbols; /* NULL: the defaults */
	const char *tape_path; /* as the user wrote it: for the commands that are suggested */
};

struct report_context {
	const struct model *model;
	struct names *names;
	const struct report_settings *settings;
	enum walk_mode mode;
	struct arena *arena; /* ends with the report */
};

struct report {
	const char *name;
	const char *summary; /* one line for the help, no full stop */
	enum model_depth depth;
	struct err *(*run)(const struct report_context *context, FILE *out);
};

/* All reports in the order of meson.build, NULL at the end. */
extern const struct report *const report_table[];

const struct report *report_find(const char *name); /* NULL: no such report */

/* Loads the tape and writes the report. */
struct err *report_run(const struct report *report, const char *tape_path,
		       const struct report_settings *settings, FILE *out);

/* The same for a model that is loaded already, as deep as the report wants it. */
struct err *report_run_model(const struct report *report, const struct model *model,
			     const struct report_settings *settings, FILE *out);

#endif
