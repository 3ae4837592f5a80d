/*
 * annotate: a source file with what its lines allocated.
 */
#ifndef MEMTAPE_QUESTIONS_ANNOTATE_H
#define MEMTAPE_QUESTIONS_ANNOTATE_H

#include "answer/about.h"
#include "answer/source.h"
#include "groups/lines.h"

struct annotated_line {
	uint64_t number;
	const char *function;
	struct line line;
	const char *text; /* NULL: the source is not there, or not that long */
};

struct annotation {
	const char *file;
	const char *source_path; /* NULL: it is not there */
	bool source_is_newer;
	struct shape_rows lines; /* of struct annotated_line */
	struct about about;
	/* No members. */
	struct source source;
	const char *tried; /* paths where it was looked for */
};

#endif
