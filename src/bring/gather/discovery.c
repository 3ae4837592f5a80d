/*
 * discovery: senders that announce themselves. A datagram may come from anybody, and its sender's address be
 * made up: so it is good for one connection, of a bounded number, in which the other end has to prove itself
 * as any other sender does.
 */
#include <assert.h>
#include <errno.h>
#include <netdb.h>

#include "base/monotonic.h"
#include "gather/gatherer_state.h"

enum {
	AT_ONCE_MAX = 64, /* datagrams */
	AGAIN_S = 3,	  /* after a connection was tried */
	UNFIT_S = 60,	  /* where none makes sense */
	TELL_S = 1,
	DATAGRAM_BYTES = 512
};

static uint64_t seconds(unsigned count)
{
	return UINT64_C(1000000000) * count;
}

static socklen_t found_bytes(const struct found *found)
{
	return found->at.any.sa_family == AF_INET6 ? sizeof(found->at.v6) : sizeof(found->at.v4);
}

/* Both are zeros where nothing was filled in. */
static bool is_same(const struct found *left, const struct found *right)
{
	return memcmp(&left->at, &right->at, sizeof(left->at)) == 0 &&
	       memcmp(left->uuid, right->uuid, sizeof(left->uuid)) == 0;
}

/* --- telling ------------------------------------------------------------------------------- */

static void found_name(const struct found *found, char text[NI_MAXHOST + 16])
{
	const bool is_v6 = found->at.any.sa_family == AF_INET6;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo(&found->at.any, found_bytes(found), host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		host[0] = port[0] = '\0';
	str_format(text, NI_MAXHOST + 16, is_v6 ? "[%s]:%s" : "%s:%s", host, port);
}

void discovery_refused(struct gatherer *gatherer, const struct found *found, const char *reason)
{
	const uint64_t now_ns = monotonic_ns();
	char name[NI_MAXHOST + 16];
	const struct gather_event event = {
		.kind = GATHER_REFUSED,
		.reason = reason,
		.from = name,
	};

	gatherer->counts.refused_count++;
	if (gatherer->told_ns && now_ns - gatherer->told_ns < seconds(TELL_S))
		return;
	gatherer->told_ns = now_ns;
	found_name(found, name);
	gatherer->settings->tell(gatherer->settings->context, &event);
}

/* --- whom to connect to -------------------------------------------------------------------- */

/* Whether it was tried a moment ago. */
static bool is_early(const struct gatherer *gatherer, const struct found *found)
{
	const uint64_t now_ns = monotonic_ns();

	for (size_t i = 0; i < FOUND_REMEMBERED; i++)
		if (now_ns < gatherer->tried[i].until_ns &&
		    is_same(found, &gatherer->tried[i].found))
			return true;
	return false;
}

static void remember(struct gatherer *gatherer, const struct found *found, unsigned s)
{
	struct tried *tried = &gatherer->tried[gatherer->tried_at];

	*tried = (struct tried) { *found, monotonic_ns() + seconds(s) };
	gatherer->tried_at = (gatherer->tried_at + 1) % FOUND_REMEMBERED;
}

/* There is a connection to it, or its tape comes already, or there is no place for one more. */
static bool is_superfluous(struct gatherer *gatherer, const struct found *found)
{
	size_t found_count = 0;
	bool is = false;

	pthread_mutex_lock(&gatherer->mutex);
	for (const struct stream *at = gatherer->streams; at; at = at->next) {
		is |= at->is_found && is_same(found, &at->found);
		is |= at->has_tape && memcmp(at->uuid, found->uuid, sizeof(at->uuid)) == 0;
		found_count += at->is_found && !at->is_known;
	}
	is |= found_count >= GATHER_FOUND_MAX;
	is |= gatherer->stream_count - gatherer->stranger_count >=
	      gatherer->settings->stream_count_max;
	pthread_mutex_unlock(&gatherer->mutex);
	return is;
}

/* NULL: it may be connected to. */
static const char *is_unfit(const struct gatherer *gatherer, const struct wire_announcement *words)
{
	const bool has_token = words->flags & WIRE_HAS_TOKEN;

	if (words->version != WIRE_VERSION)
		return "it announces another version";
	if (has_token == (gatherer->settings->secret->len > 0))
		return NULL;
	return has_token ? "it announces that it wants a token"
			 : "it announces that it has no token";
}

/* Its thread waits until it is connected, as for all else. */
static void found_connect(struct gatherer *gatherer, const struct found *found)
{
	CLEAN(close)
	int fd = socket(found->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	if (connect(fd, &found->at.any, found_bytes(found)) == 0 || errno == EINPROGRESS)
		gatherer_take(gatherer, steal_fd(&fd), found);
}

static void found_take(struct gatherer *gatherer, const struct found *found,
		       const struct wire_announcement *words)
{
	const char *why = is_unfit(gatherer, words);

	if (is_early(gatherer, found) || (!why && is_superfluous(gatherer, found)))
		return;
	remember(gatherer, found, why ? UNFIT_S : AGAIN_S);
	if (!why) {
		found_connect(gatherer, found);
		return;
	}
	pthread_mutex_lock(&gatherer->mutex);
	discovery_refused(gatherer, found, why);
	pthread_mutex_unlock(&gatherer->mutex);
}

/* --- datagrams ----------------------------------------------------------------------------- */

/* The address that it comes from, with the port that it says. */
static bool found_fill(struct found *found, const struct wire_announcement *words)
{
	memcpy(found->uuid, words->uuid, sizeof(found->uuid));
	switch (found->at.any.sa_family) {
	case AF_INET:
		found->at.v4.sin_port = htons(words->port);
		return true;
	case AF_INET6:
		found->at.v6.sin6_port = htons(words->port);
		found->at.v6.sin6_flowinfo = 0;
		return true;
	default:
		return false;
	}
}

bool discovery_look(struct gatherer *gatherer)
{
	assert(gatherer->settings->datagrams >= 0);
	for (int i = 0; i < AT_ONCE_MAX; i++) {
		struct found found;
		struct wire_announcement words;
		uint8_t bytes[DATAGRAM_BYTES];
		socklen_t len = sizeof(found.at);
		struct err *err;
		ssize_t got;

		memset(&found, 0, sizeof(found));
		got = recvfrom(gatherer->settings->datagrams, bytes, sizeof(bytes), MSG_DONTWAIT,
			       &found.at.any, &len);
		if (got < 0)
			return errno == EAGAIN || errno == EINTR;
		err = wire_announcement_parse(bytes, (size_t)got, &words);
		if (err || !found_fill(&found, &words)) {
			pthread_mutex_lock(&gatherer->mutex);
			gatherer->counts.ignored_count++;
			pthread_mutex_unlock(&gatherer->mutex);
		} else {
			found_take(gatherer, &found, &words);
		}
		err_destroy(err);
	}
	return true;
}
