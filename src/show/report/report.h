/*
 * report: answers about one tape, as text for people, JSON and CSV for programs.
 *
 * Every question (answer/question.h) is a report. A file here with its name exports one `const
 * struct report`, which defines its text; without one, text is generated from its members. The JSON
 * schemas are stable: members are added, never renamed or removed (docs/man/memtape-report.1).
 */
#ifndef MEMTAPE_REPORT_REPORT_H
#define MEMTAPE_REPORT_REPORT_H

#include "answer/question.h"
#include "answer/source_opener.h"
#include "base/emit.h"
#include "base/str.h"
#include "sums/walk.h"

/* How an answer is written, beside text, JSON and CSV: as another tool writes it. */
enum report_style {
	REPORT_OWN,
	REPORT_MEMCHECK,     /* Valgrind's Memcheck */
	REPORT_LSAN,	     /* LeakSanitizer */
	REPORT_SUPPRESSIONS, /* rules that suppress what is lost, for both of us */
	REPORT_XTREE	     /* Valgrind's --xtree-leak, for callgrind_annotate */
};

struct report_settings {
	struct parameters with;
	enum emit_format format;
	enum report_style style; /* text: how it is written */
	unsigned fail_on;	 /* set of enum loss_kind: see fails_ret */
	bool *fails_ret;	 /* set if there are such leaks; NULL: nobody asks */
	bool colour;		 /* text: ANSI colours */
	unsigned width;		 /* text: columns; 0: unlimited */
	const struct suppressions *suppressions; /* suppressed leaks; NULL: none */
	struct suppressor *suppressor;	    /* of the model and names, used instead; NULL: none */
	struct source_opener source_opener; /* annotate */
	const char *const *operands;	    /* operands after the report's name */
	size_t operand_count;
	const struct symbol_options *symbols; /* NULL: the defaults */
	const char *tape_path;		      /* as the user wrote it: for suggested commands */
	struct names *names;		      /* borrowed, replaces symbols; NULL: none */
	uint64_t time_limit_ns;		      /* for selecting and reading rows; 0: none */
	const bool *cancel;		      /* set by another thread to cancel; NULL: never */
	struct arena_budget *budget;	      /* memory limit; NULL: none */
};

struct report_context {
	const struct model *model;
	struct names *names;
	const struct report_settings *settings;
	const struct selection *selection; /* the subject: the whole tape, or a part */
	struct sums sums;		   /* of the selection */
	bool tells_leaks;
	bool has_window; /* the whole tape is selected, but rows are filtered by time */
	enum walk_mode mode;
	struct arena *arena; /* freed after the report */
};

struct report {
	/* Its question: the shape defines JSON, CSV and, unless `text` is set, the text. */
	const struct question *question;
	struct err *(*text)(const struct report_context *context, const void *answer, FILE *out);
	/* Of enum loss_kind: what fail_on may name. */
	unsigned fail_kinds;
	/* Whether the answer has what settings->fail_on names; NULL without fail_kinds. */
	bool (*fails)(const struct report_settings *settings, const void *answer);
	bool has_styles; /* all of enum report_style */
	/* Text: defaults for parameters that the user did not give, to fit a terminal. */
	void (*for_text)(struct parameters *with);
	const char *none;      /* text: shown if the list is empty; NULL: nothing */
	const char *none_then; /* the same for a part of the time */
	/* Writes rows one by one, instead of all above: there are too many for an answer. */
	struct err *(*run)(const struct report_context *context, FILE *out);
};

/* All reports in the order of meson.build, NULL at the end. */
extern const struct report *const report_table[];

/* "json", "csv", "text", then the styles; NULL at the end. */
extern const char *const report_format_words[];

#define REPORT_FORMAT_DOC                                                                          \
	"how it is written; memcheck and lsan (the text of these tools), suppressions (rules for " \
	"what is lost) and xtree (for callgrind_annotate) are for leak-classes"

/* Sets format and style by an index of report_format_words. */
void report_format_choose(struct report_settings *settings, unsigned word);

const struct report *report_find(const char *name); /* NULL: no such report */

/* Names of the operands, "A B"; NULL: none. Valid as long as `words`. */
const char *report_operands(const struct report *report, struct str *words);

/*
 * Checks the settings before anything is read or written; errors use the words of the command line.
 * ERR_USAGE. Call it after report_settle.
 */
struct err *report_check(const struct report *report, const struct report_settings *settings);

/* Takes the operands after the report's name. ERR_USAGE: too few or too many. */
struct err *report_settle(const struct report *report, struct report_settings *settings);

/* The model depth required. */
enum model_subject report_subject(const struct report *report,
				  const struct report_settings *settings);
enum model_depth report_depth(const struct report *report, const struct report_settings *settings);

/* Loads the tape and writes the report. */
struct err *report_run(const struct report *report, const char *tape_path,
		       const struct report_settings *settings, FILE *out);

/* The same for a loaded model of sufficient depth. */
struct err *report_run_model(const struct report *report, const struct model *model,
			     const struct report_settings *settings, FILE *out);

#endif
