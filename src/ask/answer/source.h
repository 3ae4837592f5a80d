/*
 * source: the lines of a source file, to show beside numbers. Internal to answer.
 */
#ifndef MEMTAPE_ANSWER_SOURCE_H
#define MEMTAPE_ANSWER_SOURCE_H

#include "answer/source_opener.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/model.h"

enum { SOURCE_BYTES_MAX = 64 << 20, SOURCE_TAB_COLUMNS = 8 };

struct source {
	const char *path; /* where it was found; NULL: not found */
	bool is_newer;	  /* modified after recording began: lines may have moved */
	char **lines;	  /* without line ends, tabs expanded */
	size_t count;
};

/*
 * Tries the path from the debug information (relative paths from the program's folder), then
 * `wanted`, the user's path. tried gets the paths that were tried. A missing source is not an
 * error. Lives in the arena.
 */
struct err *source_read(const struct model *model, const char *file, const char *wanted,
			const struct source_opener *opener, struct arena *arena, struct str *tried,
			struct source *source_ret);

#endif
