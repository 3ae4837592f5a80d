/*
 * parameters: a question's parameters, in the user's words. parameters.def is the one table: the
 * struct, the options of `memtape report` and the parameters of /api/v1 are generated from it.
 */
#ifndef MEMTAPE_ANSWER_PARAMETERS_H
#define MEMTAPE_ANSWER_PARAMETERS_H

#include "base/err.h"
#include "groups/groups.h" /* words of the table */
#include "sums/walk.h"

#define PARAMETER_TYPE_TEXT   const char *
#define PARAMETER_TYPE_FILTER const char *
#define PARAMETER_TYPE_MOMENT const char *
#define PARAMETER_TYPE_NUMBER uint64_t
#define PARAMETER_TYPE_FLAG   bool
#define PARAMETER_TYPE_CHOICE int

/* All parameters, as the user gave them; the rest have the defaults of parameters_usual(). */
struct parameters {
#define PARAMETER(field, name, letter, arg, kind, questions, doc, words, max, usual)               \
	PARAMETER_TYPE_##kind field;
#define OPERAND(field, name, arg, kind, doc) PARAMETER_TYPE_##kind field;
#include "answer/parameters.def"
#undef PARAMETER
#undef OPERAND
};

enum parameter_id {
#define PARAMETER(field, ...) PARAMETER_##field,
#define OPERAND(field, ...)   PARAMETER_##field,
#include "answer/parameters.def"
#undef PARAMETER
#undef OPERAND
	PARAMETER_COUNT
};

/* A set of parameters, one bit each: TAKES(top) | TAKES(at). */
#define TAKES(field) (UINT64_C(1) << PARAMETER_##field)

enum parameter_kind {
	PARAMETER_IS_TEXT,
	PARAMETER_IS_FILTER, /* memtape-filter(7) */
	PARAMETER_IS_MOMENT, /* select/moment.h */
	PARAMETER_IS_NUMBER,
	PARAMETER_IS_FLAG,
	PARAMETER_IS_CHOICE
};

struct parameter {
	const char *name;
	enum parameter_kind kind;
	size_t place; /* offset in struct parameters */
	const char *doc;
	const char *const *words; /* CHOICE: NULL-terminated */
	uint64_t max;		  /* NUMBER: the highest; 0: any */
	uint64_t usual;		  /* NUMBER, FLAG, CHOICE: the default */
	const char *operand;	  /* name in the usage text, "FILE"; NULL: it is an option */
	const char *questions;	  /* "tree, space: "; "": all or most */
};

/* By enum parameter_id. */
extern const struct parameter parameter_table[PARAMETER_COUNT];

struct parameters parameters_usual(void);

/* Whether its value differs from the default. */
bool parameter_is_given(const struct parameters *parameters, enum parameter_id id);

#endif
