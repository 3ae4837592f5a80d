/*
 * question: a query about a tape, as a value. One file of questions/ exports a const question, and
 * its name is one word in that room's meson.build, which generates the table. It says what it can
 * be asked with (answer/parameters.h), what the answer consists of (answer/shape.h), and finds it;
 * it formats nothing. Faces - `memtape report`, /api/v1, the app, the documents - compute nothing.
 */
#ifndef MEMTAPE_ANSWER_QUESTION_H
#define MEMTAPE_ANSWER_QUESTION_H

#include "answer/parameters.h"
#include "answer/shape.h"
#include "select/selection.h"
#include "sums/walk.h"

/* What opens the source files that a tape names (annotate). NULL: as they are on this machine. */
struct source_opener;

/* What the question is about; all of it is borrowed. */
struct asked {
	const struct model *model; /* as deep as the question needs it */
	struct names *names;
	const char *tape_path;		   /* of the model; NULL: it is of no file */
	const struct selection *selection; /* the whole tape, or a part of it; about.h: or NULL */
	struct arena *arena;		   /* for the answer */
	const struct sweep_limits *limits; /* NULL: none */
	const struct parameters *with;	   /* as the user wrote them, and checked */
	const struct source_opener *source_opener; /* NULL: any file of this machine may be read */
	/* What question_prepare makes of them. */
	enum walk_mode mode; /* of stacks and call sites */
	bool tells_leaks;    /* names were looked for on account of suppressions */
	bool is_for_table;   /* what only JSON has is not needed */
	bool has_window;     /* the whole tape is selected, but rows are left out by their times */
	uint64_t from_ns, until_ns; /* question->has_window: those, both included */
	unsigned sort;		    /* index into question->sorts */
};

struct question {
	const char *name;
	const char *summary;	   /* one line for the help, no full stop */
	const struct shape *shape; /* of the result */
	enum model_depth depth;
	uint64_t takes;		  /* TAKES(...) but for those that the next members bring along */
	bool selects;		  /* about a part of the tape too: takes filter, from and until */
	bool has_window;	  /* takes from and until, and chooses rows by their time itself */
	bool ignores_leaks;	  /* no names are looked for on account of suppressions */
	bool recounts_leaks;	  /* where leaks are suppressed it counts rows again */
	bool is_patient;	  /* goes over all of the tape: may take longer than others */
	const char *const *sorts; /* words of what its list can be sorted by; NULL: it is not */
	unsigned sort;		  /* the usual one of them */
	const char *instead;	  /* what else there is where filter or range are refused */
	/* Says what is wrong with parameters that are right one by one; NULL: nothing can be. */
	struct err *(*check)(const struct parameters *with);
	/* Whether they need rows where depth does not; NULL: they never do. */
	bool (*needs_rows)(const struct parameters *with);
	/* Fills the result, which is shape->bytes zeros; what it points to lives in the arena. */
	struct err *(*ask)(const struct asked *asked, void *result);
};

/* All that it takes. */
uint64_t question_takes(const struct question *question);

/*
 * What is wrong with the parameters, before a tape is opened. ERR_USAGE; *wrong_ret is the one that
 * the error is about, PARAMETER_COUNT: none of them.
 */
struct err *question_check(const struct question *question, const struct parameters *with,
			   enum parameter_id *wrong_ret);

/* What of the tape is to be selected for it: texts are borrowed. */
struct selection_settings question_selection(const struct question *question,
					     const struct parameters *with);

/* How deep the model has to be. */
enum model_depth question_depth(const struct question *question, const struct parameters *with);

/* Once model, selection, names and `with` are there: fills what is made of the parameters. */
struct err *question_prepare(const struct question *question, struct asked *asked);

/* A result in the arena; *result_ret is of question->shape. */
struct err *question_ask(const struct question *question, const struct asked *asked,
			 const void **result_ret);

/* --- for questions ---------------------------------------------------------------------------- */

/* Nanoseconds of a text that was checked; NULL: fallback_ns. ERR_NOT_FOUND: no such mark. */
struct err *asked_moment(const struct asked *asked, const char *text, uint64_t fallback_ns,
			 uint64_t *ns_ret);

/* Where from and until begin and end on this tape; not given, where the tape does. */
struct err *asked_range(const struct asked *asked, uint64_t *from_ret, uint64_t *until_ret);

#endif
