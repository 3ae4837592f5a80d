/*
 * space: the mappings of a process and how much of each is resident, from /proc/PID, as text for
 * the tape: changes since the previous snapshot, and periodically a full one.
 *
 * Reading walks all page tables in the kernel and meanwhile holds the process's mmap lock for
 * reading; the caller decides when and how often.
 */
#ifndef MEMTAPE_COLLECT_SPACE_H
#define MEMTAPE_COLLECT_SPACE_H

#include <sys/types.h>

#include "base/str.h"
#include "base/vec.h"
#include "tape/tape.h"

/* A mapping as reported by the kernel. Sizes in KiB, as there. */
struct space_extent {
	uint64_t begin;
	uint64_t end;
	uint64_t rss_kib;
	uint64_t anonymous_kib;
	uint64_t swap_kib;
	uint64_t pss_kib;
	uint64_t huge_kib; /* of it in huge pages (THP); SPACE_FULL */
	char perms[5];
	char marks[5]; /* see tape_space */
	uint32_t name; /* offset of its strings in the snapshot's texts; each is NUL-terminated */
	uint32_t runs; /* 0: none */
};

VEC_DEFINE(space_extents, struct space_extent);

struct space_snapshot {
	struct space_extents extents; /* ascending, not overlapping */
	struct str texts;	      /* begins with a NUL */
};

struct space {
	struct space_snapshot now;
	struct space_snapshot before; /* the snapshot written last */
	uint32_t written_count;	      /* snapshots */
	bool cannot_scan;	      /* the kernel is too old for SPACE_QUICK */
};

enum space_depth {
	SPACE_FULL, /* smaps: everything; reads the kernel's struct page of every page */
	SPACE_QUICK /* maps and page tables: a tenth of the cost; no PSS, marks unchanged */
};

/* An all-zero space is valid and has no snapshot. */
void space_deinit(struct space *space);

/*
 * Takes a snapshot of the process. False: there is none, because it cannot be read (the process is
 * gone, belongs to another user, or the kernel does not support it).
 */
bool space_read(struct space *space, pid_t pid, enum space_depth depth);

/* Sum over all mappings of the snapshot, in bytes. */
uint64_t space_rss_bytes(const struct space *space);
uint64_t space_pss_bytes(const struct space *space); /* SPACE_FULL */
uint64_t space_swap_bytes(const struct space *space);

/*
 * Writes the changes since the last call as parts of a snapshot: text and flags of each. The
 * snapshot is kept for comparison, so call this once after each space_read.
 */
void space_write(struct space *space,
		 void (*part)(void *context, uint32_t part, uint32_t flags, const char *text),
		 void *context);

#endif
