/*
 * repack: packs tapes written by a recorder alone, in place.
 */
#ifndef MEMTAPE_COLLECT_REPACK_H
#define MEMTAPE_COLLECT_REPACK_H

#include "base/arena.h"
#include "capture/pack.h"

/*
 * Packs the tape `in` and gives the result the name `out`, which may be the same or exist: it is
 * replaced atomically on success, and untouched otherwise.
 */
struct err *repack_replace(const char *in, const char *out, int level,
			   struct capture_repacked *repacked_ret);

enum repack_state {
	REPACK_NONE,	/* not a raw tape */
	REPACK_WRITTEN, /* its process runs; there may be no header yet */
	REPACK_RAW	/* complete */
};

/* header_ret: of a raw tape; its pid is 0 as long as there is none. */
enum repack_state repack_state(const char *path, struct tape_header *header_ret);

struct repack_children {
	const char **paths; /* of all of them */
	uint32_t count;
	uint32_t packed_count;
	uint32_t left_count; /* still raw: their process is running, or packing failed */
};

/*
 * Packs the raw tapes in a directory that descend from the process of this tape: recorded in its
 * children or their children, or after an exec, according to the session, uuids, or pids and times
 * in their headers. Tapes of running processes are left alone. Paths are in the arena.
 */
struct err *repack_descendants(const char *directory, const struct tape_header *ancestor, int level,
			       struct arena *arena, struct repack_children *children_ret);

#endif
