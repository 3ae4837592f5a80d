/*
 * path: the name of a tape from its pattern, and what to say when it cannot be had. Used at start.
 */
#ifndef MEMTAPE_REC_PATH_H
#define MEMTAPE_REC_PATH_H

#include "core/core.h"

/*
 * Expands %e (name of the executable), %p (pid), %t (seconds since 1970), %h (host), %n (a number,
 * the lowest that is free) and %%. attempt > 0 asks for the next name after one that was taken:
 * %n counts up; without %n, ".2", ".3", ... go before the suffix. False: it does not fit.
 */
bool rec_path_expand(const char *pattern, unsigned attempt, char *out, size_t out_bytes);

/* One line on stderr: recording is off because path could not be created. */
void rec_path_complain(const char *path, int error);

/* One line on stderr if there is a variable in entries that is bytehound's and not understood. */
void rec_synonyms_complain(char *const *entries);

#endif
