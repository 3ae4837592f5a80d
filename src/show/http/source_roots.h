/*
 * source_roots: the folders below which sources are shown. For tapes from untrusted sources the
 * user states where his sources are, so that no tape can name a file elsewhere. Immutable once
 * made; thread-safe.
 */
#ifndef MEMTAPE_HTTP_SOURCE_ROOTS_H
#define MEMTAPE_HTTP_SOURCE_ROOTS_H

#include "base/clean.h"
#include "base/err.h"

/* All zeros: none given, and sources are shown wherever they are. */
struct source_roots {
	char **items; /* real paths, without a trailing slash except "/" */
	size_t count;
};

/* "DIR[:DIR]"; NULL: none. ERR_USAGE: empty, or not a folder on this machine. */
struct err *source_roots_parse(const char *text, struct source_roots *roots_ret);
void source_roots_deinit(struct source_roots *roots);
CLEAN_DEFINE_DEINIT(source_roots_deinit, struct source_roots);

/* Whether a real path (realpath(3)) is in or below one of them. */
bool source_roots_allow(const struct source_roots *roots, const char *real);

#endif
