/* birth: numbers that tell which pthread_create() a thread comes from. Async-signal-safe. */
#ifndef MEMTAPE_REC_BIRTH_H
#define MEMTAPE_REC_BIRTH_H

#include "rec/rec.h"

/*
 * Replaces the arguments of pthread_create() so that the thread gets a number, which is returned;
 * 0: nothing is changed. If the thread is then not created, cancel with the new argument.
 */
uint32_t rec_birth_begin(void *(**start)(void *), void **argument);
void rec_birth_cancel(void *argument);
void rec_births_forget(void); /* in a forked child: threads under way are the parent's */

#endif
