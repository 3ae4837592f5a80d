/*
 * source_roots: the folders below which sources are shown. Whoever looks at tapes of strangers says
 * where his sources are, so that no tape can name a file of another place. Immutable once made: any
 * number of threads may ask.
 */
#ifndef MEMTAPE_HTTP_SOURCE_ROOTS_H
#define MEMTAPE_HTTP_SOURCE_ROOTS_H

#include "base/clean.h"
#include "base/err.h"

/* All zeros: nobody said any, and sources are shown wherever they are. */
struct source_roots {
	char **items; /* real paths, without a slash at the end but for "/" */
	size_t count;
};

/* "DIR[:DIR]"; NULL: none. ERR_USAGE: empty, or one that is no folder of this machine. */
struct err *source_roots_parse(const char *text, struct source_roots *roots_ret);
void source_roots_deinit(struct source_roots *roots);
CLEAN_DEFINE_DEINIT(source_roots_deinit, struct source_roots);

/* Whether a real path (realpath(3)) lies in or below one of them. */
bool source_roots_allow(const struct source_roots *roots, const char *real);

#endif
