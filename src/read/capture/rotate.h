/*
 * rotate: a tape written anew with less: what was freed before a time is left out, and its sums are
 * kept (ROTATED). Blocks that live stay with their stacks, times and threads, however old they are.
 *
 * The tape may be one that grows: chunks that are appended to it later fit the new one as well,
 * because streams, chunks and stacks keep their numbers. Chunks near the end are copied unread.
 */
#ifndef MEMTAPE_CAPTURE_ROTATE_H
#define MEMTAPE_CAPTURE_ROTATE_H

#include "capture/capture.h"
#include "tape/edit.h"

struct rotate_settings {
	uint64_t kept_from;	/* offset in the file: chunks from here on are copied as they are */
	uint64_t settled_ticks; /* events from then on may still come, out of their order */
	uint64_t bytes_max;	/* of the new tape; then it fails with errno EFBIG */
	int level;		/* of zstd; not 0 */
	/* Read often, atomically: nonzero ends it with ERR_STATE. May be NULL. */
	const uint32_t *stop;
};

struct rotated {
	uint64_t bytes;
	uint64_t chunk_count;
	uint64_t event_count;
	struct tape_rotated sums;
};

/*
 * To an open, empty file. The capture is a tape's beginning together with its spool at the same
 * moment (capture_open_begin): what is in the spool is not written, but known. ERR_FORMAT: the tape
 * is damaged, so nothing may be left out of it.
 * Memory: what lives, a bit for each event, and the stacks.
 */
struct err *rotate_tape(const struct capture *capture, int fd,
			const struct rotate_settings *settings, struct rotated *rotated_ret);

#endif
