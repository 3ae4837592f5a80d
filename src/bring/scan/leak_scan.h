/*
 * leak_scan: which blocks of a stopped program are lost, and who holds the others. Brings together
 * what lives, its threads and its memory; graph.h does the rest.
 */
#ifndef MEMTAPE_SCAN_LEAK_SCAN_H
#define MEMTAPE_SCAN_LEAK_SCAN_H

#include "capture/capture.h"
#include "capture/scan_image.h"
#include "model/living.h"
#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/stop.h"
#include "tape/stack_board.h"
#include "tape/tape.h"

struct leak_scan {
	/* Of leak_scan_run only: */
	const struct capture *capture; /* everything that was recorded until now */
	uint64_t until_ticks;	       /* now, in ticks of the tape (shifted) */
	pid_t memory_pid;	       /* whose memory is read: the program's, or a copy's */

	const struct stop *stop; /* its threads; they may go on if the memory is a copy */
	const struct stack_place *places;
	size_t place_count;
	uint64_t spool_inode;
	pid_t exit_tid; /* roots.h */
	uint64_t exit_sp;
	uint32_t heuristics; /* set of enum tape_scan_heuristic */
};

/*
 * The record of a part of a result's bytes, from an offset on: payload and its size. The next part
 * begins where this one ends.
 */
struct leak_scan_part {
	struct tape_scan_part header;
	uint8_t bytes[TAPE_RECORD_BYTES_MAX - TAPE_EXTENDED_BYTES - sizeof(struct tape_scan_part)];
	size_t count; /* of these */
};

void leak_scan_part(struct leak_scan_part *part, uint32_t id, const struct vec_u8 *bytes,
		    size_t offset);
/* Of header and bytes, which follow each other. */
static inline size_t leak_scan_part_bytes(const struct leak_scan_part *part)
{
	return sizeof(part->header) + part->count;
}

/*
 * ERR_UNSUPPORTED: the recorded program is another processor's, or its words have 32 bits. To be
 * asked before anything is done to it: neither its memory nor its code is as ours.
 */
struct err *leak_scan_check_machine(const struct tape_header *header);

/* What a scan looks at, wherever it comes from. */
struct leak_scan_view {
	const struct living *living;
	const struct maps *maps;
	struct memory memory;
};

/* The caller deinits image on success. */
struct err *leak_scan_view(const struct leak_scan *scan, const struct leak_scan_view *view,
			   struct scan_image *image);

/* The same for a process that is being recorded. */
struct err *leak_scan_run(const struct leak_scan *scan, struct scan_image *image);

#endif
