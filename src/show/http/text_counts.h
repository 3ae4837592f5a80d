/*
 * text_counts: the texts of a field on a tape, and the number of allocations with each: for
 * completion in filters. Computed once per reading of a tape and kept with it.
 */
#ifndef MEMTAPE_HTTP_TEXT_COUNTS_H
#define MEMTAPE_HTTP_TEXT_COUNTS_H

#include "base/map.h"
#include "select/fields.h"

struct text_counts {
	struct interner texts;
	uint64_t *counts; /* by text: allocations for which `field = "text"` is true */
};

/* ERR_USAGE: the field has no text values. ERR_LIMIT, ERR_STATE: see sweep.h. */
struct err *text_counts_create(const struct field *field, const struct model *model,
			       struct names *names, const struct sweep_limits *limits,
			       struct text_counts **counts_ret);
void text_counts_destroy(struct text_counts *counts); /* NULL is fine */
CLEAN_DEFINE(text_counts_destroy, struct text_counts *);

struct text_count {
	const char *text;
	uint64_t count;
};

/*
 * The `max` texts with the most allocations that begin with the prefix, ignoring case, followed by
 * those that contain it elsewhere. found has room for max; returns how many were found.
 */
size_t text_counts_find(const struct text_counts *counts, const char *prefix,
			struct text_count *found, size_t max);

#endif
