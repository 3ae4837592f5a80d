/*
 * line_columns: columns that can be shown beside a source file.
 */
#ifndef MEMTAPE_ANSWER_LINE_COLUMNS_H
#define MEMTAPE_ANSWER_LINE_COLUMNS_H

#include "base/err.h"
#include "groups/lines.h"

enum { LINE_COLUMNS_MAX = 16 };

struct line_column {
	const char *name;
	enum { OF_TOTAL, OF_FREED, OF_SELF } of;
	enum metric metric;
};

struct line_columns {
	const struct line_column *items[LINE_COLUMNS_MAX];
	size_t count;
};

/* "allocated,leaked"; NULL: the default ones. ERR_USAGE: unknown column. */
struct err *line_columns_choose(const char *list, struct line_columns *chosen);

uint64_t line_column_value(const struct line *line, const struct line_column *column);

#endif
