/*
 * connections: the clients, time limits for each of their phases, and whether they still wait.
 * Sockets are only inspected and shut down here; whoever opened them owns them.
 */
#ifndef MEMTAPE_HTTP_CONNECTIONS_H
#define MEMTAPE_HTTP_CONNECTIONS_H

#include <pthread.h>

#include "base/clean.h"

enum connection_phase {
	CONNECTION_WAITING, /* for a request, or the rest of one */
	CONNECTION_RUNNING, /* an answer is being computed */
	CONNECTION_SENDING,
	CONNECTION_STREAMING /* both; streams do not count towards the limit: they have their own */
};

/* One client; in the list while its socket is open. */
struct connection {
	struct connection *next;
	int fd;
	enum connection_phase phase;
	uint64_t until_ns; /* deadline of this phase; 0: none */
	bool cancel;	   /* the client is gone; atomic */
};

struct connections {
	pthread_mutex_t lock; /* of everything below, except cancel */
	struct connection *first;
	unsigned count;
	unsigned pending_count; /* announced, not in the list yet */
	uint64_t pending_ns;	/* time of the last announcement */
	unsigned max;
	bool is_ending; /* new ones are cancelled at once */
};

void connections_init(struct connections *connections, unsigned max);
void connections_deinit(struct connections *connections); /* the list must be empty */

/* Announces a connection; connections_begin will follow, unless something fails in between. */
void connections_expect(struct connections *connections);

/* Waits for a request for at most this many seconds. NULL: out of memory. */
struct connection *connections_begin(struct connections *connections, int fd, unsigned seconds);

/* Call before closing the socket: until then its number cannot be reused. NULL is fine. */
void connections_end(struct connections *connections, struct connection *connection);

/* seconds 0: no limit. connection may be NULL. */
void connections_enter(struct connections *connections, struct connection *connection,
		       enum connection_phase phase, uint64_t seconds);

/*
 * Ends connections that are too slow, and cancels requests of clients that are gone. Returns how
 * many more may connect; *are_any_ret: whether to check again soon.
 */
unsigned connections_watch(struct connections *connections, bool *are_any_ret);

/* All that are running, and those announced. */
void connections_cancel(struct connections *connections);

/* Whether any answer is being computed. */
bool connections_are_running(struct connections *connections);

#endif
