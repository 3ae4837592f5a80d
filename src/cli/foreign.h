/*
 * foreign: error messages for users who pass another tool's recording instead of a tape.
 */
#ifndef MEMTAPE_CLI_FOREIGN_H
#define MEMTAPE_CLI_FOREIGN_H

#include "base/err.h"

/* NULL: not a format that `memtape convert` knows, or unreadable. */
struct err *foreign_check(const char *path);

/* Takes err (may be NULL) from opening path as a tape; returns a better one if there is one. */
struct err *foreign_explain(struct err *err, const char *path);

#endif
