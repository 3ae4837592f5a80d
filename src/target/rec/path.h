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

/*
 * The program's file, by the kernel or, where there is no /proc, as it was started; no NUL follows
 * it. 0: unknown. At the start, or where the program may be asked: a system call or two.
 */
size_t rec_path_exe(char *out, size_t room);

/* One line on stderr: recording is off because path could not be created. */
void rec_path_complain(const char *path, int error);

/* One line on stderr if entries contain an unsupported variable of bytehound's. */
void rec_synonyms_complain(char *const *entries);

#endif
