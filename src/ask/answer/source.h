/*
 * source: the lines of a source file, to be shown beside numbers. Internal to answer.
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
	const char *path; /* where it was found; NULL: it was not */
	bool is_newer;	  /* changed after the recording began: lines may have moved */
	char **lines;	  /* without line ends, tabs are spaces */
	size_t count;
};

/*
 * Looks at the file as the debug information has it (from the program's folder, if that is no full
 * path), then at `wanted`, what the user wrote. tried gets the places that were looked at. A source
 * that is not there is no error. Lives in the arena.
 */
struct err *source_read(const struct model *model, const char *file, const char *wanted,
			const struct source_opener *opener, struct arena *arena, struct str *tried,
			struct source *source_ret);

#endif
