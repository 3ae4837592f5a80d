/*
 * export: writes a tape's sums as files of other tools.
 *
 * Each file here exports one `const struct export_format`, and its name is listed in this room's
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
	const struct selection *selection; /* the part of the tape that is written */
	struct sums sums;		   /* of the selection, or at a moment */
	const uint64_t *at_ns;		   /* that moment; NULL: the whole run */
	enum metric metric;
	const struct model_scan *scan; /* of METRIC_RETAINED; else NULL */
	enum walk_mode mode;
};

/* Kind of contents: the groups of --list. */
enum export_kind {
	EXPORT_SUMS,   /* a value per stack or site; also for a moment (sums_at) */
	EXPORT_COURSE, /* memory over time */
	EXPORT_EVENTS  /* individual allocations and frees */
};

struct export_format {
	const char *name;    /* the word after --to */
	const char *summary; /* one line for the help, no full stop */
	const char *suffix;  /* file name suffix */
	enum export_kind kind;
	bool has_alive;	 /* contains live bytes at the end: leaked, suppressed or not */
	bool has_metric; /* contains one number per stack, the metric's */
	bool is_gzip;	 /* already compressed */
	enum model_depth depth;
	struct err *(*write)(const struct export_context *context, FILE *out);
};

/* All formats in the order of meson.build, NULL at the end. */
extern const struct export_format *const export_table[];

/* "sums", "course", "events" */
const char *export_kind_word(enum export_kind kind);

const struct export_format *export_find(const char *name); /* NULL: no such format */

/* Whether the format supports a single moment. ERR_USAGE: the reason why not. */
struct err *export_at_check(const struct export_format *format);

/*
 * Whether the format can have the metric: METRIC_RETAINED and those of metric_is_seen() take the place of
 * temporary allocations in sums, and are for formats with nothing but the metric. ERR_USAGE: the
 * reason why not.
 */
struct err *export_metric_check(const struct export_format *format, enum metric metric,
				bool is_moment);

#endif
