/*
 * memusage: what makes libmemusage.so of the recorder: glibc's variables, a table at the end, a
 * data file. Nothing else is written, and children are counted as the process is.
 *
 *	MEMUSAGE_OUTPUT      the data file, and FILE.PID for children (a pattern, see path.h)
 *	MEMUSAGE_PROG_NAME   only processes of that name
 *	MEMUSAGE_TRACE_MMAP  mmap and its kin, too
 *
 * MEMUSAGE_BUFFER_SIZE and MEMUSAGE_NO_TIMER have no effect: nothing is lost in a buffer, and there
 * is no timer.
 */
#ifndef MEMTAPE_REC_MEMUSAGE_H
#define MEMTAPE_REC_MEMUSAGE_H

#include "core/core.h"

void rec_memusage_options(void);

/* False: this process is not to be counted. is_child: of fork. */
bool rec_memusage_begin(bool is_child);

/* For options.moments, of this library and the usual one: opens the file. False: there is none. */
bool rec_memusage_data(void);

/* Once environ is there: programs that are started by this one are not to write to its file. */
void rec_memusage_rename(void);

void rec_memusage_end(void);

#endif
