/*
 * diff_times: the two times of --at and of --between, as texts.
 */
#ifndef MEMTAPE_CLI_DIFF_TIMES_H
#define MEMTAPE_CLI_DIFF_TIMES_H

#include "base/err.h"

/* "X,Y", or "X" for both. texts has two, the caller's to free, also after an error. */
struct err *diff_times_split(const char *text, char **texts);

/* "A..B"; either may be omitted, and is then NULL. ends has two, the caller's to free. ERR_USAGE. */
struct err *diff_span_split(const char *text, char **ends);

#endif
