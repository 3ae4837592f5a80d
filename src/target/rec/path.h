/* path: a tape's name from its pattern, and the message if it cannot be created. Used at start. */
#ifndef MEMTAPE_REC_PATH_H
#define MEMTAPE_REC_PATH_H

#include "core/core.h"

/*
 * Expands %e (name of the executable), %p (pid), %t (seconds since 1970), %h (host), %n (the lowest
 * unused number) and %%. attempt > 0 gives the next name after one that was in use: %n counts up;
 * without %n, ".2", ".3", ... go before the suffix. False: it does not fit.
 */
bool rec_path_expand(const char *pattern, unsigned attempt, char *out, size_t out_bytes);

/* One line on stderr: recording is off because path could not be created. */
void rec_path_complain(const char *path, int error);

/* One line on stderr if entries contain an unsupported variable of bytehound's. */
void rec_synonyms_complain(char *const *entries);

#endif
