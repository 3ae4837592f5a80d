/*
 * source_text: lines of a source file on this machine. The path comes from a tape, which may be
 * untrusted: so a file is opened only if its name looks like source, it is a regular file of
 * limited size, and it is not below /proc, /sys or /dev; the kernel follows no symbolic link that
 * was not checked (realpath first, then no links at all).
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
	const char **lines; /* from `first` on, without line ends; not necessarily UTF-8 */
	size_t count;
	uint64_t first;	      /* from 1 */
	uint64_t line_count;  /* of the whole file */
	uint64_t modified_ns; /* since 1970 */
};

/*
 * Opens it if it is such a file; -1: not found, or not allowed. For report_settings; the context is
 * a const struct source_roots.
 */
int source_text_open(const void *context, const char *path, struct stat *status_ret);

/* An unreadable or forbidden file is not an error. Lives in the arena. */
struct err *source_text_read(const struct source_roots *roots, const char *path, uint64_t first,
			     struct arena *arena, struct source_text *text_ret);

#endif
