/*
 * recording: the recording of a running program, found by what the program has mapped: the spool
 * that it shares with its collector, or the tape that it writes itself.
 */
#ifndef MEMTAPE_SCAN_RECORDING_H
#define MEMTAPE_SCAN_RECORDING_H

#include "base/err.h"
#include "scan/maps.h"
#include "tape/tape.h"

struct recording {
	char *tape_path;
	int fd; /* of the spool or the tape, which the program writes to */
	bool is_spool;
	uint64_t inode; /* of it */
	struct tape_header header;
};

/* maps are the process's. ERR_NOT_FOUND: it is not being recorded. Undone by recording_close. */
struct err *recording_find(pid_t pid, const struct maps *maps, struct recording *recording);
void recording_close(struct recording *recording);
CLEAN_DEFINE_DEINIT(recording_close, struct recording);

/* Who has the file of that inode locked, as a collector has its spool. 0: nobody. */
pid_t recording_collector(uint64_t inode);

/* What the recorder says of itself now. */
struct err *recording_live(const struct recording *recording, struct tape_live *live);

/* A copy of what the spool has, in anonymous memory. Nothing may be recorded meanwhile. */
struct err *recording_copy(const struct recording *recording, int *fd_ret);

#endif
