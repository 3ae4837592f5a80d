/*
 * space: the mappings of a process and how much of each is resident, from /proc/PID, as text for
 * the tape: the changes since the snapshot before, now and then all of it.
 *
 * Reading walks all page tables in the kernel and holds the process's mapping lock for reading
 * meanwhile; when and how often is the caller's affair.
 */
#ifndef MEMTAPE_COLLECT_SPACE_H
#define MEMTAPE_COLLECT_SPACE_H

#include <sys/types.h>

#include "base/str.h"
#include "base/vec.h"
#include "tape/tape.h"

/* A mapping as the kernel shows it. Sizes in KiB, as the kernel says them. */
struct space_extent {
	uint64_t begin;
	uint64_t end;
	uint64_t rss_kib;
	uint64_t anonymous_kib;
	uint64_t swap_kib;
	uint64_t pss_kib;
	char perms[5];
	char marks[5]; /* see tape_space */
	uint32_t name; /* where its texts begin in the snapshot's; each ends with a NUL */
	uint32_t runs; /* 0: none */
};

VEC_DEFINE(space_extents, struct space_extent);

struct space_snapshot {
	struct space_extents extents; /* ascending, apart */
	struct str texts;	      /* begins with a NUL */
};

struct space {
	struct space_snapshot now;
	struct space_snapshot before; /* what was written last */
	uint32_t written_count;	      /* snapshots */
	bool cannot_scan;	      /* the kernel is too old for SPACE_QUICK */
};

enum space_depth {
	SPACE_FULL, /* smaps: everything, and touches every page's own record in the kernel */
	SPACE_QUICK /* maps and page tables: a tenth of the cost; no PSS, marks as they were */
};

/* All zeros is a space that has seen nothing. */
void space_deinit(struct space *space);

/*
 * Takes a snapshot of the process. False: it cannot be read (the process is gone, is somebody
 * else's, or the kernel does not do so), and there is none.
 */
bool space_read(struct space *space, pid_t pid, enum space_depth depth);

/* Bytes over all mappings of the snapshot. */
uint64_t space_rss_bytes(const struct space *space);
uint64_t space_pss_bytes(const struct space *space); /* SPACE_FULL */
uint64_t space_swap_bytes(const struct space *space);

/*
 * Says what changed since the last call as parts of a snapshot: text and flags of each. The
 * snapshot's memory is kept for comparing, so this is called once after each space_read.
 */
void space_write(struct space *space,
		 void (*part)(void *context, uint32_t part, uint32_t flags, const char *text),
		 void *context);

#endif
