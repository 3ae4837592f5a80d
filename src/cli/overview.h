/*
 * overview: several tapes in one table, one row per process: for `memtape info TAPE TAPE ...`, and
 * after a recording with children.
 */
#ifndef MEMTAPE_CLI_OVERVIEW_H
#define MEMTAPE_CLI_OVERVIEW_H

#include "base/arena.h"
#include "base/emit.h"
#include "base/vec.h"
#include "model/model.h"

struct overview_row {
	const char *path;
	const char *program; /* its name, without folders */
	const char *command; /* the whole line */
	uint32_t pid;
	uint32_t parent_pid;
	bool is_forked;
	uint64_t event_count;
	uint64_t allocation_count;
	uint64_t peak_bytes;
	uint64_t live_bytes; /* at the end, leaked or suppressed */
	uint64_t start_realtime_ns;
	uint64_t duration_ns;
	enum tape_end_kind end_kind;
	int32_t end_status;
	bool has_status;
};

VEC_DEFINE(overview_vec, struct overview_row);

/* Reads a tape; the row's strings live in the arena, except path, which the caller owns. */
struct err *overview_add(struct overview_vec *rows, const char *path, struct arena *arena);

/* Sorts rows by peak, largest first, and writes them; text has at most `most` of them (0: all). */
struct err *overview_write(struct overview_vec *rows, size_t most,
			   const struct emit_settings *settings, FILE *out);

#endif
