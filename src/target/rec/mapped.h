/*
 * mapped: what the program itself has mapped, if mappings are counted (`maps=1`): an unmapping is
 * subtracted only as far as its bytes were mapped by a call that was seen. Disjoint ranges, by
 * address, in a table of a fixed size: ranges that do not fit are unknown.
 *
 * All of it with a lock; the calls are slow anyway.
 */
#ifndef MEMTAPE_REC_MAPPED_H
#define MEMTAPE_REC_MAPPED_H

#include "rec/rec.h"

void rec_mapped_init(void);

/* Growth of the mapped bytes; negative: they shrank. */
int64_t rec_mapped_change(uint64_t removed_begin, uint64_t removed_bytes, uint64_t added_begin,
			  uint64_t added_bytes);

#endif
