/*
 * question: a query about a tape, as a value. One file of questions/ exports a const question, and
 * its name is one word in that room's meson.build, which generates the table. It declares its
 * parameters (answer/parameters.h) and its answer's shape (answer/shape.h), and computes the answer
 * unformatted. Front ends (`memtape report`, /api/v1, the app, the documents) compute nothing.
 */
#ifndef MEMTAPE_ANSWER_QUESTION_H
#define MEMTAPE_ANSWER_QUESTION_H

#include "answer/parameters.h"
#include "answer/shape.h"
#include "select/selection.h"
#include "sums/walk.h"

/* Opens the source files named on a tape (annotate). NULL: files of this machine. */
struct source_opener;

/* The subject of the question; everything is borrowed. */
struct asked {
	const struct model *model; /* at the depth the question needs */
	struct names *names;
	const char *tape_path;			   /* of the model; NULL: not from a file */
	const struct selection *selection;	   /* whole tape or a part; about.h: may be NULL */
	struct arena *arena;			   /* for the answer */
	const struct sweep_limits *limits;	   /* NULL: none */
	const struct parameters *with;		   /* as the user wrote them, checked */
	const struct source_opener *source_opener; /* NULL: any file of this machine may be read */
	/* Filled by question_prepare from the parameters. */
	enum walk_mode mode;	    /* of stacks and call sites */
	bool tells_leaks;	    /* names were looked up for suppressions */
	bool is_for_table;	    /* members that only JSON has are not needed */
	bool has_window;	    /* the whole tape is selected, but rows are filtered by time */
	uint64_t from_ns, until_ns; /* if question->has_window: the time range, both inclusive */
	unsigned sort;		    /* index into question->sorts */
};

struct question {
	const char *name;
	const char *summary;	   /* one line for the help, no full stop */
	const struct shape *shape; /* of the result */
	enum model_depth depth;
	enum model_subject subject; /* of the model, if no parameter says another */
	uint64_t takes;		    /* TAKES(...), without those implied by the next members */
	uint64_t optional;	    /* of these, operands that may be left out */
	bool selects;		    /* partial selections too: takes filter, from and until */
	bool has_window;	    /* takes from and until, and filters rows by time itself */
	bool ignores_leaks;	    /* needs no names for suppressions */
	bool recounts_leaks;	    /* if leaks are suppressed, rows are counted again */
	bool shows_all;		    /* stacks have the frames of the allocator in any case */
	bool one_process;	    /* of a process tree it can be asked of one process only */
	bool is_list;		    /* the command's JSON is its first list, without the rest */
	bool is_patient;	    /* reads the whole tape: may take longer than others */
	const char *const *sorts;   /* sort words of its list; NULL: cannot be sorted */
	unsigned sort;		    /* the default */
	const char *instead;	    /* suggested alternative if filter or range are refused */
	/* Checks combinations of parameters that are valid one by one; NULL: none to check. */
	struct err *(*check)(const struct parameters *with);
	/* Whether the parameters need rows where depth does not; NULL: never. */
	bool (*needs_rows)(const struct parameters *with);
	/* Fills the result, shape->bytes of zeros; what it points to lives in the arena. */
	struct err *(*ask)(const struct asked *asked, void *result);
};

/* All parameters that it takes. */
uint64_t question_takes(const struct question *question);

/*
 * Checks the parameters before a tape is opened. ERR_USAGE; *wrong_ret is the parameter the error
 * is about, PARAMETER_COUNT: none in particular.
 */
struct err *question_check(const struct question *question, const struct parameters *with,
			   enum parameter_id *wrong_ret);

/* The selection the question needs; texts are borrowed. */
struct selection_settings question_selection(const struct question *question,
					     const struct parameters *with);

/* The model depth the question needs. */
enum model_depth question_depth(const struct question *question, const struct parameters *with);

/* What the model has to be of. */
enum model_subject question_subject(const struct question *question, const struct parameters *with);

/* Fills the derived members; needs model, selection, names and `with`. */
struct err *question_prepare(const struct question *question, struct asked *asked);

/* A result in the arena; *result_ret has question->shape. */
struct err *question_ask(const struct question *question, const struct asked *asked,
			 const void **result_ret);

/* --- for questions ---------------------------------------------------------------------------- */

/* Nanoseconds of a checked moment; NULL: fallback_ns. ERR_NOT_FOUND: no such mark. */
struct err *asked_moment(const struct asked *asked, const char *text, uint64_t fallback_ns,
			 uint64_t *ns_ret);

/* The range of from and until on this tape; the whole tape if not given. */
struct err *asked_range(const struct asked *asked, uint64_t *from_ret, uint64_t *until_ret);

#endif
