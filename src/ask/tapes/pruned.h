/*
 * pruned: what was removed of a folder of tapes, or would be, and what is left. An answer like that of
 * tapes/tapes.h; the tapes are borrowed from the folder.
 */
#ifndef MEMTAPE_TAPES_PRUNED_H
#define MEMTAPE_TAPES_PRUNED_H

#include "answer/shape.h"
#include "base/arena.h"
#include "base/vec.h"
#include "folder/prune.h"

struct pruned_row {
	const char *path, *file;
	uint64_t size_bytes, age_ns;
	const char *rule, *outcome;
	const char *reason; /* NULL: it was removed */
};

VEC_DEFINE(pruned_row_vec, struct pruned_row);

struct pruned {
	const char *folder;
	bool dry_run;
	struct shape_rows tapes; /* struct pruned_row */
	uint64_t removed_count, removed_bytes;
	uint64_t kept_count, kept_bytes, in_use_count, failed_count;
};

extern const struct shape shape_pruned;

/* Removes them, unless `dry`. now_ns: since 1970. Rows are in the arena. */
struct err *pruned_make(const struct folder *folder, const struct keep_rules *rules,
			uint64_t now_ns, bool dry, struct arena *arena, struct pruned *pruned);

#endif
