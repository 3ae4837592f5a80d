/*
 * memusage: turns the recorder into libmemusage.so: glibc's variables, a table at the end, a data
 * file. Nothing else is written, and children are counted as the process is.
 *
 *	MEMUSAGE_OUTPUT      the data file, and FILE.PID for children (a pattern, see path.h)
 *	MEMUSAGE_PROG_NAME   only processes of that name
 *	MEMUSAGE_TRACE_MMAP  mmap and the like, too
 *
 * MEMUSAGE_BUFFER_SIZE and MEMUSAGE_NO_TIMER have no effect: nothing is lost in a buffer, and there
 * is no timer.
 */
#ifndef MEMTAPE_REC_MEMUSAGE_H
#define MEMTAPE_REC_MEMUSAGE_H

#include "core/core.h"

void rec_memusage_options(void);

/* False: this process is not counted. is_child: of fork. */
bool rec_memusage_begin(bool is_child);

/* For options.moments, of this library and the usual one: opens the file. False: failed. */
bool rec_memusage_data(void);

/* Once environ exists: programs started by this one must not write to its file. */
void rec_memusage_rename(void);

void rec_memusage_end(void);

#endif
