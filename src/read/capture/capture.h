/*
 * capture: raw access to tapes: opened, checked, recovered and played back in order of time.
 *
 * capture_open checks the header and every chunk's header, and keeps what is valid. Bytes are
 * untrusted: the result is an error, or a shorter capture with its damage listed.
 *
 *	CLEAN(capture_destroy) struct capture *capture = NULL;
 *	struct err *err = capture_open(path, &capture);
 *	...
 *	err = capture_play(capture, &stacks, &player, &count);
 *
 * A capture is immutable once open: any number of threads may read and play it at once. The file
 * may still be being written (a live raw tape): its contents at opening are read.
 *
 * A tape whose collector was killed has its spool beside it (TAPE_SPOOL_SUFFIX in tape.h): both are
 * opened as one. Nothing is written: `memtape repack` makes one file of them.
 */
#ifndef MEMTAPE_CAPTURE_CAPTURE_H
#define MEMTAPE_CAPTURE_CAPTURE_H

#include "base/arena.h"
#include "base/err.h"
#include "capture/stacks.h"
#include "tape/codec.h"

struct capture;

struct err *capture_open(const char *path, struct capture **capture_ret);

/*
 * A tape that is being written, together with what its spool has at that moment: for its writer,
 * while nobody records, or with a copy of the spool. spool_fd is borrowed; -1: like capture_open.
 */
struct err *capture_open_with_spool(const char *path, int spool_fd, struct capture **capture_ret);

/*
 * The same as it was at a moment: of streams other than the collector's only what was in the first
 * tape_bytes bytes of the file, which is a packed tape, and in the spool.
 */
struct err *capture_open_moment(const char *path, int spool_fd, uint64_t tape_bytes,
				struct capture **capture_ret);

/*
 * The same of all streams: nothing else of the file is read, even if it is written meanwhile.
 * spool_fd -1: no spool but the one beside it.
 */
struct err *capture_open_begin(const char *path, int spool_fd, uint64_t tape_bytes,
			       struct capture **capture_ret);

void capture_destroy(struct capture *capture); /* NULL is fine */
CLEAN_DEFINE(capture_destroy, struct capture *);

/* The tape's header, checked; lives as long as the capture. */
const struct tape_header *capture_header(const struct capture *capture);

/*
 * State the recorder left in a raw tape, or in the spool of a packed one; else all zeros. A copy
 * made at opening. has_live: it exists, and no records on the tape say the same.
 */
const struct tape_live *capture_live(const struct capture *capture);
bool capture_has_live(const struct capture *capture);

/* Complete: nobody writes to it any more, and writing was not cut short. */
bool capture_is_finished(const struct capture *capture);
/* Being written now, or its spool is. Unknown for a raw tape: false. */
bool capture_is_written(const struct capture *capture);

/* Memtape was killed while recording: the consequences for this tape; NULL: it was not. */
const char *capture_killed_text(const struct capture *capture);

/* A chunk, in file order. */
struct capture_chunk {
	uint64_t offset; /* of its header in the file */
	uint32_t stream;
	uint32_t seq;
	uint32_t used; /* bytes of records, decoded */
	uint32_t node_count;
	uint32_t first_node;
	uint32_t stored_bytes; /* in the file, without the header */
	uint64_t begin_ticks;
	uint64_t event_count; /* from its header; 0 if it was still open */
	uint32_t oldest_node; /* as in struct tape_chunk */
	uint8_t codec;	      /* enum tape_codec */
	uint8_t flags;	      /* enum tape_chunk_flag */
	bool is_open;	      /* never sealed: the process died or is still running */
	bool is_slot;	      /* of a raw tape or a spool: nodes stand at its end */
	bool in_spool;	      /* offset is in the spool */
	uint32_t taken_used;  /* of a spool: this much of it is in a chunk of the tape */
	uint32_t taken_nodes;
};

size_t capture_chunk_count(const struct capture *capture);
const struct capture_chunk *capture_chunk_get(const struct capture *capture, size_t index);

/* A problem of the tape, at a byte offset of the file, or of the spool. text lives with the
 * capture. */
struct capture_damage {
	uint64_t offset;
	const char *text;
};

size_t capture_damage_count(const struct capture *capture); /* found by opening */
const struct capture_damage *capture_damage_get(const struct capture *capture, size_t index);

/* Whole-tape numbers known without decoding. */
struct capture_facts {
	uint64_t file_bytes;
	uint64_t spool_bytes; /* of the spool beside it, if it was needed */
	uint64_t chunk_count;
	uint64_t stream_count; /* with at least one chunk */
	uint64_t record_bytes; /* decoded */
	uint64_t node_count;
	uint64_t sealed_event_count;  /* sum over sealed chunks; open ones are not included */
	uint64_t missing_chunk_count; /* gaps in the seq of streams: whole chunks lost */
	uint64_t unused_tail_bytes;   /* after the last sound chunk */
};

const struct capture_facts *capture_facts(const struct capture *capture);

/*
 * Decodes every chunk and reports each: events counted, error NULL if it is valid, else the
 * problem. Does not stop at damage. Returns an error only for things that are not the tape's fault.
 */
struct err *capture_verify(const struct capture *capture,
			   void (*visit)(void *context, const struct capture_chunk *chunk,
					 uint64_t event_count, const char *error),
			   void *context);

/*
 * One event. Extended records are events as well, with fn TAPE_FN_EXTENDED: use only
 * capture_event_extended on them. So are latencies: with fn TAPE_FN_LATENCY, size is the duration
 * in ticks (not shifted) of the call recorded by the stream's previous event.
 */
struct capture_event {
	uint64_t ticks;	  /* shifted, as on the tape */
	uint64_t address; /* 0: the call failed */
	uint64_t size;	  /* requested */
	uint64_t usable;
	uint32_t stack;	 /* id in the stacks given to capture_play; CAPTURE_STACK_NONE */
	uint32_t fn : 8; /* enum tape_fn; < TAPE_FN_COUNT, TAPE_FN_LATENCY or TAPE_FN_EXTENDED */
	uint32_t stream : 24; /* index from 0 in the order of stream ids, < capture_stream_count */
};

static_assert(sizeof(struct capture_event) == 40, "two thirds of a cache line");

/* payload is valid only during the callback; payload_bytes may be up to a chunk's size. */
struct tape_extended_record capture_event_extended(const struct capture_event *event);

size_t capture_stream_count(const struct capture *capture);
uint32_t capture_stream_id(const struct capture *capture, size_t stream);

/*
 * Called on the playing thread, with events ordered by ticks; within a stream always in the order
 * of recording; at equal times frees before allocations. An error ends the play.
 */
struct capture_player {
	struct err *(*events)(void *context, const struct capture_event *events, size_t count);
	void *context;
	unsigned thread_count; /* decoding threads to start; 0: one per processor */
};

struct capture_played {
	uint64_t event_count; /* allocations and frees, not extended records */
	uint64_t extended_count;
	uint64_t damage_count;	     /* chunks that could be decoded only partly */
	uint64_t damage_offset;	     /* of the first of them */
	uint64_t unknown_node_count; /* events whose stack was lost with another chunk */
};

/*
 * Plays the tape once. stacks (empty or from an earlier play) receives the stacks and the modules.
 * Decodes ahead on other threads, which have ended on return. played_ret is filled on success.
 */
struct err *capture_play(const struct capture *capture, struct capture_stacks *stacks,
			 const struct capture_player *player, struct capture_played *played_ret);

/*
 * --- what a tape says at its beginning: whose it is. Cheap, however large the tape: a bounded number
 * of its first chunks is decoded. ---
 */

/* Of a PROCESS record; texts live in the arena. */
struct capture_process {
	const char *exe, *cwd;	 /* "": unknown */
	const char *const *argv; /* NULL-terminated */
	uint32_t argc;
	uint32_t page_bytes;
};

/* *process is unchanged where the record is too short to be one. */
struct err *capture_process_parse(const struct tape_extended_record *record, struct arena *arena,
				  struct capture_process *process);

struct capture_head {
	struct tape_header header;
	struct capture_process process; /* argv NULL: its record is not among the first chunks */
	const char *build_id;		/* of the program, hexadecimal; NULL: unknown */
};

/*
 * Of a tape that is complete, damaged or being written (then with its spool). Errors as those of
 * capture_open.
 */
struct err *capture_head_read(const char *path, struct arena *arena, struct capture_head *head);

#endif
