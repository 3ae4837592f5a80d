/*
 * file: a file in the target that grows while it is mapped. Its blocks are allocated before they
 * are touched: a full disk is an error here and never a SIGBUS there. The program may close the
 * descriptor and open something else with its number; that is detected, and never written to.
 */
#ifndef MEMTAPE_REC_FILE_H
#define MEMTAPE_REC_FILE_H

#include "rec/rec.h"

/* The first unused name of the pattern (path.h); descriptors are high and close-on-exec. */
int rec_file_create(struct rec_file *file, const char *pattern, unsigned mode);

/* The same, replacing an existing file of that name, which lives on without it. */
int rec_file_replace(struct rec_file *file, const char *pattern, unsigned mode);

/* Makes the descriptor the file's, reopening it if needed; false: failed. */
bool rec_file_check(struct rec_file *file);

/* Allocates [begin, begin + bytes). 0 or -errno; a SIGXFSZ is swallowed. */
int rec_file_extend(struct rec_file *file, uint64_t begin, uint64_t bytes);

void rec_file_close(struct rec_file *file);
void rec_file_remove(struct rec_file *file); /* closes it, too */

/* A copy of fd with a number that programs neither expect nor run into; -errno. */
int rec_fd_high(int fd);

/* Device and inode of what fd is open for; false: it is closed. */
bool rec_fd_id(int fd, uint64_t id_ret[2]);

/* Whether a line can be written now: not to a full pipe, a stopped terminal or nobody. */
bool rec_fd_has_room(int fd);

/*
 * Writes all of it; false: not all. The program gets no SIGPIPE or SIGXFSZ of it. Async-signal-safe.
 */
bool rec_fd_write(int fd, const char *text, size_t bytes);

/* Whether that is what it is open for now. */
bool rec_fd_is(int fd, const uint64_t id[2]);

#endif
