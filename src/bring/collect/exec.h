/*
 * exec: handles the recorded process becoming another program. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_EXEC_H
#define MEMTAPE_COLLECT_EXEC_H

#include "base/arena.h"
#include "collect/collector_state.h"

/*
 * On request of the next program's recorder: ends the current tape and begins another one with the
 * same name. The former one is kept next to it (settings.follow), or unnamed until the end.
 */
void exec_follow(struct collector *collector, struct arena *arena, struct collector_result *result);

/* Before a tape is closed: writes the former programs to the result and to the tape. */
void exec_note(struct collector *collector, struct arena *arena, struct collector_result *result);

/* At the end, if the last program did not begin to record: the result describes the one before. */
void exec_fall_back(struct collector *collector, struct arena *arena,
		    struct collector_result *result);

#endif
