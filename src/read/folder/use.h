/*
 * use: whether somebody writes a tape, is receiving it, or makes something of it. Two signs: whoever
 * writes a packed tape, a spool or receives one holds a lock on it (flock); and the kernel refuses a
 * lease on a file that anybody has open for writing, or mapped so, in whatever namespace. Where a file
 * system has no leases a tape that its process writes itself is in use as long as that process lives.
 */
#ifndef MEMTAPE_FOLDER_USE_H
#define MEMTAPE_FOLDER_USE_H

#include "base/err.h"
#include "tape/tape.h"

/* At this moment, without keeping anybody from anything. path is the tape's, for its spool. */
bool use_is_written(int fd, const struct tape_header *header, const char *path);

/*
 * Takes a file for its removal: nobody else writes or locks it until fd is closed. ERR_STATE: somebody
 * does, and its text says what. header NULL: the file is not a tape, but one beside it.
 */
struct err *use_take(int fd, const struct tape_header *header);

#endif
