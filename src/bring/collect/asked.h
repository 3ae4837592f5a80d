/*
 * asked: what the program itself asks for while it runs (include/memtape/memtape.h): a look at
 * resident memory, or a leak scan. One of its threads waits for the look, or for the beginning of the
 * scan. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_ASKED_H
#define MEMTAPE_COLLECT_ASKED_H

#include "collect/collector_state.h"

/* Does what is asked for now. A scan waits for one that is going on. */
void asked_look(struct collector *collector);

#endif
