/*
 * streamed: MEMTAPE_OUTPUT=tcp://HOST:PORT: the tape is sent to a gatherer by the recorder itself (room
 * stream), beside a file, or from memory alone. MEMTAPE_BROADCAST: beside a file, to a gatherer that finds it.
 *
 * What was decided at the start holds for forked children, too: the address and the token are read once, and
 * complaints are made once. All of this is on slow paths.
 */
#ifndef MEMTAPE_REC_STREAMED_H
#define MEMTAPE_REC_STREAMED_H

#include "rec/rec.h"

/* At the start: of the file's name, from the variable's value; NULL: there is to be no file. */
const char *rec_streamed_pattern(const char *output, const char *usual);

/* Memory for a tape without a file, as rec_tape_open_file(). */
bool rec_streamed_open_memory(void);

/* When the header is filled in, and its uuids: starts the sender. False: without it there is no tape. */
bool rec_streamed_begin(void);

/* What is shared with the sender, and not with forked children; NULL: nothing. */
void *rec_streamed_page(void);

/* In a forked child: the sender is its parent's. */
void rec_streamed_child(void);

/* At the beginning of a chunk: says why the gatherer does not want it, once. */
void rec_streamed_look(void);

/* For tapes in memory: nobody takes chunks any more; whether to wait for one. */
bool rec_streamed_is_dead(void);
bool rec_streamed_waits(void);

/* A chunk could not be had, and events are lost until there is one. */
void rec_streamed_gap(void);

/* In a chunk after a gap: what the rest of the tape cannot be read without. */
void rec_streamed_note_again(struct rec_lane *lane);

/* The process ends; where the sender would end with it, that is waited for, within bounds. */
void rec_streamed_end(void);

#endif
