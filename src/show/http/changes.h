/*
 * changes: what is served, sent again whenever it changes: the text/event-stream of /api/v1/events.
 *
 * An event is the object of /api/v1/info without `ms`. Its id is a hash of what it says, so that
 * a client that comes back with the last id it has seen gets only what is new to it, by this server
 * or by another of the same tapes.
 */
#ifndef MEMTAPE_HTTP_CHANGES_H
#define MEMTAPE_HTTP_CHANGES_H

#include "base/err.h"
#include "http/stream.h"

struct server;

enum {
	CHANGES_PERIOD_MS = 500,  /* at least so long between two of them */
	CHANGES_QUIET_MS = 10000, /* after which a stream says that it is still there */
	CHANGES_STREAMS_MAX = 32  /* of a server at once */
};

/*
 * last_id: what the client has seen, NULL: nothing. It ends when *cancel is set (NULL: never),
 * which is atomic and looked at some ten times a second. server outlives it. ERR_STATE: there are
 * too many.
 */
struct err *changes_create(struct server *server, const bool *cancel, const char *last_id,
			   struct stream **stream_ret);

#endif
