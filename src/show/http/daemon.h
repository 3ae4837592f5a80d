/*
 * daemon: HTTP on the sockets of a listener. One thread per connection, and one that watches them:
 * it closes those that are too slow, and cancels a request whose client is gone.
 */
#ifndef MEMTAPE_HTTP_DAEMON_H
#define MEMTAPE_HTTP_DAEMON_H

#include "http/listen.h"
#include "http/server.h"

enum {
	DAEMON_CONNECTIONS = 32,
	DAEMON_HEADER_BYTES = 16 << 10,
	DAEMON_BODY_BYTES = 64 << 10,
	DAEMON_REQUEST_S = 10, /* from its first byte, or the previous answer, to its last */
	DAEMON_STALL_S = 20,   /* without a byte of an answer accepted */
};

struct daemon;

/* listener and server are borrowed until daemon_stop. */
struct err *daemon_start(struct server *server, const struct listener *listener,
			 struct daemon **daemon_ret);

/*
 * Accepts no more connections, cancels running requests and waits briefly for them. False: one
 * cannot be stopped now. It uses the server's data, so the process can only exit: daemon_stop would
 * wait for it. NULL is fine.
 */
bool daemon_end(struct daemon *daemon);

/* Cancels running requests and waits for them. NULL is fine. */
void daemon_stop(struct daemon *daemon);
CLEAN_DEFINE(daemon_stop, struct daemon *);

#endif
