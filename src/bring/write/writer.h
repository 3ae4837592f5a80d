/*
 * writer: a packed tape being written. It is a valid tape after every append, and room for the
 * last words is kept: when the disk is full, why the tape ends still fits.
 */
#ifndef MEMTAPE_WRITE_WRITER_H
#define MEMTAPE_WRITE_WRITER_H

#include "base/err.h"
#include "tape/tape.h"

enum {
	/* Kept free for the closing records of a tape: END, LOST, FAULT, buffered samples. */
	WRITER_RESERVE_BYTES = 64 << 10,
	WRITER_STEP_BYTES = 256 << 10 /* space is asked for in steps: a system call less */
};

struct writer {
	int fd;
	char *path;	 /* the tape's name */
	char *temporary; /* its name until writer_publish; NULL: it has its name already */
	uint64_t end;
	uint64_t reserved_end;	   /* the file system has promised space up to here */
	uint64_t last_chunk;	   /* offset; what is given up first when nothing else helps */
	uint64_t last_chunk_bytes; /* 0: none */
	uint64_t chunk_count;
	bool cannot_reserve; /* the file system knows no such promise */
	bool is_locked;	     /* for as long as this process writes it, however it ends */
};

enum writer_urgency {
	WRITER_NORMAL, /* leave the reserve alone */
	WRITER_CLOSING /* use it */
};

/*
 * Creates path, which must not exist; with overwrite it may, and is replaced by writer_publish.
 * errno EEXIST is in the error when it does exist. The reserve is there when it succeeds. Undone by
 * writer_close.
 */
struct err *writer_open(struct writer *writer, const char *path, bool overwrite);

/*
 * The tape says that it is being recorded, and is locked (flock) meanwhile: who finds it without
 * the lock knows that its writer was killed. Before writer_header.
 */
void writer_lock(struct writer *writer);
/* The last of it is written: it says so no more. */
void writer_complete(struct writer *writer, const struct tape_header *header);

/* First page: header with kind and live set as a packed tape has them. Again at any time. */
struct err *writer_header(struct writer *writer, const struct tape_header *header);

/*
 * Appends one encoded chunk. On error nothing is appended; errno ENOSPC, EDQUOT or EFBIG in it
 * says the tape is as large as it may get.
 */
struct err *writer_append(struct writer *writer, const void *chunk, size_t bytes,
			  enum writer_urgency urgency);

/* Takes the last chunk away to make room for a closing one; false: there is none. */
bool writer_drop_last(struct writer *writer);

/* Removes what would be replaced: until writer_publish nothing has the name, or this one has. */
struct err *writer_remove_old(const struct writer *writer);

/* Gives the file its name. Without it writer_close removes the file. */
struct err *writer_publish(struct writer *writer);

/* Ends the file after the last chunk; a file never published is removed. */
void writer_close(struct writer *writer);

#endif
