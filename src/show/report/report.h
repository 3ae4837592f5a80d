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
#include "report/source_opener.h"
#include "sums/walk.h"

/* What options.def has rows for is written by the options of the command and of the server. */
struct report_settings {
	enum emit_format format;
	bool colour;	       /* text: ANSI colours */
	unsigned width;	       /* text: columns; 0: unlimited */
	const char *sort_text; /* --sort as it was given; NULL: it was not */
	bool has_sort;	       /* report_sort: sort was chosen, else each report has its own */
	unsigned sort;	       /* index into the report's sorts; enum metric if it has no own */
	uint64_t top;	       /* entries of a list; 0: as many as the report finds good */
	bool shows_all;	       /* machinery of allocation and program start too */
	bool is_bottom_up;     /* tree: from those who allocate outwards */
	const char *function;  /* tree: of this function alone; NULL: of everything */
	uint64_t points;       /* timeline: so many; 0: as many as the report finds good */
	const char *filter;    /* memtape-filter(7); NULL: everything */
	const char *from;      /* moments (select/moment.h); NULL: the beginning, the end */
	const char *until;
	const char *at;	       /* a moment; NULL: each report has its own */
	const char *columns;   /* annotate: their names, with commas between; NULL: the usual */
	bool shows_whole_file; /* annotate: also lines without numbers */
	bool shows_sites;      /* lifetimes: of each function too */
	const struct suppressions *suppressions; /* leaks that are known; NULL: none are */
	struct suppressor *suppressor;	    /* of the model and names, used instead; NULL: none */
	struct source_opener source_opener; /* annotate */
	const char *const *operands;	    /* what stood behind the report's name */
	size_t operand_count;
	enum group_by by;		      /* groups: by what */
	uint64_t skip;			      /* entries left out at the beginning */
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

/* What holds where nothing is asked for. */
struct report_settings report_settings_usual(void);

const struct report *report_find(const char *name); /* NULL: no such report */

/* What the report and its question say of it. */
const char *report_name(const struct report *report);
const char *report_summary_line(const struct report *report);
enum model_depth report_depth_of(const struct report *report);
bool report_selects(const struct report *report);
bool report_has_window(const struct report *report);

/*
 * What the settings say about the report alone: number of operands, moments, names of columns.
 * ERR_USAGE. To be called before anything is read or written.
 */
struct err *report_check(const struct report *report, const struct report_settings *settings);

/* What the word sort_text means for the report. ERR_USAGE: it has no such. */
struct err *report_sort(const struct report *report, struct report_settings *settings);

/* How deep the model has to be for this. */
enum model_depth report_depth(const struct report *report, const struct report_settings *settings);

/* Loads the tape and writes the report. */
struct err *report_run(const struct report *report, const char *tape_path,
		       const struct report_settings *settings, FILE *out);

/* The same for a model that is loaded already, as deep as the report wants it. */
struct err *report_run_model(const struct report *report, const struct model *model,
			     const struct report_settings *settings, FILE *out);

#endif
