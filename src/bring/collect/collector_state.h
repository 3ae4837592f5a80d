/*
 * collector_state: what a run of the collector knows, and how it says it on the tape. Internal to
 * collect: collector.c runs, wishes.c does what is asked for from outside, ending.c has the last
 * words.
 */
#ifndef MEMTAPE_COLLECT_COLLECTOR_STATE_H
#define MEMTAPE_COLLECT_COLLECTOR_STATE_H

#include "collect/child.h"
#include "collect/collector.h"
#include "collect/drain.h"
#include "collect/spool.h"
#include "collect/stream.h"
#include "collect/threads.h"
#include "collect/usage.h"
#include "write/writer.h"

struct collector {
	const struct collector_settings *settings;
	const struct program *program;
	struct spool spool;
	struct writer writer;
	struct drain drain;
	struct stream stream;
	struct usage usage;
	struct threads threads;
	struct child child;
	struct signals signals;	   /* as they were */
	struct tape_header header; /* private copy, once the recorder has filled it */
	bool has_header;
	uint64_t begin_ns;
	uint64_t first_realtime_ns; /* when the first program began to be recorded; 0: none has */
	uint64_t sample_due_ns;
	uint64_t sample_written_ns;
	uint64_t space_ticks; /* before the last sample was taken */
	uint64_t live_due_ns;
	uint64_t stop_due_ns;		 /* 0: nobody wants it to stop */
	uint64_t stop_ticks;		 /* what happened until then is on the tape */
	bool has_ended;			 /* the tape is closed; the program may go on */
	struct collector_result *former; /* of the last program before this one; NULL: none */
	uint8_t former_uuid[TAPE_UUID_BYTES];
	int former_fds[COLLECTOR_FORMERS_MAX]; /* -1: not open; as in the result */
};

/* Now, as times are on the tape. */
uint64_t collector_ticks(const struct collector *collector);

/* Adds a record of now to the collector's stream; tail may be NULL. It is on the tape later. */
void collector_note(struct collector *collector, enum tape_extended type, const void *payload,
		    size_t bytes, const char *tail);
void collector_note_clock(struct collector *collector);

/* Whether what happens now comes onto the tape. */
bool collector_is_recording(const struct collector *collector);

/* What open chunks have, and the samples, for those who watch the tape grow; when that is due. */
void collector_show(struct collector *collector);

/* Writes the stream's chunk and begins the next. A tape that is full loses these records. */
void collector_flush(struct collector *collector, enum writer_urgency urgency);

#endif
