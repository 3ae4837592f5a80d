#include "gather/gatherer.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/monotonic.h"
#include "gather/gatherer_state.h"

enum { STACK_BYTES = 512 << 10, STRANGER_S = 10, PAUSE_MS = 50, END_WAIT_S = 10 };

static bool is_ending(void *context)
{
	const struct gatherer *gatherer = context;

	return atomic_load(&gatherer->is_ending);
}

static void stream_remove(struct stream *stream)
{
	struct gatherer *gatherer = stream->gatherer;

	for (struct stream **at = &gatherer->streams; *at; at = &(*at)->next) {
		if (*at != stream)
			continue;
		*at = stream->next;
		gatherer->stream_count--;
		gatherer->stranger_count -= !stream->is_known;
		break;
	}
}

void stream_end(struct stream *stream)
{
	struct gatherer *gatherer = stream->gatherer;

	shelved_close(&stream->shelved);
	pthread_mutex_lock(&gatherer->mutex);
	stream_remove(stream);
	peer_deinit(&stream->peer);
	free(stream);
	pthread_cond_broadcast(&gatherer->gone);
	pthread_mutex_unlock(&gatherer->mutex);
}

/* Under the mutex: the stranger that has been here longest goes. */
static void stranger_shut(struct gatherer *gatherer)
{
	struct stream *oldest = NULL;

	for (struct stream *at = gatherer->streams; at; at = at->next)
		if (!at->is_known && !at->is_counted_out)
			oldest = at;
	if (!oldest)
		return;
	oldest->is_counted_out = true;
	shutdown(oldest->peer.fd, SHUT_RDWR);
}

static struct stream *stream_add(struct gatherer *gatherer, int fd, const struct found *found)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->gatherer = gatherer;
	stream->shelved.fd = -1;
	stream->is_found = found != NULL;
	if (found)
		stream->found = *found;
	peer_init(&stream->peer, fd);
	stream->peer.gives_up = is_ending;
	stream->peer.context = gatherer;
	stream->peer.deadline_ns = monotonic_ns() + UINT64_C(1000000000) * STRANGER_S;
	pthread_mutex_lock(&gatherer->mutex);
	if (!found && gatherer->stranger_count >= GATHER_STRANGERS_MAX)
		stranger_shut(gatherer);
	stream->next = gatherer->streams;
	gatherer->streams = stream;
	gatherer->stream_count++;
	gatherer->stranger_count++;
	pthread_mutex_unlock(&gatherer->mutex);
	return stream;
}

/* Under the mutex: those that are shut down still need a moment. */
static bool has_room(struct gatherer *gatherer)
{
	bool has;

	pthread_mutex_lock(&gatherer->mutex);
	has = gatherer->stranger_count < 2 * GATHER_STRANGERS_MAX;
	pthread_mutex_unlock(&gatherer->mutex);
	return has;
}

void gatherer_take(struct gatherer *gatherer, int fd, const struct found *found)
{
	struct stream *stream = stream_add(gatherer, fd, found);
	pthread_attr_t attributes;
	pthread_t thread;
	int rc;

	if (!stream) {
		close(fd);
		return;
	}
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attributes, reception_run, stream);
	pthread_attr_destroy(&attributes);
	if (rc)
		stream_end(stream);
}

/* Takes what comes; where there is no room, or no descriptor, it waits in the kernel's queue. */
static void accept_some(struct gatherer *gatherer, int *pause_ms)
{
	int fd;

	*pause_ms = 0;
	if (!has_room(gatherer)) {
		*pause_ms = PAUSE_MS;
		return;
	}
	fd = accept4(gatherer->settings->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		gatherer_take(gatherer, fd, NULL);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		*pause_ms = PAUSE_MS;
}

static bool has_signal(const sigset_t *signals, int wait_ms)
{
	const struct timespec wait = { .tv_nsec = wait_ms * 1000000L };

	return sigtimedwait(signals, NULL, &wait) > 0;
}

/* Signals are looked for between waits: nothing is lost, they are blocked. */
static void accept_until_signal(struct gatherer *gatherer, const sigset_t *signals)
{
	struct pollfd polls[2] = { { .fd = gatherer->settings->listener, .events = POLLIN },
				   { .fd = gatherer->settings->datagrams, .events = POLLIN } };
	int pause_ms = 0;

	while (!has_signal(signals, pause_ms)) {
		pause_ms = 0;
		if (poll(polls, array_size(polls), 2 * PAUSE_MS) <= 0)
			continue;
		if (polls[0].revents)
			accept_some(gatherer, &pause_ms);
		if (polls[1].revents && !discovery_look(gatherer))
			pause_ms = PAUSE_MS;
	}
}

/* Threads look whether it ends several times a second; what they write is bounded. */
static bool streams_end(struct gatherer *gatherer)
{
	struct timespec until;
	bool is_done;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_WAIT_S;
	atomic_store(&gatherer->is_ending, true);
	pthread_mutex_lock(&gatherer->mutex);
	while (gatherer->streams && rc == 0)
		rc = pthread_cond_timedwait(&gatherer->gone, &gatherer->mutex, &until);
	is_done = !gatherer->streams;
	pthread_mutex_unlock(&gatherer->mutex);
	return is_done;
}

struct err *gather_until_signal(const struct gather_settings *settings, const sigset_t *signals,
				struct gather_counts *counts_ret)
{
	struct gatherer *gatherer = calloc(1, sizeof(*gatherer));

	if (!gatherer)
		return err_nomem();
	assert(settings->shelf && settings->tell && settings->stream_count_max > 0);
	gatherer->settings = settings;
	pthread_mutex_init(&gatherer->mutex, NULL);
	pthread_cond_init(&gatherer->gone, NULL);
	accept_until_signal(gatherer, signals);
	if (!streams_end(gatherer)) /* a disk that hangs: threads still use all of it */
		return err_new(ERR_STATE, "not all streams could be ended");
	*counts_ret = gatherer->counts;
	pthread_mutex_destroy(&gatherer->mutex);
	pthread_cond_destroy(&gatherer->gone);
	free(gatherer);
	return NULL;
}
