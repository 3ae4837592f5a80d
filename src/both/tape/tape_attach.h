/*
 * tape_attach: how a recorder is started in a process that runs already. Who attaches loads the
 * library into it (scan/remote.h), writes one of these into the process's memory, and makes a
 * thread call memtape_attach() or memtape_detach() with its address.
 */
#ifndef MEMTAPE_TAPE_ATTACH_H
#define MEMTAPE_TAPE_ATTACH_H

#include "core/core.h"

enum { TAPE_ATTACH_VERSION = 1, TAPE_ATTACH_SPOOL_BYTES = 4096, TAPE_ATTACH_OPTIONS_BYTES = 2048 };

enum tape_attach_result {
	TAPE_ATTACH_NONE = 0, /* the function has not been called */
	TAPE_ATTACH_DONE,
	TAPE_ATTACH_OTHER_VERSION, /* the library there is of another version of memtape */
	TAPE_ATTACH_ALREADY,	   /* it records already */
	TAPE_ATTACH_REFUSED,	   /* by a sanitizer, or the spool cannot be opened there */
	TAPE_ATTACH_NOT_RECORDING  /* nothing to detach from */
};

struct tape_attach {
	uint32_t version; /* TAPE_ATTACH_VERSION */
	uint32_t result;  /* enum tape_attach_result */
	uint64_t places;  /* through which objects call functions that lead to the recorder now */
	uint64_t other_places; /* that lead elsewhere, to another allocator: left alone */
	char spool[TAPE_ATTACH_SPOOL_BYTES];	 /* path, as that process sees it */
	char options[TAPE_ATTACH_OPTIONS_BYTES]; /* as in MEMTAPE_OPTIONS */
};

#define TAPE_ATTACH_LIBRARY "libmemtape-attach.so"

#endif
