/*
 * kinds: what of a program the kernel can be asked to report, and by which events of its own.
 */
#ifndef MEMTAPE_TRACE_KINDS_H
#define MEMTAPE_TRACE_KINDS_H

#include "base/err.h"
#include "tape/tape_kernel.h"

/* An event of the kernel: a counter of its software, or a tracepoint. */
enum kinds_event {
	KINDS_FAULT,
	KINDS_MAJOR_FAULT,
	KINDS_BRK,
	KINDS_BRK_RESULT,
	KINDS_MMAP,
	KINDS_MMAP_RESULT,
	KINDS_MUNMAP,
	KINDS_MUNMAP_RESULT,
	KINDS_OOM,
	KINDS_HUGE_SPLIT,
	KINDS_EVENTS
};

/* What must be known of a tracepoint's record. */
struct kinds_field {
	const char *name;
	uint16_t offset; /* read from its format */
	uint16_t bytes;
};

enum { KINDS_FIELDS = 2 };

struct kinds_source {
	enum tape_kernel_kind kind;
	const char *tracepoint; /* "syscalls/sys_enter_brk"; NULL: a counter */
	uint64_t config;	/* of the counter, or the tracepoint's number */
	const char
		*arguments; /* of a probe, which is made to have the tracepoint; NULL: it exists */
	const char *filter; /* of its records; NULL: all */
	bool has_stack;
	bool is_of_machine; /* cannot be asked of one process: found by the record's process */
	struct kinds_field fields[KINDS_FIELDS];
};

/* Without numbers and offsets. */
extern const struct kinds_source kinds_sources[KINDS_EVENTS];

/*
 * Finds number and fields in tracefs. ERR_STATE: it may not be read, or there is no such
 * tracepoint; the message says what to do. A probe is made if there is none yet: kinds_leave() then.
 */
struct err *kinds_find(struct kinds_source *source);

/* Takes a probe away unless somebody else uses it, who does so then. */
void kinds_leave(const struct kinds_source *source);

/* Of a huge page of the kernel's own making (THP), as it says. */
uint64_t kinds_huge_page_bytes(void);

/* The field of a tracepoint's record; 0 if it is too short for it. */
uint64_t kinds_field_value(const struct kinds_field *field, const uint8_t *bytes, size_t count);

#endif
