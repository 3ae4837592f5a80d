/*
 * question: what can be asked about a tape. One file here exports one `const struct question`, and
 * its name is one word in this room's meson.build, which generates the table. It says what the
 * answer consists of (answer/shape.h) and finds it; it formats nothing. Faces - `memtape report`,
 * /api/v1, the app, the documents - compute nothing.
 */
#ifndef MEMTAPE_ANSWER_QUESTION_H
#define MEMTAPE_ANSWER_QUESTION_H

#include "answer/shape.h"
#include "select/selection.h"
#include "sums/walk.h"

/* What is asked about; all of it is borrowed. */
struct asked {
	const struct model *model; /* as deep as the question needs it */
	struct names *names;
	const struct selection *selection; /* the whole tape, or a part of it; about.h: or NULL */
	struct arena *arena;		   /* for the answer */
	const struct sweep_limits *limits; /* NULL: none */
	enum walk_mode mode;		   /* of stacks and call sites */
	bool tells_leaks;		   /* names were looked for on account of suppressions */
	/* Of rows with a time, where the question itself chooses by time: both included. */
	bool has_window;
	uint64_t from_ns, until_ns;
	unsigned sort; /* index into question->sorts */
	uint64_t top;  /* entries of a list; 0: as many as there are */
	/* As the user wrote them, for the answer to repeat; NULL: not given. */
	const char *filter, *from, *until;
};

struct question {
	const char *name;
	const char *summary;	   /* one line for the help, no full stop */
	const struct shape *shape; /* of the result */
	enum model_depth depth;
	bool selects;		  /* about a part of the tape too: a filter, a range of time */
	bool has_window;	  /* not so, but its rows have times, by which it chooses itself */
	bool ignores_leaks;	  /* no names are looked for on account of suppressions */
	bool is_patient;	  /* goes over all of the tape: may take longer than others */
	const char *const *sorts; /* words of what its list can be sorted by; NULL: it is not */
	unsigned sort;		  /* the usual one of them */
	const char *instead;	  /* what else there is where filter or range are refused */
	/* Fills the result, which is shape->bytes zeros; what it points to lives in the arena. */
	struct err *(*ask)(const struct asked *asked, void *result);
};

/* A result in the arena; *result_ret is of question->shape. */
struct err *question_ask(const struct question *question, const struct asked *asked,
			 const void **result_ret);

/* All in the order of meson.build, NULL at the end. */
extern const struct question *const question_table[];

#endif
