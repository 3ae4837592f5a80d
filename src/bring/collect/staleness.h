/*
 * staleness: looks at which pages the program has touched since the look before, on the tape as
 * TOUCHED records. Internal to collect.
 *
 * Watching begins when recording does: the program is stopped once, for a millisecond or so. After
 * that it stops no more, but its first write to a page after a look is slower.
 */
#ifndef MEMTAPE_COLLECT_STALENESS_H
#define MEMTAPE_COLLECT_STALENESS_H

#include "collect/collector_state.h"

/* A look if one is due. Where it is not possible, the tape says why. */
void staleness_look(struct collector *collector);

/* The last one: the program is about to end. */
void staleness_look_last(struct collector *collector);

/* The program has ended, or has become another one: what was watched is no more. */
void staleness_end(struct collector *collector);

#endif
