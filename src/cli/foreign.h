/*
 * foreign: what to say to somebody who gave another tool's recording where a tape is wanted.
 */
#ifndef MEMTAPE_CLI_FOREIGN_H
#define MEMTAPE_CLI_FOREIGN_H

#include "base/err.h"

/* NULL: the file is none that `memtape convert` knows, or cannot be read. */
struct err *foreign_check(const char *path);

/* Takes err (may be NULL), of opening path as a tape, and gives the better one if there is one. */
struct err *foreign_explain(struct err *err, const char *path);

#endif
