/*
 * memusage_raw: a data file of memusage as the recorder leaves it behind (rec/moments.h), which
 * writes no header: out of order where threads were, with empty places, and perhaps with a ring.
 */
#ifndef MEMTAPE_MEMUSAGE_MEMUSAGE_RAW_H
#define MEMTAPE_MEMUSAGE_MEMUSAGE_RAW_H

#include "memusage/memusage.h"

/* When its process began: false: it is no such file. */
bool memusage_raw_begin(const char *path, uint64_t *begin_ticks_ret);

/*
 * In place: in the order of time, without empty places, and with this header; the most of heap and
 * stack together, and an end that is later, are found. Foreign bytes, as far as another program may
 * write there: ERR_FORMAT.
 */
struct err *memusage_raw_finish(const char *path, const struct memusage_head *head);

#endif
