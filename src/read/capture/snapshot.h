/*
 * snapshot: what a running recording has written so far, as a complete tape beside it.
 *
 * Chunks are copied unchanged, followed by a note that the program still runs. Neither the
 * recording nor its tape is touched, and the disk space that the recording needs is left free.
 */
#ifndef MEMTAPE_CAPTURE_SNAPSHOT_H
#define MEMTAPE_CAPTURE_SNAPSHOT_H

#include "base/err.h"
#include "tape/tape.h"

struct capture_snapshot {
	char *path; /* on the heap */
	uint64_t tape_bytes;
	uint64_t event_count;
};

/* Extent of the copy, and a callback. */
struct capture_snapshot_settings {
	const uint8_t *uuid;  /* of the recording; another tape is not copied */
	uint64_t until_bytes; /* of the packed tape: chunks ending after it are left out */
	uint64_t ticks;	      /* the moment, as times are on the tape */
	/* Called for each part of the copy; an error ends it. */
	struct err *(*check)(void *context);
	void *context;
};

/*
 * From NAME.mtape makes NAME-1.mtape, or the next unused number. On error no file is left:
 * ERR_STATE: the name now belongs to another recording's tape; ERR_LIMIT: too little space, or
 * numbers; else the system's. Memory: a megabyte and what capture_open needs.
 */
struct err *capture_snapshot(const char *path, const struct capture_snapshot_settings *settings,
			     struct capture_snapshot *snapshot_ret);

#endif
