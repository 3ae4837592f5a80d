/*
 * problem: an error as JSON for clients.
 *
 *	{"error":{"message":"...","hint":null,"parameter":"q","pos":3,"len":4,"suggest":null}}
 */
#ifndef MEMTAPE_HTTP_PROBLEM_H
#define MEMTAPE_HTTP_PROBLEM_H

#include "base/err.h"
#include "base/str.h"

struct problem {
	const char *message; /* lines after the first (a position in a text) are left out */
	const char *hint;
	const char *parameter;
	const char *value; /* of the parameter; with has_place, `at` is a position in it */
	bool has_place;
	size_t at; /* byte offset in value */
	const char *suggest;
};

void problem_write(const struct problem *problem, struct str *out);

/* The HTTP status for a route's error. */
unsigned problem_status(const struct err *err);

#endif
