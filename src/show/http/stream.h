/*
 * stream: an answer that is made while it is sent and whose end nobody knows.
 */
#ifndef MEMTAPE_HTTP_STREAM_H
#define MEMTAPE_HTTP_STREAM_H

#include <stddef.h>

struct stream {
	/* Waits until there is something to send: bytes in buf, at most max; 0: it ends here. On
	 * one thread at a time. */
	size_t (*read)(struct stream *stream, char *buf, size_t max);
	void (*destroy)(struct stream *stream);
};

#endif
