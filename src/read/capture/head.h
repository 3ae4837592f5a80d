/*
 * head: what a tape says at its beginning: whose it is. Cheap, however large the tape: a bounded
 * number of its first chunks is decoded.
 */
#ifndef MEMTAPE_CAPTURE_HEAD_H
#define MEMTAPE_CAPTURE_HEAD_H

#include "base/arena.h"
#include "base/err.h"
#include "tape/codec.h"

/* Of a PROCESS record; texts live in the arena. */
struct capture_process {
	const char *exe, *cwd;	 /* "": unknown */
	const char *const *argv; /* NULL-terminated */
	uint32_t argc;
	uint32_t page_bytes;
};

/* *process is unchanged where the record is too short to be one. */
struct err *capture_process_parse(const struct tape_extended_record *record, struct arena *arena,
				  struct capture_process *process);

struct capture_head {
	struct tape_header header;
	struct capture_process process; /* argv NULL: its record is not among the first chunks */
	const char *build_id;		/* of the program, hexadecimal; NULL: unknown */
};

/*
 * Of a tape that is complete, damaged or being written (then with its spool). Errors as those of
 * capture_open.
 */
struct err *capture_head_read(const char *path, struct arena *arena, struct capture_head *head);

#endif
