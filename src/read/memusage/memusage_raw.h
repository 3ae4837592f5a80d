/*
 * memusage_raw: a memusage data file as the recorder leaves it (rec/moments.h): without a header,
 * slightly out of order with several threads, with empty slots, and perhaps with a ring.
 */
#ifndef MEMTAPE_MEMUSAGE_MEMUSAGE_RAW_H
#define MEMTAPE_MEMUSAGE_MEMUSAGE_RAW_H

#include "memusage/memusage.h"

/* When its process began; false: not such a file. */
bool memusage_raw_begin(const char *path, uint64_t *begin_ticks_ret);

/*
 * In place: sorts by time, drops empty slots and sets this header; the peak of heap and stack
 * together, and a later end, are computed. Bytes are untrusted where another program may write:
 * ERR_FORMAT.
 */
struct err *memusage_raw_finish(const char *path, const struct memusage_head *head);

#endif
