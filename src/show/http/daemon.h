/*
 * daemon: HTTP on the sockets of a listener. A thread a connection, and one that watches them: it
 * ends those that are too slow, and cancels a request whose client is gone.
 */
#ifndef MEMTAPE_HTTP_DAEMON_H
#define MEMTAPE_HTTP_DAEMON_H

#include "http/listen.h"
#include "http/server.h"

enum {
	DAEMON_CONNECTIONS = 32,
	DAEMON_HEADER_BYTES = 16 << 10,
	DAEMON_BODY_BYTES = 64 << 10,
	DAEMON_REQUEST_S = 10, /* from its first byte, or the answer before it, to its last */
	DAEMON_STALL_S = 20,   /* without a byte of an answer taken */
};

struct daemon;

/* listener and server are borrowed until daemon_stop. */
struct err *daemon_start(struct server *server, const struct listener *listener,
			 struct daemon **daemon_ret);

/*
 * Takes no more connections, cancels what runs and waits a moment for its end. False: something
 * cannot be stopped now. It uses all that the server has, so the process can only leave:
 * daemon_stop would wait for it. NULL is fine.
 */
bool daemon_end(struct daemon *daemon);

/* Cancels what runs and waits for it. NULL is fine. */
void daemon_stop(struct daemon *daemon);
CLEAN_DEFINE(daemon_stop, struct daemon *);

#endif
