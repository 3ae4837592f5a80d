/*
 * source_text: lines of a source file on this machine. Which file comes from a tape, and a tape may
 * come from a stranger: so only what looks like source by its name, is a plain file of a bearable
 * size, and lies in no folder of the kernel is opened, and no link in a path is followed by the
 * kernel without being looked at (realpath first, then no link at all).
 */
#ifndef MEMTAPE_HTTP_SOURCE_TEXT_H
#define MEMTAPE_HTTP_SOURCE_TEXT_H

#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "http/source_roots.h"

enum {
	SOURCE_TEXT_FILE_MAX = 8 << 20,
	SOURCE_TEXT_ANSWER_MAX = 448 << 10,
	SOURCE_TEXT_LINES = 2000
};

struct source_text {
	const char *reason; /* why there are no lines; NULL: there are */
	const char **lines; /* from `first` on, without line ends; UTF-8 or not */
	size_t count;
	uint64_t first;	      /* from 1 */
	uint64_t line_count;  /* of the whole file */
	uint64_t modified_ns; /* since 1970 */
};

/*
 * Opens it if it is such a file; -1: it is not there, or not to be shown. For report_settings; the
 * context is a const struct source_roots.
 */
int source_text_open(const void *context, const char *path, struct stat *status_ret);

/* A file that cannot or may not be read is no error. Lives in the arena. */
struct err *source_text_read(const struct source_roots *roots, const char *path, uint64_t first,
			     struct arena *arena, struct source_text *text_ret);

#endif
