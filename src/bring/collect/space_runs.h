/*
 * space_runs: which pages of a range of a process's memory are resident, swapped out, or the zero
 * page, from its pagemap. Internal to space.
 */
#ifndef MEMTAPE_COLLECT_SPACE_RUNS_H
#define MEMTAPE_COLLECT_SPACE_RUNS_H

#include "base/str.h"

struct space_found {
	uint64_t resident; /* pages */
	uint64_t file;	   /* of them: not private memory; counted only on request */
	uint64_t swapped;
	uint64_t zero; /* that were only read: the zero page, which all of them share; no memory */
	bool has_runs; /* pages differ, or have no memory of their own, and the runs are in text */
};

/*
 * Counts the pages of [begin, end), and appends RUNS (see tape_space) to text unless they are
 * longer than `most` bytes. False: not supported by this kernel, see space_runs.
 */
bool space_scan(int fd, uint64_t begin, uint64_t end, bool tells_files, size_t most,
		struct str *text, struct space_found *found);

bool space_can_scan(int fd);

/*
 * RUNS alone, on any kernel, where there are pages to list. False, text unchanged: there are none,
 * unavailable, or longer than `most`. Before Linux 6.7 nothing says which pages are the zero page:
 * it is those that look like it if there are as many as are not among the resident ones, of which
 * the kernel says there are `resident`.
 */
bool space_runs(int fd, uint64_t begin, uint64_t end, uint64_t resident, size_t most,
		struct str *text);

/* The first page of [begin, end) that is resident or swapped out; end: none. False: unavailable. */
bool space_first(int fd, uint64_t begin, uint64_t end, uint64_t *first_ret);

#endif
