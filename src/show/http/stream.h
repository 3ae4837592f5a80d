/*
 * stream: an answer made while it is sent, of unknown length.
 */
#ifndef MEMTAPE_HTTP_STREAM_H
#define MEMTAPE_HTTP_STREAM_H

#include <stddef.h>

struct stream {
	/* Waits for something to send: bytes in buf, at most max; 0: end. One thread at a time. */
	size_t (*read)(struct stream *stream, char *buf, size_t max);
	void (*destroy)(struct stream *stream);
};

#endif
