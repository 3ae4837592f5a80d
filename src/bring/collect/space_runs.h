/*
 * space_runs: which pages of a range of a process's memory are resident, from its pagemap. Internal
 * to space.
 */
#ifndef MEMTAPE_COLLECT_SPACE_RUNS_H
#define MEMTAPE_COLLECT_SPACE_RUNS_H

#include "base/str.h"

struct space_found {
	uint64_t resident; /* pages */
	uint64_t file;	   /* of them: not private memory; counted only on request */
	uint64_t swapped;
	bool has_runs; /* some pages are resident and some are not, and the runs are in text */
};

/*
 * Counts the pages of [begin, end), and appends RUNS (see tape_space) to text unless they are
 * longer than `most` bytes. False: not supported by this kernel, see space_runs.
 */
bool space_scan(int fd, uint64_t begin, uint64_t end, bool tells_files, size_t most,
		struct str *text, struct space_found *found);

/* RUNS alone, on any kernel. False, text unchanged: unavailable, or longer than `most`. */
bool space_runs(int fd, uint64_t begin, uint64_t end, size_t most, struct str *text);

/* The first page of [begin, end) that is resident or swapped out; end: none. False: unavailable. */
bool space_first(int fd, uint64_t begin, uint64_t end, uint64_t *first_ret);

#endif
