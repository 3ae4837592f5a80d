/*
 * annotate: a source file with the allocations of its lines.
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
	const char *text; /* NULL: no source, or line past its end */
};

struct annotation {
	const char *file;
	const char *source_path; /* NULL: not found */
	bool source_is_newer;
	struct shape_rows lines; /* of struct annotated_line */
	struct about about;
	/* Not members. */
	struct source source;
	const char *tried; /* paths that were tried */
};

#endif
