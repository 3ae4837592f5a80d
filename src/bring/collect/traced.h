/*
 * traced: what the kernel does for the program that is recorded (trace/tracing.h), in a stream of
 * its tape. A thread takes the kernel's events and unwinds their stacks; chunks that are full are
 * written by the collector. The frames of the recorder are left out of stacks, and what the kernel
 * does for the recorder itself is only counted.
 *
 * All functions are for the collector's thread, and do nothing if nothing is to be traced.
 */
#ifndef MEMTAPE_COLLECT_TRACED_H
#define MEMTAPE_COLLECT_TRACED_H

#include <stdbool.h>

struct collector;

/*
 * The child waits to become the program, or the process is attached to. What cannot be traced is
 * told to settings.on_untraced; the recording goes on without it.
 */
void traced_open(struct collector *collector);
void traced_close(struct collector *collector);

/* The header of a tape has been taken: its events are those from its beginning on. */
void traced_begin(struct collector *collector);

/* Writes chunks that are full, as many as the tape may have now. */
void traced_look(struct collector *collector);

/* Nothing that happens from now on is traced. */
void traced_stop(struct collector *collector);

/*
 * Writes the rest, and what there was in all. The program has ended or, with goes_on, stands still
 * and has a new tape next.
 */
void traced_end(struct collector *collector, bool goes_on);

#endif
