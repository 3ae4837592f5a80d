/*
 * line: the sender's connection. Nothing waits without bound: while it waits, the sender looks several
 * times a second whether it still wants to. No signal comes of a connection that is cut.
 */
#ifndef MEMTAPE_STREAM_LINE_H
#define MEMTAPE_STREAM_LINE_H

#include "stream/stream.h"

struct line {
	int fd;		      /* -1: none */
	uint64_t deadline_ns; /* monotonic; 0: none */
	bool (*gives_up)(void *context);
	void *context;
	uint8_t frame[sizeof(struct wire_frame) + WIRE_PAYLOAD_BYTES_MAX];
};

uint64_t line_now_ns(void);

/* Sleeps that long, or until the line has something to read (fd >= 0). False: the sender gives up. */
bool line_pause(struct line *line, unsigned ms);

/* False: in vain. */
bool line_connect(struct line *line, const struct stream_target *target);
/* A socket that is connected; it becomes the line's. */
void line_take(struct line *line, int fd);
void line_close(struct line *line);

bool line_read(struct line *line, void *bytes, size_t len);
bool line_write(struct line *line, const void *bytes, size_t len);

/*
 * Both sides prove that they know the token. STREAM_CONNECTED; STREAM_BEGUN: not now, try again; else why
 * not.
 */
enum stream_state line_prove(struct line *line, const struct stream_token *token);

/* Where the payload of the next frame is to be put, or that of the last one is. */
static inline uint8_t *line_payload(struct line *line)
{
	return line->frame + sizeof(struct wire_frame);
}

bool line_say(struct line *line, enum wire_type type, size_t bytes);

/* A frame of the gatherer; false: it is none, or the line is cut. */
bool line_hear(struct line *line, struct wire_frame *frame);
bool line_speaks(const struct line *line);

/* Whether a gatherer may say that, and of that length. */
bool line_frame_is_known(const struct wire_frame *frame);

#endif
