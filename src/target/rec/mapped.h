/*
 * mapped: what the program has mapped itself, where mappings are counted (`maps=1`): what is
 * unmapped is taken off by what had been mapped by a call that was seen. Ranges that do not touch
 * each other's bytes, by address, in a table of a fixed size: what does not fit is not known.
 *
 * All of it with a lock; the calls are slow anyway.
 */
#ifndef MEMTAPE_REC_MAPPED_H
#define MEMTAPE_REC_MAPPED_H

#include "rec/rec.h"

void rec_mapped_init(void);

/* By how many bytes what is mapped has grown; less than 0: it shrank. */
int64_t rec_mapped_change(uint64_t removed_begin, uint64_t removed_bytes, uint64_t added_begin,
			  uint64_t added_bytes);

#endif
