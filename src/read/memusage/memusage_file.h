/*
 * memusage_file: the data file of glibc's memusage, written from a tape. Two records of header and
 * one after every call that changed something, of 24 bytes each: heap, stack (bytes), the low and
 * the high half of the time in ticks of the clock of the tape. Little-endian, as on the machines
 * that tapes come from.
 */
#ifndef MEMTAPE_MEMUSAGE_MEMUSAGE_FILE_H
#define MEMTAPE_MEMUSAGE_MEMUSAGE_FILE_H

#include <stdio.h>

#include "model/calls.h"

/* calls: what calls_count gave for this tape with the same has_mappings. */
struct err *memusage_file_write(const char *tape_path, bool has_mappings, const struct calls *calls,
				FILE *out);

/*
 * The same in one pass, to a file in which one can go back: counts, and writes meanwhile. What it
 * has written is of no use when it fails.
 */
struct err *memusage_file_count(const char *tape_path, bool has_mappings, struct calls *calls_ret,
				FILE *out);

#endif
