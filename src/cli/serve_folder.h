/*
 * serve_folder: folders as operands of `memtape serve`: they stand for the tapes in them. That of a
 * session stands for all its processes as one tape, followed by theirs.
 */
#ifndef MEMTAPE_CLI_SERVE_FOLDER_H
#define MEMTAPE_CLI_SERVE_FOLDER_H

#include "base/arena.h"
#include "base/err.h"

struct serve_paths {
	char **items; /* of tapes, in the arena or borrowed */
	size_t count;
	const char *folder; /* the first one that was given; ".": none was */
	const char *listed; /* the first one that is no session; NULL: none was given */
};

/* The operand that would be `listed`. */
const char *serve_listed(char *const *operands, size_t operand_count);

/* Tapes of a folder are in the order in which they were written. ERR_LIMIT: too many. */
struct err *serve_paths_find(char **operands, size_t operand_count, struct arena *arena,
			     struct serve_paths *paths);

#endif
