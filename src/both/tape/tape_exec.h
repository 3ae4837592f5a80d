/*
 * tape_exec: a process that execs another program: what recorder and collector exchange then, and
 * the record TAPE_EXT_BEFORE (tape.h), which the collector writes.
 */
#ifndef MEMTAPE_TAPE_TAPE_EXEC_H
#define MEMTAPE_TAPE_TAPE_EXEC_H

#include "core/core.h"

ARCH_LITTLE_BEGIN

/*
 * The process has become another program, whose recorder requests a fresh spool and waits for it
 * briefly.
 */
enum tape_exec_state {
	TAPE_EXEC_NONE = 0,
	TAPE_EXEC_ASKED = 1,   /* by the recorder */
	TAPE_EXEC_GRANTED = 2, /* by the collector: everything so far is on a tape */
	TAPE_EXEC_REFUSED = 3, /* the next program must not be recorded */
	TAPE_EXEC_FILLED = 4,  /* by the recorder: the header only, until there is a tape */
	TAPE_EXEC_BEGUN = 5    /* by the recorder, on leaving: only then may another one ask */
};

/* Why the next program is not recorded. */
enum tape_exec_left {
	TAPE_EXEC_FOLLOWED = 0,
	TAPE_EXEC_STATIC = 1,	     /* it has no dynamic linker */
	TAPE_EXEC_PRIVILEGES = 2,    /* setuid, setgid, file capabilities */
	TAPE_EXEC_OTHER_MACHINE = 3, /* 32-bit, or for another processor */
	TAPE_EXEC_NO_LIBRARY = 4,    /* libmemtape.so cannot be reached from there */
	TAPE_EXEC_FAILS = 5,	     /* apparently no such program */
	TAPE_EXEC_OTHER_USER = 6,    /* the user may not open the spool */
	TAPE_EXEC_ENVIRONMENT = 7    /* its environment cannot name the recorder; of children */
};

/*
 * A program that the process ran before it exec'd the tape's program; its name follows. In
 * chronological order.
 */
struct tape_before {
	uint64_t allocation_count;
	uint64_t peak_bytes; /* peak number live at once */
};

static_assert(sizeof(struct tape_before) == 16, "format");

ARCH_LITTLE_END

#endif
