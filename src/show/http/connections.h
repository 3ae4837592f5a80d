/*
 * connections: the clients there are, how long each may take for what it does, and whether it still
 * waits. Sockets are only looked at and shut down here; they belong to whoever opened them.
 */
#ifndef MEMTAPE_HTTP_CONNECTIONS_H
#define MEMTAPE_HTTP_CONNECTIONS_H

#include <pthread.h>

#include "base/clean.h"

enum connection_phase {
	CONNECTION_WAITING, /* for a request, or the rest of one */
	CONNECTION_RUNNING, /* an answer is being found */
	CONNECTION_SENDING,
	CONNECTION_STREAMING /* both; such are not counted to the limit: they have their own */
};

/* One client; in the list while its socket is open. */
struct connection {
	struct connection *next;
	int fd;
	enum connection_phase phase;
	uint64_t until_ns; /* when it has been in this phase too long; 0: no matter */
	bool cancel;	   /* nobody waits for the answer; atomic */
};

struct connections {
	pthread_mutex_t lock; /* of all that follows, but cancel */
	struct connection *first;
	unsigned count;
	unsigned pending_count; /* on their way into the list */
	uint64_t pending_ns;	/* since when the last is */
	unsigned max;
	bool is_ending; /* whoever still comes is cancelled at once */
};

void connections_init(struct connections *connections, unsigned max);
void connections_deinit(struct connections *connections); /* when the list is empty */

/* One comes, and connections_begin will follow, unless it goes wrong somewhere. */
void connections_expect(struct connections *connections);

/* In the phase of waiting for at most so many seconds. NULL: no memory. */
struct connection *connections_begin(struct connections *connections, int fd, unsigned seconds);

/* Before the socket is closed: until then its number cannot be another's. NULL is fine. */
void connections_end(struct connections *connections, struct connection *connection);

/* seconds 0: as long as it takes. connection may be NULL. */
void connections_enter(struct connections *connections, struct connection *connection,
		       enum connection_phase phase, uint64_t seconds);

/*
 * Ends those that are too slow, and cancels what runs for clients that are gone. How many more may
 * come; *are_any_ret: whether some have to be looked at again soon.
 */
unsigned connections_watch(struct connections *connections, bool *are_any_ret);

/* All that run, and those that are on their way. */
void connections_cancel(struct connections *connections);

/* Whether an answer is being found for anybody. */
bool connections_are_running(struct connections *connections);

#endif
