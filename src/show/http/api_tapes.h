/*
 * api_tapes: a tape as an object in the answers of info, events and tape.
 */
#ifndef MEMTAPE_HTTP_API_TAPES_H
#define MEMTAPE_HTTP_API_TAPES_H

#include "answer/shape.h"
#include "http/tapes.h"

struct server;
struct reading;
struct progress;

struct api_tape {
	const char *id, *file, *state, *error;
	uint64_t gen, readings;
	const struct progress *progress; /* NULL: not being read */
	uint64_t refresh_ms, tape_bytes;
	const struct reading *reading; /* NULL: not read yet */
};

extern const struct shape api_shape_tape;

/* Its state at that reading. Borrows from the reading. */
struct err *api_tape_fill(struct tape *tape, struct loaded *loaded, struct arena *arena,
			  struct api_tape *value);

/* The answer of /api/v1/info. */
struct api_info {
	const char *version;
	bool can_list, can_attach, can_leak_scan, can_mark, can_pause, can_snapshot, can_stop;
	const char *recorded; /* id; NULL: nothing is recorded */
	struct shape_rows tapes;
	struct tape_look *looks; /* borrowed from by the members */
	size_t look_count;
};

extern const struct shape api_shape_info;

/* End it with api_info_end(info) after writing, also after an error. */
struct err *api_info_find(struct server *server, struct arena *arena, struct api_info *info);
void api_info_end(void *info);

#endif
