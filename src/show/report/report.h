/*
 * report: answers about one tape, as text for people, JSON and CSV for programs.
 *
 * Every question (answer/question.h) is a report. A file of its name here exports one
 * `const struct report`, which says its text; without one, text is what its members make. The shapes
 * of the JSON are promises: members are added, never renamed or removed (docs/man/memtape-report.1).
 */
#ifndef MEMTAPE_REPORT_REPORT_H
#define MEMTAPE_REPORT_REPORT_H

#include "answer/question.h"
#include "answer/source_opener.h"
#include "base/emit.h"
#include "base/str.h"
#include "sums/walk.h"

struct report_settings {
	struct parameters with;
	enum emit_format format;
	bool colour;				 /* text: ANSI colours */
	unsigned width;				 /* text: columns; 0: unlimited */
	const struct suppressions *suppressions; /* leaks that are known; NULL: none are */
	struct suppressor *suppressor;	    /* of the model and names, used instead; NULL: none */
	struct source_opener source_opener; /* annotate */
	const char *const *operands;	    /* what stood behind the report's name */
	size_t operand_count;
	const struct symbol_options *symbols; /* NULL: the defaults */
	const char *tape_path;	     /* as the user wrote it: for the commands that are suggested */
	struct names *names;	     /* borrowed, and used instead of symbols; NULL: none */
	uint64_t time_limit_ns;	     /* of choosing and going through rows; 0: none */
	const bool *cancel;	     /* set by another thread to give up; NULL: never */
	struct arena_budget *budget; /* of the memory it takes; NULL: as much as there is */
};

struct report_context {
	const struct model *model;
	struct names *names;
	const struct report_settings *settings;
	const struct selection *selection; /* what is reported about: the whole tape, or a part */
	struct sums sums;		   /* of the selection */
	bool tells_leaks;
	bool has_window; /* the whole tape is selected, but rows are left out by their times */
	enum walk_mode mode;
	struct arena *arena; /* ends with the report */
};

struct report {
	/* What it asks; JSON and CSV come from its shape, and the text as well unless there is `text`. */
	const struct question *question;
	struct err *(*text)(const struct report_context *context, const void *answer, FILE *out);
	/* Text: what is asked for where the user did not say, so that it fits a terminal. */
	void (*for_text)(struct parameters *with);
	const char *none;      /* text: said when the list is empty; NULL: nothing */
	const char *none_then; /* the same of a part of the time */
	/* Writes rows one by one, in place of all that: there are too many to be an answer. */
	struct err *(*run)(const struct report_context *context, FILE *out);
};

/* All reports in the order of meson.build, NULL at the end. */
extern const struct report *const report_table[];

const struct report *report_find(const char *name); /* NULL: no such report */

/* Names of what stands behind the name, "A B"; NULL: nothing does. Valid as long as `words`. */
const char *report_operands(const struct report *report, struct str *words);

/*
 * What is wrong with the settings, in the words of the command line, before anything is read or
 * written. ERR_USAGE. Call it after report_settle.
 */
struct err *report_check(const struct report *report, const struct report_settings *settings);

/* Takes the words that stood behind the report's name. ERR_USAGE: too few or too many. */
struct err *report_settle(const struct report *report, struct report_settings *settings);

/* How deep the model has to be for this. */
enum model_depth report_depth(const struct report *report, const struct report_settings *settings);

/* Loads the tape and writes the report. */
struct err *report_run(const struct report *report, const char *tape_path,
		       const struct report_settings *settings, FILE *out);

/* The same for a model that is loaded already, as deep as the report wants it. */
struct err *report_run_model(const struct report *report, const struct model *model,
			     const struct report_settings *settings, FILE *out);

#endif
