/*
 * changes: the served tapes, sent again whenever they change: the text/event-stream of
 * /api/v1/events.
 *
 * An event is the object of /api/v1/info without `ms`. Its id is a hash of its contents, so that a
 * client that reconnects with the last id it has seen only gets news, from this server or from
 * another with the same tapes.
 */
#ifndef MEMTAPE_HTTP_CHANGES_H
#define MEMTAPE_HTTP_CHANGES_H

#include "base/err.h"
#include "http/stream.h"

struct server;

enum {
	CHANGES_PERIOD_MS = 500,  /* minimum interval between events */
	CHANGES_QUIET_MS = 10000, /* after this time a stream sends a keep-alive */
	CHANGES_STREAMS_MAX = 32  /* per server */
};

/*
 * last_id: the last event the client has seen, NULL: none. Ends when *cancel is set (NULL: never),
 * which is atomic and checked some ten times a second. server outlives it. ERR_STATE: too many
 * streams.
 */
struct err *changes_create(struct server *server, const bool *cancel, const char *last_id,
			   struct stream **stream_ret);

#endif
