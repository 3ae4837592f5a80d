/* path: a tape's name from its pattern, and the message if it cannot be created. Used at start. */
#ifndef MEMTAPE_REC_PATH_H
#define MEMTAPE_REC_PATH_H

#include "core/core.h"

enum { REC_RUN_BYTES = 1024 }; /* of the path by which a program was run, with its NUL */

/*
 * Expands %e (the program's name, as it was run), %p (pid), %t (seconds since 1970), %h (host), %n (the lowest
 * unused number) and %%. attempt > 0 gives the next name after one that was in use: %n counts up;
 * without %n, ".2", ".3", ... go before the suffix. False: it does not fit.
 */
bool rec_path_expand(const char *pattern, unsigned attempt, char *out, size_t out_bytes);

/*
 * The program's file, by the kernel or, where there is no /proc, as it was started; no NUL follows
 * it. 0: unknown. At the start, or where the program may be asked: a system call or two.
 */
size_t rec_path_exe(char *out, size_t room);

/* The same as a text, until the next call. "": unknown. At the start, on one thread. */
const char *rec_path_file(void);

/*
 * The path by which the program was run, if its last part is another than that of rec_path_exe(): a
 * link to it. "": there is none, or it is not known. As first asked for, which is to be at the
 * start, on one thread: the program may go to another directory.
 */
const char *rec_path_run(void);

/* Behind the last slash. */
const char *rec_path_name(const char *path);

/* One line on stderr: recording is off because path could not be created. */
void rec_path_complain(const char *path, int error);

/* One line on stderr if entries contain an unsupported variable of bytehound's. */
void rec_synonyms_complain(char *const *entries);

#endif
