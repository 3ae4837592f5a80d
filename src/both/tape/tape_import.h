/*
 * tape_import: the record of tapes that were made from other tools' files (TAPE_EXT_IMPORT).
 */
#ifndef MEMTAPE_TAPE_TAPE_IMPORT_H
#define MEMTAPE_TAPE_TAPE_IMPORT_H

#include "core/core.h"

/*
 * The tape was made from another tool's recording. What that had not is on the tape in the plainest
 * form there is, and is named here, so that nobody takes it for what was seen. Lines of text
 * follow: the format, the tool that wrote it (may be empty), the file's name, then what else is to
 * be known.
 */
struct tape_import {
	uint32_t missing; /* enum tape_missing */
	uint32_t reserved;
};

enum tape_missing {
	TAPE_MISSING_TIMES = 1 << 0,	 /* only the order is known */
	TAPE_MISSING_THREADS = 1 << 1,	 /* all stands on one */
	TAPE_MISSING_ADDRESSES = 1 << 2, /* of blocks: they stand side by side */
	TAPE_MISSING_FREES = 1 << 3,	 /* nothing says what was freed: all is alive at the end */
	TAPE_MISSING_USABLE = 1 << 4,	 /* usable sizes: those asked for */
	TAPE_MISSING_FREE_STACKS = 1 << 5,
	TAPE_MISSING_FUNCTIONS = 1 << 6, /* which function was called: all are malloc */
	TAPE_MISSING_SIZES = 1 << 7,	 /* of single blocks: the average of their call site */
	TAPE_MISSING_COUNTS = 1 << 8,	 /* how many blocks: one stands for several */
	TAPE_MISSING_LIFETIMES = 1 << 9, /* which of several blocks was freed: the youngest */
	TAPE_MISSING_FREED = 1 << 10,	 /* what was freed between the moments that were kept */
	TAPE_MISSING_STACKS = 1 << 11,	 /* of allocations */
	TAPE_MISSING_SAMPLED = 1 << 12,	 /* not all: numbers are estimates of a sample */
	TAPE_MISSING_PROCESS = 1 << 13	 /* which process it was */
};

enum { TAPE_MISSING_COUNT = 14 };

static_assert(sizeof(struct tape_import) == 8, "format");

#endif
