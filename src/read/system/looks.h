/*
 * looks: what was read of a system, file by file, at one moment or several; and the form in which it
 * is kept and sent (memtape-triage(1), "RECORDINGS"): lines of text,
 *
 *	memtape triage 1
 *	page 4096			bytes of a page of memory
 *	subject 4711			the process in question; may be missing
 *	look 1764165274000000000 5123000000	begins a moment: since 1970, and of a steady clock; ns
 *	processes 214			how many there were
 *	file /proc/meminfo		a file, and its lines, each behind a tab
 *		MemTotal:       24731708 kB
 *	error 13 /dev/kmsg		a file that could not be read, and errno
 *
 * Nothing is parsed before it is kept, so who reads a recording sees what the machine said. It is
 * foreign bytes: the parser survives anything, and errors name the line.
 *
 * All is in an arena, and never changes. Any thread may read it.
 */
#ifndef MEMTAPE_SYSTEM_LOOKS_H
#define MEMTAPE_SYSTEM_LOOKS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* A value that is not known: not read, or not there. */
#define SYSTEM_UNKNOWN UINT64_MAX

struct look_file {
	const char *path;
	const char *text; /* NULL: it could not be read */
	int error;	  /* errno, if text is NULL */
};

VEC_DEFINE(look_files, struct look_file);

struct look {
	uint64_t realtime_ns, monotonic_ns;
	uint64_t process_count; /* SYSTEM_UNKNOWN: not counted */
	const struct look_file *files;
	size_t file_count;
};

VEC_DEFINE(look_vec, struct look);

struct looks {
	uint64_t page_bytes;
	uint64_t subject; /* a process; 0: the whole system */
	struct look *items;
	size_t count; /* at least one, if parsed */
};

/* The file's text; NULL: it was not read. */
const char *look_text(const struct look *look, const char *path);

/* The file, read or not; NULL: nobody tried. */
const struct look_file *look_file_find(const struct look *look, const char *path);

/* The same with a path made of a format. */
const char *look_text_of(const struct look *look, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The recording's first lines; and those of one more look. */
void looks_write_begin(const struct looks *looks, struct str *out);
void look_write(const struct look *look, struct str *out);

/* text is len bytes and a NUL. ERR_FORMAT: "line N: ...". */
struct err *looks_parse(const char *text, size_t len, struct arena *arena, struct looks *looks_ret);

#endif
