/*
 * tape_attach: how a recorder is started in a process that runs already. Who attaches loads the
 * library into it (collect/attach.h), writes one of these into the process's memory, and makes a
 * thread call memtape_attach() and memtape_lead(), or memtape_detach(), with its address. What it
 * found there is on the tape, in an ATTACHED record.
 */
#ifndef MEMTAPE_TAPE_ATTACH_H
#define MEMTAPE_TAPE_ATTACH_H

#include "core/core.h"

enum { TAPE_ATTACH_VERSION = 3, TAPE_ATTACH_SPOOL_BYTES = 4096, TAPE_ATTACH_OPTIONS_BYTES = 2048 };

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
	uint32_t pid;	  /* as who attaches knows it, for the tape; 0: it is asked */
	int32_t spool_fd; /* the process's, open until the call returns; -1: by its path */
	uint64_t places;  /* through which objects call functions that lead to the recorder now */
	uint64_t other_places; /* that lead elsewhere, to another allocator: left alone */
	uint64_t functions;    /* where the recorder has its tape_attach_function */
	uint64_t function_count;
	char spool[TAPE_ATTACH_SPOOL_BYTES];	 /* path, as that process sees it */
	char options[TAPE_ATTACH_OPTIONS_BYTES]; /* as in MEMTAPE_OPTIONS */
};

/*
 * A function of an allocator whose first instructions may lead to the recorder (--hook=inline). Who
 * attaches fills in all but the first two, makes a thread call memtape_inline(), and then writes
 * `after`; who lets go writes `before`, wherever `after` is. It stays filled in: `way` is used for good.
 */
enum { TAPE_ATTACH_JUMP_BYTES = 5 };

struct tape_attach_function {
	uint64_t real;	/* where it begins; 0: the process has none */
	uint64_t hook;	/* the recorder's function */
	uint64_t way;	/* does what the first instructions do, and goes on behind them; 0: none */
	uint64_t place; /* of the jump */
	uint8_t before[TAPE_ATTACH_JUMP_BYTES], after[TAPE_ATTACH_JUMP_BYTES];
	uint8_t reserved[6];
};

static_assert(sizeof(struct tape_attach_function) == 48, "both sides have the same");

enum tape_attached_flag {
	TAPE_ATTACHED_BEFORE = 1 << 0,	/* the blocks from before are on the tape, without stacks */
	TAPE_ATTACHED_COMPLETE = 1 << 1 /* and they are all that there were, and no others */
};

ARCH_LITTLE_BEGIN
/* The record TAPE_EXT_ATTACHED; its text: why blocks from before are missing, "" if none are. */
struct tape_attached {
	uint64_t ticks;	       /* of the moment, shifted */
	uint64_t pause_ns;     /* how long the process stood still */
	uint64_t places;       /* that were led to the recorder */
	uint64_t other_places; /* that lead to other allocators */
	uint64_t before_count; /* blocks that were live */
	uint64_t before_bytes; /* usable */
	uint32_t flags;	       /* set of enum tape_attached_flag */
	uint32_t functions;    /* whose first instructions lead to the recorder */
};
ARCH_LITTLE_END

static_assert(sizeof(struct tape_attached) == 56, "format");

#define TAPE_ATTACH_LIBRARY	 "libmemtape-attach.so"
#define TAPE_ATTACH_LIBRARY_MUSL "libmemtape-attach-musl.so"

#endif
