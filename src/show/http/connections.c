#include "http/connections.h"

#include "base/monotonic.h"

#include <assert.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

static const uint64_t NS_PER_S = 1000000000;
static const uint64_t PENDING_NS = UINT64_C(2) * 1000000000;

void connections_init(struct connections *connections, unsigned max)
{
	assert(max > 0);
	*connections = (struct connections) { .max = max };
	pthread_mutex_init(&connections->lock, NULL);
}

void connections_deinit(struct connections *connections)
{
	pthread_mutex_destroy(&connections->lock);
}

void connections_expect(struct connections *connections)
{
	pthread_mutex_lock(&connections->lock);
	connections->pending_count++;
	connections->pending_ns = monotonic_ns();
	pthread_mutex_unlock(&connections->lock);
}

struct connection *connections_begin(struct connections *connections, int fd, unsigned seconds)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	assert(fd >= 0);
	if (!connection)
		return NULL;
	connection->fd = fd;
	connection->until_ns = monotonic_ns() + seconds * NS_PER_S;
	pthread_mutex_lock(&connections->lock);
	connection->cancel = connections->is_ending;
	connection->next = connections->first;
	connections->first = connection;
	connections->count++;
	connections->pending_count -= connections->pending_count > 0;
	pthread_mutex_unlock(&connections->lock);
	return connection;
}

void connections_end(struct connections *connections, struct connection *connection)
{
	struct connection **at = &connections->first;

	if (!connection)
		return;
	pthread_mutex_lock(&connections->lock);
	while (*at && *at != connection)
		at = &(*at)->next;
	if (*at) {
		*at = connection->next;
		connections->count--;
	}
	pthread_mutex_unlock(&connections->lock);
	free(connection);
}

void connections_enter(struct connections *connections, struct connection *connection,
		       enum connection_phase phase, uint64_t seconds)
{
	assert(phase <= CONNECTION_STREAMING);
	if (!connection)
		return;
	pthread_mutex_lock(&connections->lock);
	connection->phase = phase;
	connection->until_ns = seconds ? monotonic_ns() + seconds * NS_PER_S : 0;
	pthread_mutex_unlock(&connections->lock);
}

static void watch(struct connection *connection, uint64_t now)
{
	struct pollfd poll_fd = { .fd = connection->fd, .events = POLLRDHUP };

	const bool is_streaming = connection->phase == CONNECTION_STREAMING;

	if ((connection->phase == CONNECTION_RUNNING || is_streaming) && poll(&poll_fd, 1, 0) > 0)
		__atomic_store_n(&connection->cancel, true, __ATOMIC_RELAXED);
	if (connection->phase != CONNECTION_RUNNING && connection->until_ns &&
	    now > connection->until_ns) {
		shutdown(connection->fd, SHUT_RDWR);
		connection->until_ns = 0;
	}
}

unsigned connections_watch(struct connections *connections, bool *are_any_ret)
{
	const uint64_t now = monotonic_ns();
	unsigned count, streaming = 0;

	pthread_mutex_lock(&connections->lock);
	for (struct connection *at = connections->first; at; at = at->next) {
		watch(at, now);
		streaming += at->phase == CONNECTION_STREAMING;
	}
	if (now - connections->pending_ns > PENDING_NS) /* they never arrived, without notice */
		connections->pending_count = 0;
	count = connections->count - streaming + connections->pending_count;
	pthread_mutex_unlock(&connections->lock);
	*are_any_ret = count + streaming > 0;
	return count < connections->max ? connections->max - count : 0;
}

void connections_cancel(struct connections *connections)
{
	pthread_mutex_lock(&connections->lock);
	connections->is_ending = true;
	for (struct connection *at = connections->first; at; at = at->next)
		__atomic_store_n(&at->cancel, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&connections->lock);
}

bool connections_are_running(struct connections *connections)
{
	bool are_any = false;

	pthread_mutex_lock(&connections->lock);
	for (const struct connection *at = connections->first; at; at = at->next)
		are_any |= at->phase == CONNECTION_RUNNING;
	pthread_mutex_unlock(&connections->lock);
	return are_any;
}
