/*
 * tape_exec: a process that becomes another program: what recorder and collector tell each other
 * then, and the record TAPE_EXT_BEFORE (tape.h), which the collector writes.
 */
#ifndef MEMTAPE_TAPE_TAPE_EXEC_H
#define MEMTAPE_TAPE_TAPE_EXEC_H

#include "core/core.h"

/*
 * The process has become another program, whose recorder asks for a spool as it was at first, and
 * waits for it for a moment.
 */
enum tape_exec_state {
	TAPE_EXEC_NONE = 0,
	TAPE_EXEC_ASKED = 1,   /* by the recorder */
	TAPE_EXEC_GRANTED = 2, /* by the collector: all that was there is on a tape */
	TAPE_EXEC_REFUSED = 3, /* the next program is not to be recorded */
	TAPE_EXEC_FILLED = 4,  /* by the recorder: the header, nothing else until there is a tape */
	TAPE_EXEC_BEGUN = 5    /* by the recorder, which goes: only then another one may ask */
};

/* Why the next program is not recorded. */
enum tape_exec_left {
	TAPE_EXEC_FOLLOWED = 0,
	TAPE_EXEC_STATIC = 1,	     /* it has no dynamic linker */
	TAPE_EXEC_PRIVILEGES = 2,    /* setuid, setgid, file capabilities */
	TAPE_EXEC_OTHER_MACHINE = 3, /* 32 bits, or another processor's */
	TAPE_EXEC_NO_LIBRARY = 4,    /* libmemtape.so cannot be reached from there */
	TAPE_EXEC_FAILS = 5,	     /* there is no such program, as it seems */
	TAPE_EXEC_OTHER_USER = 6     /* who may not open the spool */
};

/*
 * A program that the process was before it became the tape's by exec; its name follows. The first
 * of them comes first.
 */
struct tape_before {
	uint64_t allocation_count;
	uint64_t peak_bytes; /* alive at once at most */
};

static_assert(sizeof(struct tape_before) == 16, "format");

#endif
