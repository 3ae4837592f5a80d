/* memusage_tapes: the private folder that a run of memusage records to, and its contents. */
#ifndef MEMTAPE_MEMUSAGE_MEMUSAGE_TAPES_H
#define MEMTAPE_MEMUSAGE_MEMUSAGE_TAPES_H

#include "base/arena.h"
#include "base/vec.h"
#include "model/calls.h"

struct memusage_tape {
	const char *path;
	const char *data; /* the data file of memusage; NULL: not made */
	struct calls calls;
};

VEC_DEFINE(memusage_tapes, struct memusage_tape);

/* Makes a folder below directory, or, if NULL, below TMPDIR; its name is in arena. */
struct err *memusage_folder_make(const char *directory, struct arena *arena,
				 const char **folder_ret);

/* The folder and everything in it. */
void memusage_folder_remove(const char *folder);

/*
 * Counts what is on each tape of the folder, in order of start time; processes that only exec'd
 * another program, as a shell's children do, are left out. With makes_data a data file for each is
 * put in the folder, too. Paths are in arena.
 */
struct err *memusage_tapes_count(const char *folder, bool has_mappings, bool makes_data,
				 struct arena *arena, struct memusage_tapes *tapes);

#endif
