/*
 * importer: another tool's recordings. One file NAME.c exports one const struct importer, and NAME
 * is one word in this room's meson.build, from which the table is made.
 */
#ifndef MEMTAPE_CONVERT_IMPORTER_H
#define MEMTAPE_CONVERT_IMPORTER_H

#include "convert/compose.h"
#include "convert/source.h"

/* How sure a probe is: the surest importer reads the file, the first in the table of equal ones. */
enum importer_match { IMPORTER_NO = 0, IMPORTER_MAYBE = 1, IMPORTER_YES = 2 };

enum { IMPORTER_PROBE_BYTES = 4096 };

struct importer {
	const char *name;   /* as in --from: "massif" */
	const char *title;  /* for --list: "Valgrind's massif, massif.out.PID" */
	const char *recipe; /* how such a file is made: "valgrind --tool=massif PROGRAM" */

	/*
	 * Whether a file that begins so (decompressed; up to IMPORTER_PROBE_BYTES, fewer if it is
	 * shorter) is one. bytes[count] is 0.
	 */
	enum importer_match (*probe)(const char *bytes, size_t count);

	/*
	 * Reads all of source into composer. ERR_FORMAT, with the place (source_error), when
	 * nothing can be made of it. A file that is torn, or wrong further on, is read up to there:
	 * composer_note says so (source_torn), and that is no error. Failures of composer need not
	 * be returned; reading may stop when composer_failed.
	 */
	struct err *(*read)(struct source *source, struct composer *composer);
};

/* In the order of meson.build, NULL at the end. */
extern const struct importer *const importer_table[];

/* NULL: there is none of this name. */
const struct importer *importer_find(const char *name);

/* The surest one; NULL: none. */
const struct importer *importer_probe(const char *bytes, size_t count);

#endif
