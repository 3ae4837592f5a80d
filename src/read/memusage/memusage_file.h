/*
 * memusage_file: the data file of glibc's memusage, written from a tape. Two header records and one
 * record per call that changed something, of 24 bytes each: heap, stack (bytes), the low and the
 * high half of the time in ticks of the clock of the tape. Little-endian, as on the machines that
 * tapes come from.
 */
#ifndef MEMTAPE_MEMUSAGE_MEMUSAGE_FILE_H
#define MEMTAPE_MEMUSAGE_MEMUSAGE_FILE_H

#include <stdio.h>

#include "model/calls.h"

/* calls: the result of calls_count for this tape with the same has_mappings. */
struct err *memusage_file_write(const char *tape_path, bool has_mappings, const struct calls *calls,
				FILE *out);

/*
 * The same in one pass, to a seekable file: counts while writing. On failure its output is useless.
 */
struct err *memusage_file_count(const char *tape_path, bool has_mappings, struct calls *calls_ret,
				FILE *out);

#endif
