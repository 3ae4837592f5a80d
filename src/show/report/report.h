/*
 * report: answers about one tape, as text for people, JSON and CSV for programs.
 *
 * One file here exports one `const struct report`, and its name is one word in this room's
 * meson.build, which generates the table. The shapes of the JSON are promises: members are added,
 * never renamed or removed (docs/man/memtape-report.1).
 */
#ifndef MEMTAPE_REPORT_REPORT_H
#define MEMTAPE_REPORT_REPORT_H

#include "answer/question.h"
#include "base/emit.h"
#include "base/str.h"
#include "groups/groups.h"
#include "answer/source_opener.h"
#include "sums/walk.h"

struct report_settings {
	struct parameters with;
	enum emit_format format;
	bool colour;	/* text: ANSI colours */
	unsigned width; /* text: columns; 0: unlimited */
	bool has_sort;	/* report_settle: sort was chosen, else each report has its own */
	unsigned sort;	/* index into the report's sorts; enum metric if it has no own */
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
	/*
	 * What it asks; JSON and CSV come from its shape, and the text as well unless there is one
	 * of its own. NULL: `run` does all of it, and the next seven say what the question would.
	 */
	const struct question *question;
	struct err *(*text)(const struct report_context *context, const void *answer, FILE *out);
	/* Text: what is asked for where the user did not say, so that it fits a terminal. */
	void (*for_text)(struct parameters *with);
	const char *none;      /* text: said when the list is empty; NULL: nothing */
	const char *none_then; /* the same of a part of the time */
	const char *name;
	const char *summary; /* one line for the help, no full stop */
	enum model_depth depth;
	bool has_window;	  /* --from and --until are its own, not the selection's */
	const char *instead;	  /* what else there is where one of the three is refused */
	bool selects;		  /* about a part of the tape too: --filter, --from, --until */
	bool ignores_leaks;	  /* tells of no leaks: names are not looked for on their account */
	const char *operands;	  /* their names for the help, "A B"; NULL: it takes none */
	bool reads_sources;	  /* its operand is a file, of those that the tape names */
	bool sorts_itself;	  /* settings->sort_text is for it, `check` looks at it */
	const char *const *sorts; /* words of --sort; NULL: metric_words */
	/* Says what is wrong with settings, before a tape is opened; NULL: nothing can be. */
	struct err *(*check)(const struct report_settings *settings);
	/* Whether these settings need rows where depth does not; NULL: they never do. */
	bool (*needs_rows)(const struct report_settings *settings);
	struct err *(*run)(const struct report_context *context, FILE *out);
};

/* All reports in the order of meson.build, NULL at the end. */
extern const struct report *const report_table[];

const struct report *report_find(const char *name); /* NULL: no such report */

/* What the report and its question say of it. */
const char *report_name(const struct report *report);
const char *report_summary_line(const struct report *report);
enum model_depth report_depth_of(const struct report *report);
bool report_selects(const struct report *report);
bool report_has_window(const struct report *report);

/* Names of what stands behind the name, "A B"; NULL: nothing does. Valid as long as `words`. */
const char *report_operands(const struct report *report, struct str *words);

/*
 * What the settings say about the report alone: number of operands, moments, names of columns.
 * ERR_USAGE. To be called before anything is read or written.
 */
struct err *report_check(const struct report *report, const struct report_settings *settings);

/*
 * What depends on the report: what its operands are, what the word of --sort means. ERR_USAGE: it
 * has no such.
 */
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
