/*
 * tape_import: the record of tapes that were converted from other tools' files (TAPE_EXT_IMPORT),
 * or made of the tapes of a session, the recording of a process tree (docs/tape-format.md): the
 * names in its folder, and the records of a tape that has all its processes.
 */
#ifndef MEMTAPE_TAPE_TAPE_IMPORT_H
#define MEMTAPE_TAPE_TAPE_IMPORT_H

#include "core/core.h"

ARCH_LITTLE_BEGIN

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

/* The same of one made of the tapes of a session. */
#define TAPE_IMPORT_SESSION "session"

static_assert(sizeof(struct tape_import) == 8, "format");

/* --- sessions --------------------------------------------------------------------------------- */

#define TAPE_SESSION_MANIFEST "session.jsonl"
#define TAPE_SESSION_KEY      "memtape_session" /* its first member, with the version */

/* All tapes of the session as one, made when it is first asked for. */
#define TAPE_SESSION_MERGED "session.merged"

enum { TAPE_SESSION_VERSION = 1 };

/* How a member began. */
enum tape_member_start {
	TAPE_MEMBER_STARTED = 0, /* by vfork, clone or posix_spawn, or by an unrecorded process */
	TAPE_MEMBER_FORKED = 1,
	TAPE_MEMBER_EXEC = 2 /* its parent is the same process, with another program */
};

enum {
	TAPE_MEMBERS_MAX = 1 << 16,
	TAPE_MEMBER_NOBODY = -1,
	/* Addresses of programs are lower; the bits above say whose address space it is. */
	TAPE_MEMBER_ADDRESS_BITS = 47
};

/*
 * A process of the session whose events are on this tape. node: the outermost frame of its stacks.
 * Then lines: the tape's file name, its program's name, argv as far as there is room. A newline in
 * a text is \\n there, and a backslash is two.
 */
struct tape_member {
	uint32_t number; /* from 0, in order of their beginning */
	int32_t parent;	 /* the number of another; TAPE_MEMBER_NOBODY */
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t start;	   /* enum tape_member_start */
	uint32_t end_kind; /* enum tape_end_kind */
	int32_t end_status;
	uint32_t node;
	uint64_t begin_ns; /* since the session's beginning */
	uint64_t end_ns;
};

static_assert(sizeof(struct tape_member) == 48, "format");

/* What the tape of that process alone says, and what it had of its parent. */
struct tape_member_sums {
	uint32_t number;
	uint32_t reserved;
	uint64_t allocated_count;
	uint64_t allocated_bytes;
	uint64_t peak_bytes;
	uint64_t leaked_count;
	uint64_t leaked_bytes;
	uint64_t inherited_bytes; /* blocks that lived when it was forked; UINT64_MAX: unknown */
};

static_assert(sizeof(struct tape_member_sums) == 56, "format");

/* What memory a process had at the record's time. */
struct tape_member_usage {
	uint32_t number; /* of the member */
	uint32_t reserved;
	uint64_t rss_bytes;
	uint64_t pss_bytes; /* what others map as well is divided among them */
	uint64_t private_bytes;
};

static_assert(sizeof(struct tape_member_usage) == 32, "format");

ARCH_LITTLE_END

#endif
