/*
 * problem: an error as the JSON that clients get.
 *
 *	{"error":{"message":"...","hint":null,"parameter":"q","pos":3,"len":4,"suggest":null}}
 */
#ifndef MEMTAPE_HTTP_PROBLEM_H
#define MEMTAPE_HTTP_PROBLEM_H

#include "base/err.h"
#include "base/str.h"

struct problem {
	const char *message; /* lines after the first (a place in a text) are not said */
	const char *hint;
	const char *parameter;
	const char *value; /* of the parameter: has_place tells where in it */
	bool has_place;
	size_t at; /* byte of value */
	const char *suggest;
};

void problem_write(const struct problem *problem, struct str *out);

/* The status that an error of a route becomes. */
unsigned problem_status(const struct err *err);

#endif
