/*
 * control: requests of the server to the recording memtape, over a socket of whole messages. The
 * recording never waits for socket or server: the requester waits, a bounded time, for a reply.
 */
#ifndef MEMTAPE_HTTP_CONTROL_H
#define MEMTAPE_HTTP_CONTROL_H

#include <pthread.h>

#include "base/err.h"

enum {
	CONTROL_MARK_BYTES = 256, /* with the NUL; as in memtape_mark */
	CONTROL_TEXT_BYTES = 256
};

enum control_kind {
	CONTROL_MARK,
	CONTROL_SHOW,
	CONTROL_STOP,
	CONTROL_PAUSE,
	CONTROL_RESUME,
	CONTROL_SCAN
};

/* Between two processes of one binary. */
struct control_ask {
	uint32_t number;
	uint32_t kind; /* enum control_kind */
	char mark[CONTROL_MARK_BYTES];
	uint32_t scan; /* SCAN: how is this one? 0: begin one */
};

struct control_word {
	uint32_t number;      /* of the request; 0: recording has begun, with pause_ns */
	uint32_t done;	      /* 0: nothing is being recorded */
	uint64_t tape_bytes;  /* STOP: size of the whole tape; SHOW: of the part recorded until */
	uint64_t ticks;	      /* SHOW: the time of the request, in tape ticks */
	uint32_t has_changed; /* PAUSE, RESUME: 0: it was so already */
	uint32_t scan;	      /* SCAN: its number */
	uint32_t is_scanning; /* SCAN: 0: it has been made, or trouble says why not */
	uint64_t pause_ns;    /* SCAN: how long the program stood still */
	char trouble[CONTROL_TEXT_BYTES];
};

struct control {
	int fd;		      /* SOCK_SEQPACKET */
	uint32_t number;      /* of the last request; under the lock */
	pthread_mutex_t lock; /* one request at a time */
};

/* fd is closed by control_deinit; ERR_USAGE: not such a socket, it is left unchanged. */
struct err *control_init(struct control *control, int fd);
/* The same; fd is a number as of a command line. */
struct err *control_parse(const char *fd, struct control *control);
void control_deinit(struct control *control);

/* Whether a recording can still be controlled. NULL: there never was one. */
bool control_is_open(const struct control *control);

/*
 * Sets a mark on the tape, at the time when the recorder reads it, within 20 ms. Thread-safe.
 * ERR_USAGE: invalid text; ERR_UNSUPPORTED: control is NULL; ERR_STATE: the recording has ended,
 * has not begun or does not reply.
 */
struct err *control_mark(struct control *control, const char *text);

/* Brings the tape up to date with everything recorded so far. Errors as above. */
struct err *control_show(struct control *control, struct control_word *word_ret);

/* Allocations are not recorded any more, or again; *has_changed_ret: they were until now, or not. */
struct err *control_pause(struct control *control, bool is_paused, bool *has_changed_ret);

/*
 * Begins a leak scan if scan is 0, or joins the one that goes on, and says how it is; scan is then
 * the number to ask again with. ERR_STATE also: it has no result, for the reason that is told.
 */
struct err *control_scan(struct control *control, uint32_t scan, struct control_word *word_ret);

/* Waits until it says that recording has begun: ERR_STATE: it has ended instead. */
struct err *control_begun(struct control *control, struct control_word *word_ret);

/* Ends the recording now; the program goes on. */
struct err *control_stop(struct control *control, struct control_word *word_ret);

#endif
