/*
 * reception: one connection of a gatherer, from its greeting to its end.
 */
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/monotonic.h"
#include "gather/gatherer_state.h"

enum { TAKEOVER_S = 10, LAST_WORD_S = 5, LAST_WORD_LOOK_MS = 100 };

static void tell(struct stream *stream, enum gather_kind kind, const char *reason)
{
	struct gatherer *gatherer = stream->gatherer;
	const struct gather_event event = {
		.kind = kind,
		.name = stream->shelved.name[0] ? stream->shelved.name : NULL,
		.bytes = stream->shelved.end,
		.reason = reason,
	};

	pthread_mutex_lock(&gatherer->mutex);
	gatherer->counts.complete_count += kind == GATHER_COMPLETE;
	gatherer->counts.cut_count += kind == GATHER_CUT;
	gatherer->counts.refused_count += kind == GATHER_REFUSED;
	gatherer->settings->tell(gatherer->settings->context, &event);
	pthread_mutex_unlock(&gatherer->mutex);
}

/* Under the mutex: another connection of the same tape. */
static struct stream *rival_find(const struct stream *stream, const uint8_t *uuid)
{
	for (struct stream *at = stream->gatherer->streams; at; at = at->next)
		if (at != stream && at->has_tape && memcmp(at->uuid, uuid, sizeof(at->uuid)) == 0)
			return at;
	return NULL;
}

/* A sender that comes back may be earlier than the news that its old connection is cut. */
static struct err *tape_claim(struct stream *stream, const uint8_t *uuid)
{
	struct gatherer *gatherer = stream->gatherer;
	struct stream *rival;
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TAKEOVER_S;
	pthread_mutex_lock(&gatherer->mutex);
	while ((rival = rival_find(stream, uuid)) && rc == 0) {
		shutdown(rival->peer.fd, SHUT_RDWR);
		rc = pthread_cond_timedwait(&gatherer->gone, &gatherer->mutex, &until);
	}
	if (!rival) {
		memcpy(stream->uuid, uuid, sizeof(stream->uuid));
		stream->has_tape = true;
	}
	pthread_mutex_unlock(&gatherer->mutex);
	return rival ? err_new(ERR_STATE, "the tape is being received from somebody else") : NULL;
}

static struct err *begin(struct stream *stream, const uint8_t *payload, size_t bytes)
{
	struct wire_place place = { 0 };
	struct wire_tape tape;
	struct err *err = wire_begin_parse(payload, bytes, &tape);

	if (!err)
		err = tape_claim(stream, tape.header.uuid);
	if (!err)
		err = shelf_take(stream->gatherer->settings->shelf, &tape, &stream->shelved);
	if (!err)
		err = shelved_tail(&stream->shelved, &place.ready);
	if (err)
		return err;
	memcpy(place.name, stream->shelved.name, sizeof(place.name));
	stream->peer.deadline_ns = 0; /* from now on it may be silent: so may be the program */
	if (!stream->shelved.is_complete)
		tell(stream, stream->shelved.is_resumed ? GATHER_RESUMED : GATHER_BEGUN, NULL);
	return peer_say(&stream->peer, WIRE_READY,
			wire_ready_make(peer_payload(&stream->peer), &place));
}

static struct err *take_data(struct stream *stream, const uint8_t *payload, size_t bytes)
{
	struct gatherer *gatherer = stream->gatherer;
	struct err *err = shelved_append(gatherer->settings->shelf, &stream->shelved,
					 load_u64(payload), payload + 8, bytes - 8);

	if (err)
		return err;
	pthread_mutex_lock(&gatherer->mutex);
	gatherer->counts.byte_count += bytes - 8;
	pthread_mutex_unlock(&gatherer->mutex);
	store_u64(peer_payload(&stream->peer), stream->shelved.end);
	return peer_say(&stream->peer, WIRE_ACK, 8);
}

static struct err *take_end(struct stream *stream, const uint8_t *payload, bool *is_done_ret)
{
	struct wire_end end;
	bool is_equal;
	struct err *err;

	memcpy(&end, payload, sizeof(end));
	err = shelved_finish(&stream->shelved, &end, &is_equal);
	if (err)
		return err;
	if (is_equal && !stream->shelved.is_complete)
		tell(stream, GATHER_COMPLETE, NULL);
	*is_done_ret = is_equal;
	return peer_say(&stream->peer, is_equal ? WIRE_DONE : WIRE_UNEQUAL, 0);
}

static struct err *take(struct stream *stream, const struct wire_frame *frame, bool *is_done_ret)
{
	const uint8_t *payload = peer_payload(&stream->peer);

	if ((frame->type == WIRE_BEGIN) != (stream->shelved.fd < 0))
		return err_new(ERR_FORMAT, "a message of type %u out of its order", frame->type);
	switch (frame->type) {
	case WIRE_BEGIN:
		return begin(stream, payload, frame->bytes);
	case WIRE_DATA:
		return take_data(stream, payload, frame->bytes);
	case WIRE_HEADER:
		return shelved_header(&stream->shelved, payload);
	case WIRE_REWIND:
		return shelved_rewind(&stream->shelved, load_u64(payload));
	default:
		assert(frame->type == WIRE_END);
		return take_end(stream, payload, is_done_ret);
	}
}

/* Whether there is place among the known ones; it is one from now on. */
static bool become_known(struct stream *stream)
{
	struct gatherer *gatherer = stream->gatherer;
	bool has_room;

	pthread_mutex_lock(&gatherer->mutex);
	has_room = gatherer->stream_count - gatherer->stranger_count <
		   gatherer->settings->stream_count_max;
	if (has_room) {
		stream->is_known = true;
		gatherer->stranger_count--;
	}
	pthread_mutex_unlock(&gatherer->mutex);
	return has_room;
}

static struct err *receive(struct stream *stream, bool *is_done_ret)
{
	struct peer *peer = &stream->peer;
	struct wire_frame frame;
	struct err *err = NULL;

	while (!err && !*is_done_ret) {
		err = peer_hear(peer, WIRE_SENDER, &frame);
		if (!err)
			err = take(stream, &frame, is_done_ret);
	}
	return err;
}

/* Says why, if anybody listens, and waits for a moment until it is read. */
static void last_word(struct stream *stream, const struct err *err)
{
	struct peer *peer = &stream->peer;
	CLEAN(str_deinit) struct str text = { 0 };
	uint8_t rest[4096];

	str_add(&text, err_message(err));
	if (text.failed || text.len == 0)
		return;
	peer->deadline_ns = monotonic_ns() + UINT64_C(1000000000) * LAST_WORD_S;
	memcpy(peer_payload(peer), text.ptr, u64_min(text.len, WIRE_REASON_BYTES_MAX));
	err_destroy(peer_say(peer, WIRE_REFUSED, u64_min(text.len, WIRE_REASON_BYTES_MAX)));
	shutdown(peer->fd, SHUT_WR);
	/* an unread byte would make the kernel throw away what we have said */
	while (monotonic_ns() < peer->deadline_ns && !peer->gives_up(peer->context)) {
		ssize_t got;

		if (!peer_speaks(peer, LAST_WORD_LOOK_MS))
			continue;
		got = recv(peer->fd, rest, sizeof(rest), MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return;
	}
}

static bool is_cut(const struct err *err)
{
	const int number = err_errno_of(err);

	return number == ECONNRESET || number == EPIPE || number == ETIMEDOUT ||
	       number == ECANCELED || number == EHOSTUNREACH || number == ENETUNREACH ||
	       number == ECONNABORTED;
}

/* One that is gone, or that another gatherer was faster at, is none to be told of. */
static void found_refused(struct stream *stream, const struct err *err)
{
	struct gatherer *gatherer = stream->gatherer;

	if (is_cut(err) || err_errno_of(err) == ECONNREFUSED)
		return;
	pthread_mutex_lock(&gatherer->mutex);
	discovery_refused(gatherer, &stream->found, err_message(err));
	pthread_mutex_unlock(&gatherer->mutex);
}

static struct err *welcome(struct stream *stream)
{
	const struct gather_settings *settings = stream->gatherer->settings;
	struct err *err = settings->tls ? peer_protect(&stream->peer, settings->tls) : NULL;

	return err ? err : peer_greet(&stream->peer, settings->secret, stream, become_known);
}

void *reception_run(void *argument)
{
	struct stream *stream = argument;
	bool is_done = false;
	CLEAN(err_destroy) struct err *err = welcome(stream);

	if (err && stream->is_found) {
		found_refused(stream, err);
	} else if (err) {
		tell(stream, GATHER_REFUSED, err_message(err));
	} else {
		err = receive(stream, &is_done);
		if (err && is_cut(err)) {
			if (!is_done)
				tell(stream, GATHER_CUT, err_message(err));
		} else if (err) {
			tell(stream, GATHER_REFUSED, err_message(err));
			last_word(stream, err);
		}
	}
	stream_end(stream);
	return NULL;
}
