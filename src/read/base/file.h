/*
 * file: files that are made, and files of others that are believed.
 *
 * What is made of a tape is its owner's business as the tape is: nobody else may read it (0600),
 * and it never goes through a link that somebody put there. What is only looked for in a shared
 * folder, such as /tmp, is read when it belongs to us, to root or to whom the caller names.
 */
#ifndef MEMTAPE_BASE_FILE_H
#define MEMTAPE_BASE_FILE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* A new file at path, to be written (and read). -1: errno says why, EEXIST: there is one. */
int file_create(const char *path);

/* The same, with a name of its own: path and six characters, in *name_ret. The caller's to free. */
struct err *file_create_temporary(const char *path, char **name_ret, int *fd_ret);

/* At path, in place of what is there, or into it if it is a device or a pipe. -1: errno. */
int file_replace(const char *path);

struct file_trust {
	uid_t owner;	    /* also believed */
	uint64_t since_s;   /* what was last written before is another's; 0: whenever */
	uint64_t bytes_max; /* what has more is refused */
};

/* To be read: a plain file and no link. The error is for whoever wants to know why not. */
struct err *file_open_trusted(const char *path, const struct file_trust *trust, int *fd_ret,
			      uint64_t *bytes_ret);

/* Bytes at an offset; fewer at the end of the file, or where it was cut meanwhile. -1: errno. */
ssize_t file_read_at(int fd, void *buf, size_t bytes, uint64_t offset);

#endif
