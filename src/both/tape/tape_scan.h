/*
 * tape_scan: the records of a leak scan, TAPE_EXT_SCAN_BEGIN and TAPE_EXT_SCAN (tape.h), which the
 * collector writes; prose in docs/tape-format.md.
 *
 * A scan looks for pointers in the memory of the stopped program, from its *roots* (globals,
 * stacks, thread-local memory, registers, mappings that are not heap) to the blocks that are live.
 * SCAN_BEGIN has the time at which the program stood still: the blocks live at that time are those
 * that were scanned. The result follows later, in parts: its bytes are read by
 * capture/scan_image.h.
 */
#ifndef MEMTAPE_TAPE_TAPE_SCAN_H
#define MEMTAPE_TAPE_TAPE_SCAN_H

#include "core/core.h"

ARCH_LITTLE_BEGIN

struct tape_scan_begin {
	uint32_t id;	 /* counts the scans of a tape from 1 */
	uint32_t reason; /* enum tape_scan_reason */
};

enum tape_scan_reason {
	TAPE_SCAN_EXIT = 1,   /* the program ends by itself, after its exit handlers */
	TAPE_SCAN_KILLED = 2, /* a signal is about to end it */
	TAPE_SCAN_REQUEST = 3,
	TAPE_SCAN_PERIOD = 4,
	TAPE_SCAN_CORE = 5,  /* afterwards, of a core dump */
	TAPE_SCAN_NOBODY = 6 /* as EXIT; written by the recorder when nobody was there to make it */
};

/* Parts of one result follow each other in order. */
struct tape_scan_part {
	uint32_t id;
	uint32_t reserved;
	uint64_t total_bytes; /* of all parts together */
	uint64_t offset;      /* of this part */
};

/* The classes of Valgrind's Memcheck; its manual, section 4.2.8. */
enum tape_scan_class {
	TAPE_SCAN_UNKNOWN = 0,	 /* the scan did not know of the block */
	TAPE_SCAN_REACHABLE = 1, /* by a chain of pointers to the beginnings of blocks */
	TAPE_SCAN_POSSIBLE = 2,	 /* only by chains with a pointer into the middle of a block */
	TAPE_SCAN_INDIRECT = 3,	 /* only from lost blocks */
	TAPE_SCAN_DEFINITE = 4,	 /* not at all */
	TAPE_SCAN_CLASS_COUNT = 5
};

/* Pointers into the middle of a block that count as if to its beginning; bits of a set. */
enum tape_scan_heuristic {
	TAPE_SCAN_STDSTRING =
		1 << 0,		     /* to the characters of a std::string of libstdc++'s old ABI */
	TAPE_SCAN_LENGTH64 = 1 << 1, /* behind 8 bytes that hold the length of the rest */
	TAPE_SCAN_NEWARRAY = 1 << 2, /* behind the number of elements of a new[] */
	TAPE_SCAN_INHERITANCE = 1 << 3, /* to a second base class: there and first is a vtable */
	TAPE_SCAN_HEURISTICS = 15
};

/* What holds blocks and is no block. */
enum tape_scan_holder {
	TAPE_SCAN_GLOBAL = 1, /* a variable of a loaded object, or all of a section without names */
	TAPE_SCAN_STACK = 2,  /* of a thread */
	TAPE_SCAN_TLS = 3,    /* a thread's thread-local memory and its control block */
	TAPE_SCAN_REGISTERS = 4, /* of a thread */
	TAPE_SCAN_MAPPING = 5	 /* memory that the program mapped itself */
};

static_assert(sizeof(struct tape_scan_begin) == 8, "format");
static_assert(sizeof(struct tape_scan_part) == 24, "format");

ARCH_LITTLE_END

#endif
