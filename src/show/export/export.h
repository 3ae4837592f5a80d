/*
 * export: a tape's sums as files of other tools.
 *
 * One file here exports one `const struct export_format`, and its name is one word in this room's
 * meson.build, which generates the table.
 */
#ifndef MEMTAPE_EXPORT_EXPORT_H
#define MEMTAPE_EXPORT_EXPORT_H

#include "base/str.h"
#include "select/selection.h"
#include "sums/walk.h"

struct export_context {
	const char *tape_path;
	const struct model *model;
	struct names *names;
	const struct selection *selection; /* what is written of the tape: all, or a part */
	struct sums sums;		   /* of the selection, or of it at a moment */
	const uint64_t *at_ns;		   /* that moment; NULL: the whole run */
	enum metric metric;
	enum walk_mode mode;
};

/* What of a tape is in the file: the groups of --list. */
enum export_kind {
	EXPORT_SUMS,   /* a value for each stack or site: of a moment, too (sums_at) */
	EXPORT_COURSE, /* how memory went over time */
	EXPORT_EVENTS  /* single allocations and frees */
};

struct export_format {
	const char *name;    /* the word after --to */
	const char *summary; /* one line for the help, no full stop */
	const char *suffix;  /* what names of its files end with */
	enum export_kind kind;
	bool has_alive;	 /* it tells what was alive at the end: leaked, suppressed or not */
	bool has_metric; /* it has one number a stack, of the metric */
	bool is_gzip;	 /* it is compressed as it is */
	enum model_depth depth;
	struct err *(*write)(const struct export_context *context, FILE *out);
};

/* All formats in the order of meson.build, NULL at the end. */
extern const struct export_format *const export_table[];

/* "sums", "course", "events" */
const char *export_kind_word(enum export_kind kind);

const struct export_format *export_find(const char *name); /* NULL: no such format */

/* Whether a file of the format can be of one moment. ERR_USAGE: why not. */
struct err *export_at_check(const struct export_format *format);

#endif
