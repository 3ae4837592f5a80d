/*
 * export: a tape's sums as files of other tools.
 *
 * One file here exports one `const struct export_format`, and its name is one word in this room's
 * meson.build, which generates the table.
 */
#ifndef MEMTAPE_EXPORT_EXPORT_H
#define MEMTAPE_EXPORT_EXPORT_H

#include "base/str.h"
#include "query/selection.h"
#include "query/walk.h"

struct export_context {
	const char *tape_path;
	const struct model *model;
	struct names *names;
	const struct selection *selection; /* what is written of the tape: all, or a part */
	struct sums sums;		   /* of the selection */
	enum metric metric;
	enum walk_mode mode;
};

struct export_format {
	const char *name;    /* the word after --to */
	const char *summary; /* one line for the help, no full stop */
	enum model_depth depth;
	struct err *(*write)(const struct export_context *context, FILE *out);
};

/* All formats in the order of meson.build, NULL at the end. */
extern const struct export_format *const export_table[];

const struct export_format *export_find(const char *name); /* NULL: no such format */

#endif
