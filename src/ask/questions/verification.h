/*
 * verification: whether a tape is whole: every chunk is decoded and compared with its own header.
 * The answer of `memtape verify`.
 */
#ifndef MEMTAPE_QUESTIONS_VERIFICATION_H
#define MEMTAPE_QUESTIONS_VERIFICATION_H

#include "answer/shape.h"
#include "base/arena.h"
#include "capture/capture.h"

struct damage {
	uint64_t offset;
	const char *text;
};

struct verification {
	bool sound;
	uint64_t file_bytes, chunks, open_chunks, missing_chunks, events;
	const char *killed;
	struct shape_rows damage; /* of struct damage */
};

extern const struct shape shape_verification;

/* Lives in the arena, and borrows from the capture. Damage is not an error. */
struct err *verification_find(const struct capture *capture, struct arena *arena,
			      struct verification *verification_ret);

#endif
