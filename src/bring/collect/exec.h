/*
 * exec: the recorded process has become another program. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_EXEC_H
#define MEMTAPE_COLLECT_EXEC_H

#include "base/arena.h"
#include "collect/collector_state.h"

/*
 * When the next program's recorder asks: ends the tape there is, and begins another one of the same
 * name. The former one is kept beside it (settings.follow), or out of sight until the end.
 */
void exec_follow(struct collector *collector, struct arena *arena, struct collector_result *result);

/* Before a tape is closed: what the programs before were, into the result and onto the tape. */
void exec_note(struct collector *collector, struct arena *arena, struct collector_result *result);

/* At the end, where the last program has not begun to record: the result is of the one before. */
void exec_fall_back(struct collector *collector, struct arena *arena,
		    struct collector_result *result);

#endif
