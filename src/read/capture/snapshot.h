/*
 * snapshot: what a recording that goes on has written so far, as a complete tape beside it.
 *
 * Chunks are copied as they are, and closed by the word that the program still runs. Neither the
 * recording nor its tape is touched; the space that the recording needs to go on is left to it.
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

/* How far, and who wants it. */
struct capture_snapshot_settings {
	const uint8_t *uuid;  /* of the recording; another tape is not copied */
	uint64_t until_bytes; /* of the packed tape: chunks that end behind it are left out */
	uint64_t ticks;	      /* the moment, as times are on the tape */
	/* Asked for each part of the copy; an error ends it. */
	struct err *(*check)(void *context);
	void *context;
};

/*
 * Of NAME.mtape makes NAME-1.mtape, or the next number that no file has. On error no file is left:
 * ERR_STATE: another recording's tape has this name now; ERR_LIMIT: too little space, or numbers;
 * else the system's. Memory: a megabyte and what capture_open needs.
 */
struct err *capture_snapshot(const char *path, const struct capture_snapshot_settings *settings,
			     struct capture_snapshot *snapshot_ret);

#endif
