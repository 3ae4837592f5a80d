/*
 * diff: two tapes, or two parts or moments of one, compared; an answer as a value, like those of
 * questions, but about two subjects. Used by `memtape diff` and /api/v1/diff.
 */
#ifndef MEMTAPE_ANSWER_DIFF_H
#define MEMTAPE_ANSWER_DIFF_H

#include "answer/frame.h"
#include "answer/parameters.h"
#include "answer/shape.h"
#include "compare/diff.h"
#include "compare/gate.h"
#include "select/selection.h"

/* One side; everything is borrowed. */
struct diff_subject {
	const struct model *model;
	struct names *names;
	const struct selection *selection; /* the compared part */
	const struct parameters *with;	   /* filter, from and until that selected it */
	const char *tape;		   /* its path as the user wrote it, or its name */
	const char *id;			   /* id on the server; NULL: not served */
	const char *moment; /* "at 50%", "10s..20s", as the user wrote it; NULL: the whole tape */
	uint64_t units;	    /* of work done, at least 1 */
	uint64_t from_ns;   /* of the moment or the span; 0 and MODEL_NEVER: the whole tape */
	uint64_t until_ns;
	/* Filled by diff_subject_sum. */
	struct sums sums;
	struct model_sum suppressed; /* suppressed leaks, not in the sums */
};

struct diff_settings {
	enum diff_by by;
	enum metric metric; /* orders the rows and decides the verdict; not LIVE: */
	bool is_live;	    /* peak means: alive at until_ns */
	enum walk_mode mode;
	const struct gate *gate; /* NULL: none */
	const char *pair;	 /* diff_pair's words; NULL: the moments were given */
};

/*
 * The moments compared of one tape if none are given: the first and the last mark; one mark and the
 * end; without marks, 10 % of the run and the end if by then a tenth of the peak was added to live
 * memory, else the start and the peak.
 */
struct diff_pair {
	const char *moments[DIFF_SIDES]; /* as users write them: "mark(loaded)", "end" */
	uint64_t ns[DIFF_SIDES];
	const char *words; /* "from mark 'loaded' to the end" */
};

/* Lives in the arena, and borrows constants. */
struct err *diff_pair_find(const struct model *model, struct arena *arena,
			   struct diff_pair *pair_ret);
extern const struct shape shape_diff_pair;

/* Model depth needed, unless whole tapes are compared. */
bool diff_needs_rows(const struct diff_settings *settings);

/* Sums of the selection, for the settings. They live in the arena. */
struct err *diff_subject_sum(struct diff_subject *subject, const struct diff_settings *settings,
			     struct arena *arena);

/*
 * The innermost function below which nearly all of the change is: where to look, when many functions
 * allocate for one caller.
 */
struct diff_below {
	const char *function; /* NULL: there is none, or it is main */
	const char *brief;    /* as people read it: struct name */
	const char *file;     /* NULL: not known, or several */
	uint64_t line;	      /* SHAPE_NONE: not known, or several */
	const char *module;
	uint64_t hash;
	double difference; /* as of the totals */
};

/* A comparison. */
struct diff_found {
	const struct diff_subject *subjects; /* DIFF_SIDES of them */
	const struct diff_settings *settings;
	struct diff_side sides[DIFF_SIDES];
	struct model_stack_sums totals[DIFF_SIDES];
	struct diff diff;
	size_t changed_count; /* rows that differ */
	struct diff_below below;
};

/* Compares the sums; no rows (diff.count 0), for callers that need only totals. */
struct diff_found diff_begin(const struct diff_subject *subjects,
			     const struct diff_settings *settings);

/* With rows, which live in the arena; the rest is borrowed. */
struct err *diff_compare(const struct diff_subject *subjects, const struct diff_settings *settings,
			 struct arena *arena, struct diff_found *found_ret);

/* Whether any condition of the gate is exceeded; the second checks one. */
bool diff_is_failed(const struct diff_found *found);
bool diff_is_exceeded(const struct diff_found *found, const struct gate_condition *condition);

/* "peak grew by 6.9 MiB (290.5 %), from 2.4 MiB to 9.3 MiB; allowed is 10 %" */
void diff_add_measured(struct str *out, const struct diff_found *found,
		       const struct gate_condition *condition);

/* The conditions and how they came out, as rows of DiffCondition in the arena. */
extern const struct shape shape_diff_condition;
struct err *diff_conditions_fill(const struct diff_found *found, struct arena *arena,
				 struct shape_rows *rows_ret);

/* Whether the metric is meaningful for this comparison. */
bool diff_metric_is_told(const struct diff_found *found, enum metric metric);

/* The metric's name here: "peak", or "live". */
const char *diff_metric_word(const struct diff_settings *settings, enum metric metric);

/* --- in words ------------------------------------------------------------------------------- */

double diff_magnitude(double change);

/* "1.2 MiB" or "3", depending on the metric; and "+1.2 MiB", "-3", "0". */
void diff_add_value(struct str *out, enum metric metric, double value);
void diff_add_change(struct str *out, enum metric metric, double change);
void diff_add_percent(struct str *out, double part, double whole);

/* "+34.0 %", "-3.0 %", from eleven times on "29×", as the web app has it; of nothing, or without a change: nothing. */
void diff_add_share(struct str *out, double before, double after);

/* "peak", "sum of leaks", "live memory" */
const char *diff_metric_noun(const struct diff_settings *settings, enum metric metric);

/* "B's peak is 12.3 MiB (34.0 %) higher"; false: there is no change. */
bool diff_add_change_words(struct str *out, const struct diff_found *found);

/* The same with its cause: "...; 80.0 % of it from parse_chunk" */
void diff_add_verdict(struct str *out, const struct diff_found *found);

/* The row that explains the change: the largest change in its direction. NULL: none. */
const struct diff_row *diff_main_row(const struct diff_found *found);

/* Where the function of a row allocates: in the stack with most of it. */
struct place diff_row_place(const struct diff_found *found, const struct diff_row *row);

/* Finds it; the rest of found is there. Names borrow from the sides. */
struct err *diff_below_find(const struct diff_found *found, struct arena *arena,
			    struct diff_below *below_ret);

/* --- as a value ----------------------------------------------------------------------------- */

struct diff_part {
	size_t row_max; /* 0: all */
	bool has_stacks;
};

/* Shape of the value; both sides share one shape. */
extern const struct shape shape_diff;
extern const struct shape shape_diff_side;

struct diff_side_value;

/* *side_ret has shape_diff_side. Write it last: it lists modules without names. */
struct err *diff_side_value(const struct diff_found *found, unsigned side, struct arena *arena,
			    const struct diff_side_value **side_ret);

/* value has shape_diff and is zeroed. Lives in the arena, and borrows. */
struct err *diff_value_fill(const struct diff_found *found, const struct diff_part *part,
			    struct arena *arena, void *value);

#endif
