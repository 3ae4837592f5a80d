/*
 * tape_import: the record of tapes that were converted from other tools' files (TAPE_EXT_IMPORT).
 */
#ifndef MEMTAPE_TAPE_TAPE_IMPORT_H
#define MEMTAPE_TAPE_TAPE_IMPORT_H

#include "core/core.h"

/*
 * The tape was made from another tool's recording. Data that it lacked is on the tape in the
 * simplest possible form and is named here, so that nobody takes it for measured data. Lines of
 * text follow: the format, the tool that wrote it (may be empty), the file's name, then further
 * notes.
 */
struct tape_import {
	uint32_t missing; /* enum tape_missing */
	uint32_t reserved;
};

enum tape_missing {
	TAPE_MISSING_TIMES = 1 << 0,	 /* times: only the order is known */
	TAPE_MISSING_THREADS = 1 << 1,	 /* threads: everything is on one */
	TAPE_MISSING_ADDRESSES = 1 << 2, /* addresses of blocks: they are placed side by side */
	TAPE_MISSING_FREES = 1 << 3,	 /* frees: everything is live at the end */
	TAPE_MISSING_USABLE = 1 << 4,	 /* usable sizes: the requested ones are used */
	TAPE_MISSING_FREE_STACKS = 1 << 5,
	TAPE_MISSING_FUNCTIONS = 1 << 6, /* the function called: everything is malloc */
	TAPE_MISSING_SIZES = 1 << 7,	 /* of single blocks: their call site's average */
	TAPE_MISSING_COUNTS = 1 << 8,	 /* the number of blocks: one stands for several */
	TAPE_MISSING_LIFETIMES = 1 << 9, /* which of several blocks was freed: the youngest */
	TAPE_MISSING_FREED = 1 << 10,	 /* blocks freed between the moments that were kept */
	TAPE_MISSING_STACKS = 1 << 11,	 /* of allocations */
	TAPE_MISSING_SAMPLED = 1 << 12,	 /* incomplete: numbers are estimates from a sample */
	TAPE_MISSING_PROCESS = 1 << 13,	 /* the process */
	TAPE_MISSING_REQUESTED = 1 << 14 /* requested sizes: the usable ones are used */
};

enum { TAPE_MISSING_COUNT = 15 };

/* The format of a tape that was not converted, but made of the heap of a program (no tool). */
#define TAPE_IMPORT_HEAP "heap"

/* The same of one made of what probes in the kernel have counted. */
#define TAPE_IMPORT_PROBES "probes"

/* The same of one made of events of the kernel (tape_kernel.h). */
#define TAPE_IMPORT_KERNEL "kernel"

static_assert(sizeof(struct tape_import) == 8, "format");

#endif
