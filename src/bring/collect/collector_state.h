/*
 * collector_state: the state of a run of the collector, and its records on the tape. Internal to
 * collect: collector.c runs the loop, wishes.c handles requests from outside, ending.c writes the
 * final records.
 */
#ifndef MEMTAPE_COLLECT_COLLECTOR_STATE_H
#define MEMTAPE_COLLECT_COLLECTOR_STATE_H

#include "collect/accessed.h"
#include "collect/child.h"
#include "collect/collector.h"
#include "collect/ctl.h"
#include "collect/drain.h"
#include "collect/huge.h"
#include "collect/nodes.h"
#include "collect/session_writer.h"
#include "collect/spool.h"
#include "collect/stream.h"
#include "collect/threads.h"
#include "collect/system_usage.h"
#include "collect/usage.h"
#include "collect/written.h"
#include "scan/stop.h"
#include "write/writer.h"

enum { COLLECTOR_RETIRED_MAX = 4 };

/* leaks.c */
struct leaks_job;
struct leaks {
	pid_t kept_tid;	       /* of the thread that is traced for the whole run; 0: none is */
	uint32_t count;	       /* scans so far */
	bool is_over;	       /* the last one has been done: the program is about to end */
	struct stop stop;      /* of the last one; threads that have not stopped yet may be left */
	uint64_t due_ns;       /* of the next one by the clock; 0: there is none */
	struct leaks_job *job; /* a scan of a copy, on a thread of its own; NULL: none */
	uint64_t pause_ns;     /* of the last one that has ended */
	char trouble[CTL_TEXT_BYTES]; /* why that has no result; "": it has */
};

/* children.c */
struct child_scan;
VEC_DEFINE(child_scans, struct child_scan *);

/* staleness.c */
struct staleness {
	bool has_begun;
	uint16_t kind;	    /* enum tape_touched_kind: which of the two is watching; 0: none is */
	uint32_t gap_pages; /* see tape_touched */
	uint64_t due_ns;    /* of the next look */
	uint64_t look_ns;   /* that the last one took */
	struct accessed accessed;
	struct written written;
};

/* attached.c */
struct attached {
	bool is_attached;      /* to a process that ran already */
	bool is_over;	       /* let go, or it has ended: the tape is complete soon */
	bool is_stop_wished;   /* who wished so is answered when it was let go */
	uint64_t until_ns;     /* monotonic; UINT64_MAX: until somebody says so */
	uint64_t ticks;	       /* the moment */
	struct before *before; /* what was live then, not on the tape yet; NULL: it is */
	struct err *err;       /* it could not be let go */
};

/* rotation.c */
struct rotation_job;
struct rotation {
	struct rotation_job *job; /* NULL: none goes on */
	bool keeps_little;	  /* of the latest detail: the one before was too large */
	uint64_t due_bytes;	  /* of the tape, before the next one */
	uint64_t chunk_count;	  /* on the tape when it began */
	uint64_t open_until_ns, held_until_ns;
	struct err *trouble; /* of the last one; NULL: it has succeeded */
};

/* traced.c */
struct traced;

struct collector {
	const struct collector_settings *settings;
	const struct program *program;
	struct spool spool;
	struct session_writer *session; /* NULL: there is none */
	struct writer writer;
	struct drain drain;
	struct stream stream;
	struct usage usage;
	struct huge huge;
	struct nodes nodes;
	struct system_usage system;
	struct threads threads;
	struct child child;
	struct leaks leaks;
	struct child_scans
		child_scans; /* of followed processes, not done yet; the first ones run */
	struct staleness staleness;
	struct rotation rotation;
	struct attached attached;
	struct traced *traced; /* NULL: nothing the kernel does is traced */
	struct ctl ctl;
	struct signals signals;	   /* saved */
	struct tape_header header; /* private copy, set once the recorder has filled it */
	bool has_header;
	uint64_t begin_ns;
	uint64_t first_realtime_ns; /* when recording of the first program began; 0: not begun */
	uint64_t sample_due_ns;
	uint64_t sample_written_ns, system_written_ns;
	uint64_t space_ticks; /* before the last sample was taken */
	uint64_t live_due_ns;
	bool limit_reached[LIMIT_COUNT];
	bool has_begun_on_time, has_paused_on_time; /* settings.delay_ns, duration_ns */
	uint64_t
		clock_from_ns; /* what these count from: the first program's recording, then its resuming */
	uint64_t stop_due_ns;		 /* 0: no stop was requested */
	uint64_t stop_ticks;		 /* the tape has what happened until then */
	bool has_ended;			 /* the tape is closed; the program may go on */
	struct collector_result *former; /* of the last program before this one; NULL: none */
	uint8_t former_uuid[TAPE_UUID_BYTES];
	struct companion *companion; /* of this tape; NULL: none */
	/* Of former tapes, not ended yet: a program that execs does not wait for them. */
	struct companion *retired[COLLECTOR_RETIRED_MAX];
	uint32_t retired_count;
	int former_fds[COLLECTOR_FORMERS_MAX]; /* -1: not open; same order as in the result */
};

/* Looks at once at which memory is resident, mapping by mapping. */
void collector_snapshot(struct collector *collector);

/* The current time, in tape ticks. */
uint64_t collector_ticks(const struct collector *collector);

/* Adds a record of now to the collector's stream, written later; tail may be NULL. */
void collector_note(struct collector *collector, enum tape_extended type, const void *payload,
		    size_t bytes, const char *tail);
void collector_note_clock(struct collector *collector);

/* Whether current events go to the tape. */
bool collector_is_recording(const struct collector *collector);

/* The contents of open chunks, and the samples, for those watching the tape live; when due. */
void collector_show(struct collector *collector);

/* The same at once, for somebody who watches what was not recorded live. It is being recorded. */
void collector_show_now(struct collector *collector);

/* Writes the stream's chunk and begins the next. These records are lost if the tape is full. */
void collector_flush(struct collector *collector, enum writer_urgency urgency);

#endif
