/*
 * children: leak scans of followed processes (--follow), which have tapes of their own and no
 * collector. Such a process asks us for a scan when it ends by itself (tape_live.scan_child), and
 * waits; a thread of ours makes it and appends the result to the process's tape. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_CHILDREN_H
#define MEMTAPE_COLLECT_CHILDREN_H

#include "collect/collector_state.h"

/* Does what is to be done now: who asks is noted, scans are begun and ended. */
void children_look(struct collector *collector);

/* Scans who has asked until now. Nobody can ask any more: the spool has no name. */
void children_end(struct collector *collector);

#endif
