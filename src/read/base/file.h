/*
 * file: creating files, and reading files of others only if trusted.
 *
 * Files made from a tape are as private as the tape: nobody else may read them (0600), and they are
 * never written through a link that somebody placed. Files found in a shared folder, such as /tmp,
 * are read only if owned by us, by root or by a user that the caller names.
 */
#ifndef MEMTAPE_BASE_FILE_H
#define MEMTAPE_BASE_FILE_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* A new file at path, to be written (and read). -1: see errno; EEXIST: it exists. */
int file_create(const char *path);

/* The same with a unique name: path and six characters, in *name_ret, which the caller frees. */
struct err *file_create_temporary(const char *path, char **name_ret, int *fd_ret);

/* Without a name, in a folder: nothing is left of it when it is closed. -1: see errno. */
int file_create_unnamed(const char *folder);

/*
 * In memory, of a name that only /proc shows. Before Linux 3.17 a file without a name in /dev/shm, then
 * `.NAME-XXXXXX` in /proc, or in the folder for temporary files. -1: see errno.
 */
int file_create_in_memory(const char *name);

/* At path, replacing any file there, or writing into it if it is a device or pipe. -1: errno. */
int file_replace(const char *path);

/*
 * Maps a file's first bytes (> 0), to be read; flags are those of mmap(), such as MAP_SHARED; the caller
 * unmaps them. MAP_FAILED: see errno; EFBIG: more than this processor can address.
 */
void *file_map(int fd, uint64_t bytes, int flags);

struct file_trust {
	uid_t owner;	    /* also trusted */
	uint64_t since_s;   /* files last written before are rejected; 0: any time */
	uint64_t bytes_max; /* larger files are rejected */
};

/* For reading: a regular file, not a link. The error says why it was rejected. */
struct err *file_open_trusted(const char *path, const struct file_trust *trust, int *fd_ret,
			      uint64_t *bytes_ret);

/* Whether somebody holds an exclusive flock() on it. To ask is to hold a shared one for a moment. */
bool file_is_locked(int fd);

/*
 * Takes that lock, which lasts until fd and its copies are closed. False: somebody has it, for longer than
 * such a moment (200 ms are waited), or see errno.
 */
bool file_lock(int fd);

/* Reads at an offset; fewer bytes at the end of the file, or if truncated meanwhile. -1: errno. */
ssize_t file_read_at(int fd, void *buf, size_t bytes, uint64_t offset);

#endif
