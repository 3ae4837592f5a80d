/*
 * writer: writes a packed tape. It is a valid tape after every append, and space for the final
 * records is reserved: on a full disk, the reason still fits.
 */
#ifndef MEMTAPE_WRITE_WRITER_H
#define MEMTAPE_WRITE_WRITER_H

#include "base/err.h"
#include "tape/tape.h"

enum {
	/* Reserved for the closing records of a tape: END, LOST, FAULT, buffered samples. */
	WRITER_RESERVE_BYTES = 64 << 10,
	WRITER_STEP_BYTES = 256 << 10 /* space is reserved in steps, to save system calls */
};

struct writer {
	int fd;
	char *path;	 /* the tape's name */
	char *temporary; /* its name until writer_publish; NULL: it already has its name */
	uint64_t end;
	uint64_t bytes_max;	   /* the writer's own limit; 0: none */
	uint64_t reserved_end;	   /* space is reserved in the file system up to here */
	uint64_t last_chunk;	   /* offset; dropped first when nothing else helps */
	uint64_t last_chunk_bytes; /* 0: none */
	uint64_t chunk_count;
	bool cannot_reserve; /* not supported by the file system */
	bool is_locked;	     /* while this process writes it, however it ends */
};

enum writer_urgency {
	WRITER_NORMAL, /* leave the reserve alone */
	WRITER_CLOSING /* use it */
};

/*
 * Creates path, which must not exist; with overwrite it may, and is replaced by writer_publish. If
 * it exists, the error has errno EEXIST. On success the reserve is allocated. Undone by
 * writer_close.
 */
struct err *writer_open(struct writer *writer, const char *path, bool overwrite);

/*
 * Marks the tape as being recorded and locks it (flock) meanwhile: a marked tape without a lock
 * means that its writer was killed. Call before writer_header.
 */
void writer_lock(struct writer *writer);
/* The last part has been written: removes the mark. */
void writer_complete(struct writer *writer, const struct tape_header *header);

/* Writes the first page: header with kind and live set as for a packed tape. May be repeated. */
struct err *writer_header(struct writer *writer, const struct tape_header *header);

/*
 * Appends one encoded chunk. On error nothing is appended; errno ENOSPC, EDQUOT or EFBIG in it
 * means that the tape cannot grow any more.
 */
struct err *writer_append(struct writer *writer, const void *chunk, size_t bytes,
			  enum writer_urgency urgency);

/* Removes the last chunk to make room for a closing one; false: there is none. */
bool writer_drop_last(struct writer *writer);

/* Removes the file to be replaced: until writer_publish the name is unused, or this file has it. */
struct err *writer_remove_old(const struct writer *writer);

/*
 * A file made of what was written so far takes the tape's place: fd, which has `end` bytes in
 * chunk_count chunks, becomes the writer's, and `temporary` (NULL: it has no name) becomes the
 * tape's name. Whoever opens the name finds one file or the other, whole. On error nothing has
 * changed, and fd is the caller's.
 */
struct err *writer_replace(struct writer *writer, const struct tape_header *header, int fd,
			   const char *temporary, uint64_t end, uint64_t chunk_count);

/* Gives the file its final name. Without it writer_close removes the file. */
struct err *writer_publish(struct writer *writer);

/* Ends the file after the last chunk; an unpublished file is removed. */
void writer_close(struct writer *writer);

#endif
