/*
 * spool: the collector's memory for chunks (spool.c), and whether this process should request it
 * (follow.c). A part of the start.
 */
#ifndef MEMTAPE_REC_SPOOL_H
#define MEMTAPE_REC_SPOOL_H

#include "rec/rec.h"

enum rec_spool {
	REC_SPOOL_TAKEN,
	REC_SPOOL_NONE,	  /* none, or it is another process's */
	REC_SPOOL_ORPHAN, /* this process's from before an exec, and nobody empties it */
	REC_SPOOL_REFUSED /* this process's from before an exec, and nothing may be recorded */
};
enum rec_spool rec_tape_open_spool(const char *path);
/* Whether it waits for its first process, or is this one's from before an exec. */
bool rec_spool_is_ours(const char *path);

/*
 * After the header, before the first event. After an exec the name is still that of the tape
 * before; false: the collector was killed then, and the spool, which nobody will read, is left.
 */
bool rec_spool_await_tape(void);

/* follow.c: at the start, behind the options. */
void rec_follow_init(void);
/* Names were given (--follow), and not this one: this process is left as it is. */
bool rec_follow_is_left_out(void);

/*
 * Tells the collector of the session that this process has the tape. It waits for nobody. At the
 * start, once the tape has its name, of a followed process with a tape of its own.
 */
void rec_follow_tell(void);

/*
 * The page that the first process shares with its collector, of a followed process with a tape of
 * its own. False: it cannot be reached, or its collector is gone.
 */
struct rec_first {
	int fd;
	struct tape_header *header;
	struct tape_live *live;
};

bool rec_follow_join(struct rec_first *first);
bool rec_follow_is_collected(const struct rec_first *first);
void rec_follow_leave(struct rec_first *first); /* also after a failure */

#endif
