/* birth: numbers that tell which pthread_create() a thread comes from. Async-signal-safe. */
#ifndef MEMTAPE_REC_BIRTH_H
#define MEMTAPE_REC_BIRTH_H

#include "rec/rec.h"

/*
 * What pthread_create() is to be given instead, so that the thread has a number, which is returned;
 * 0: everything stays as it is. If then no thread is created, cancel with the new argument.
 */
uint32_t rec_birth_begin(void *(**start)(void *), void **argument);
void rec_birth_cancel(void *argument);
void rec_births_forget(void); /* in a forked child: threads under way are the parent's */

#endif
