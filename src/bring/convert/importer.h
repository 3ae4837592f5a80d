/*
 * importer: reads another tool's recordings. Each file NAME.c exports one const struct importer,
 * and NAME is listed in this room's meson.build, from which the table is generated.
 */
#ifndef MEMTAPE_CONVERT_IMPORTER_H
#define MEMTAPE_CONVERT_IMPORTER_H

#include "convert/compose.h"
#include "convert/source.h"

/* Certainty of a probe: the highest wins; among equals, the first in the table. */
enum importer_match { IMPORTER_NO = 0, IMPORTER_MAYBE = 1, IMPORTER_YES = 2 };

enum { IMPORTER_PROBE_BYTES = 4096 };

struct importer {
	const char *name;   /* as in --from: "massif" */
	const char *title;  /* for --list: "Valgrind's massif, massif.out.PID" */
	const char *recipe; /* how to make such a file: "valgrind --tool=massif PROGRAM" */

	/*
	 * Whether a file that begins like this (decompressed; up to IMPORTER_PROBE_BYTES, fewer if
	 * it is shorter) is of this format. bytes[count] is 0.
	 */
	enum importer_match (*probe)(const char *bytes, size_t count);

	/*
	 * Reads all of source into composer. ERR_FORMAT, with the position (source_error), if the
	 * contents are unusable. A file that is truncated or malformed further on is read up to
	 * there with a note (source_torn), which is not an error. Failures of composer need not be
	 * returned; reading may stop when composer_failed.
	 */
	struct err *(*read)(struct source *source, struct composer *composer);
};

/* In the order of meson.build, NULL at the end. */
extern const struct importer *const importer_table[];

/* NULL: not found. */
const struct importer *importer_find(const char *name);

/* The most certain one; NULL: none. */
const struct importer *importer_probe(const char *bytes, size_t count);

#endif
