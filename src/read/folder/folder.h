/*
 * folder: which tapes there are in a folder: complete ones, some that are being written, recordings of
 * process trees (read/session), and such as cannot be read. Of each only the first page is read, so that
 * ten thousand take a fraction of a second; who a tape is of, and what is on it, is folder/gist.h.
 *
 * A value: nothing of it changes once it was read. Whatever is in the folder and is no tape is not
 * there. Not read: folders in it that are no sessions.
 */
#ifndef MEMTAPE_FOLDER_FOLDER_H
#define MEMTAPE_FOLDER_FOLDER_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "tape/tape.h"

enum folder_kind {
	FOLDER_TAPE,
	FOLDER_SESSION,	  /* a folder of tapes */
	FOLDER_UNREADABLE /* begins like a tape, but its first page makes no sense */
};

enum { FOLDER_ID_BYTES = 2 * TAPE_UUID_BYTES + 1 };

struct folder_tape {
	enum folder_kind kind;
	const char *path;	  /* with the folder's */
	const char *file;	  /* its last part */
	char id[FOLDER_ID_BYTES]; /* the uuid in hexadecimal; a session's: of its path and begin */
	const char *trouble;	  /* UNREADABLE: why */
	bool is_live;		  /* being written, or received */
	bool is_link;		  /* the name is that of a symbolic link */
	dev_t device;
	ino_t inode;
	uint8_t uuid[TAPE_UUID_BYTES]; /* TAPE; likewise: */
	uint32_t pid;
	bool is_packed;
	uint64_t begin_ns;   /* since 1970; 0: unknown */
	uint64_t written_ns; /* last, since 1970; a session: any of its tapes */
	uint64_t file_bytes; /* 0: a session */
	uint64_t bytes;	     /* on the disk, with its index and spool; a session: all its files */
	/* Of a session: */
	uint64_t tape_count;
	const char *const *command; /* command_count words */
	size_t command_count;
	const char *host; /* NULL: unknown */
};

struct folder {
	struct arena arena;
	const char *path;
	struct folder_tape *tapes; /* those last written first */
	size_t count;
};

/* Of a session's folder its tapes one by one. */
struct err *folder_read(const char *path, struct folder *folder);
void folder_close(struct folder *folder);
CLEAN_DEFINE_DEINIT(folder_close, struct folder);

/* The names of what belongs to a tape's file, and goes with it. */
extern const char *const folder_side_suffixes[]; /* with NULL at the end */

#endif
