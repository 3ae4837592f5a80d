/*
 * control: what the server asks of the memtape that records, over a socket of whole messages. The
 * recording waits for neither socket nor server: who asks waits, a bounded time, for its word.
 */
#ifndef MEMTAPE_HTTP_CONTROL_H
#define MEMTAPE_HTTP_CONTROL_H

#include <pthread.h>

#include "base/err.h"

enum { CONTROL_MARK_BYTES = 256 }; /* with the NUL; as memtape_mark has it */

enum control_kind { CONTROL_MARK, CONTROL_SHOW, CONTROL_STOP };

/* Between two processes of one binary. */
struct control_ask {
	uint32_t number;
	uint32_t kind; /* enum control_kind */
	char mark[CONTROL_MARK_BYTES];
};

struct control_word {
	uint32_t number;     /* of what was asked */
	uint32_t done;	     /* 0: nothing is recorded at present */
	uint64_t tape_bytes; /* STOP: of the whole tape; SHOW: so much of the tape is of the time
				until */
	uint64_t ticks;	     /* SHOW: this moment, as times are on the tape */
};

struct control {
	int fd;		      /* SOCK_SEQPACKET */
	uint32_t number;      /* of what was asked last; under the lock */
	pthread_mutex_t lock; /* one question at a time */
};

/* fd is closed by control_deinit; ERR_USAGE: it is no such socket, and stays as it is. */
struct err *control_init(struct control *control, int fd);
void control_deinit(struct control *control);

/* Whether there still is a recording to be asked. NULL: there never was. */
bool control_is_open(const struct control *control);

/*
 * A mark on the tape, of the moment when the recorder reads it, 20 ms from now at most. Any thread.
 * ERR_USAGE: no text for a mark; ERR_UNSUPPORTED: control is NULL; ERR_STATE: the recording has
 * ended, has not begun or does not answer.
 */
struct err *control_mark(struct control *control, const char *text);

/* Has all that was recorded until now put on the tape. Errors as above. */
struct err *control_show(struct control *control, struct control_word *word_ret);

/* Ends the recording now; the program goes on. */
struct err *control_stop(struct control *control, struct control_word *word_ret);

#endif
