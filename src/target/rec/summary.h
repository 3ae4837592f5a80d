/*
 * summary: the table of glibc's memusage on standard error, from the counts of all lanes. For
 * libmemusage.so (`options.table`).
 */
#ifndef MEMTAPE_REC_SUMMARY_H
#define MEMTAPE_REC_SUMMARY_H

#include "rec/rec.h"

/*
 * Applies memusage's variables to this process; false: it is not counted. Before the first event.
 */
bool rec_summary_wanted(void);

/* The process will be summed up; keeps its standard error. is_child: of fork. */
void rec_summary_begin(bool is_child);

/* Of all lanes; all zeros before. */
struct rec_sums {
	struct tape_calls calls;
	uint64_t sizes[TAPE_CALL_SIZES_PARTS * TAPE_CALL_SIZES_COUNT];
};

void rec_calls_sum(struct rec_sums *sums);

/* At the process's end; later calls do nothing. */
void rec_summary_write(const struct rec_sums *sums);

/* A line on standard error: "memusage: NAMEWHAT (error N)". */
void rec_summary_complain(const char *what, const char *name, int error);

#endif
