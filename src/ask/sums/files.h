/*
 * files: a tape's source files, with allocations in their functions and callees. A stack counts
 * once for each file that it is in (total), and for the file of its innermost function that is not
 * allocation machinery (self).
 */
#ifndef MEMTAPE_SUMS_FILES_H
#define MEMTAPE_SUMS_FILES_H

#include "sums/sums.h"
#include "sums/sweep.h"
#include "sums/walk.h"

struct source_file {
	const char *path; /* as the debug information has it, after --path-map */
	uint64_t hash;	  /* of the path: equal on every tape */
	struct model_stack_sums total;
	struct model_stack_sums self;
};

struct source_files {
	struct source_file *items; /* sorted by the metric, largest first */
	size_t count;
};

/* Lives in the arena, paths as long as names. ERR_LIMIT, ERR_STATE: see sweep.h. */
struct err *source_files_find(const struct sums *sums, struct names *names, enum metric metric,
			      const struct sweep_limits *limits, struct arena *arena,
			      struct source_files *files_ret);

/* The path with this hash; NULL: no function of the tape is in such a file. */
const char *source_file_path(const struct sums *sums, struct names *names, uint64_t hash);

uint64_t source_file_hash(const char *path);

#endif
