/* pause: recording that is off for a while. A part of rec.h. */
#ifndef MEMTAPE_REC_PAUSE_H
#define MEMTAPE_REC_PAUSE_H

#include "rec/rec.h"

/* When a tape begins, on the thread that has the lane: whether it begins paused, and the record. */
void rec_pause_begin(struct rec_lane *lane);

/* Before a fork, in the parent: a child that is recorded begins as its parent is. */
void rec_pause_fork(void);

/*
 * At the start of the process: the signals of options.toggles, unless the program has handlers of
 * its own; those that it sets later replace ours.
 */
void rec_pause_signals(void);

#endif
