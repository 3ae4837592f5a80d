#include "gather/sender.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/monotonic.h"
#include "gather/peer.h"
#include "gather/sender_state.h"

enum {
	LOOK_MS = 100,
	CONNECT_S = 10,
	BACKOFF_MS_MIN = 200,
	BACKOFF_MS_MAX = 10000,
	HEAR_MAX = 1000, /* messages at a time: there is more to do than to listen */
	UNEQUAL_MAX = 2	 /* times that a tape is sent anew from its beginning */
};

/* --- waiting ------------------------------------------------------------------------------- */

/* Whether a program may still become another one, whose tape takes the name of this. */
static bool recording_goes_on(struct sender *sender)
{
	const struct sender_settings *settings = sender->settings;

	if (!settings->goes_on || sender->over_ns)
		return false;
	if (settings->goes_on(settings->context))
		return true;
	sender->over_ns = monotonic_ns();
	return false;
}

/* What a recording has left is limited in time as a whole; else it is enough that it goes on. */
static bool is_late(struct sender *sender)
{
	const struct sender_settings *settings = sender->settings;
	const bool goes_on = recording_goes_on(sender);
	const uint64_t later_ns = settings->follows ? sender->over_ns : sender->progress_ns;

	return !goes_on && sender->ended_ns &&
	       monotonic_ns() - u64_max(sender->ended_ns, later_ns) >= settings->wait_ns;
}

/* While something waits, the recording may end: only this is looked at, the file stays what it is. */
static void end_look(struct sender *sender)
{
	uint8_t page[TAPE_HEADER_BYTES];
	struct stat status;

	if (sender->fd < 0 || sender->ended_ns || sender->is_replaced ||
	    monotonic_ns() - sender->looked_ns < UINT64_C(1000000) * LOOK_MS)
		return;
	sender->looked_ns = monotonic_ns();
	if (file_read_at(sender->fd, page, sizeof(page), 0) == sizeof(page) &&
	    !tape_has_writer(sender->fd, page) && stat(sender->settings->path, &status) == 0 &&
	    status.st_ino == sender->status.st_ino)
		sender->ended_ns = monotonic_ns();
}

static bool gives_up(void *context)
{
	struct sender *sender = context;

	if (sender->settings->is_stopped(sender->settings->context))
		return true;
	end_look(sender);
	return is_late(sender);
}

static bool pause_ms(struct sender *sender, unsigned ms)
{
	const uint64_t until = monotonic_ns() + UINT64_C(1000000) * ms;
	const struct timespec pause = { .tv_nsec = LOOK_MS / 4 * 1000000L };

	while (monotonic_ns() < until) {
		if (gives_up(sender))
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Whoever was to write it is gone, or the user wants no more. */
static struct err *tape_await(struct sender *sender)
{
	bool is_there = false;
	struct err *err = tape_open(sender, &is_there);

	while (!err && !is_there) {
		if (getppid() != sender->parent || !pause_ms(sender, LOOK_MS / 4)) {
			sender->is_final = true;
			return err_new(ERR_STATE, "%s: there was nothing to send",
				       sender->settings->path);
		}
		err = tape_open(sender, &is_there);
	}
	return err;
}

/* --- one connection ------------------------------------------------------------------------ */

static struct err *say_header(struct sender *sender, struct peer *peer)
{
	if (memcmp(sender->page, sender->said, sizeof(sender->page)) == 0)
		return NULL;
	memcpy(sender->said, sender->page, sizeof(sender->said));
	memcpy(peer_payload(peer), sender->page, sizeof(sender->page));
	return peer_say(peer, WIRE_HEADER, sizeof(sender->page));
}

static struct err *say_rewind(struct sender *sender, struct peer *peer, uint64_t end)
{
	sender->sent_end = end;
	sender->result->there_bytes = end;
	store_u64(peer_payload(peer), end);
	return peer_say(peer, WIRE_REWIND, 8);
}

static struct err *heard(struct sender *sender, struct peer *peer, struct wire_frame *frame)
{
	CLEAN(str_deinit) struct str reason = { 0 };
	struct err *err = peer_hear(peer, WIRE_GATHERER, frame);

	if (err)
		return err;
	if (frame->type == WIRE_ACK) {
		sender->result->there_bytes = u64_min(load_u64(peer_payload(peer)), sender->bytes);
		sender->progress_ns = monotonic_ns();
	}
	if (frame->type != WIRE_REFUSED)
		return NULL;
	wire_refused_parse(peer_payload(peer), frame->bytes, &reason);
	sender->is_final = true;
	return err_new(ERR_STATE, "the gatherer refuses it: %s", str_text(&reason));
}

/* Takes what was said meanwhile. */
static struct err *hear_all(struct sender *sender, struct peer *peer)
{
	struct wire_frame frame;
	struct err *err = NULL;

	for (int i = 0; !err && i < HEAR_MAX && peer_speaks(peer, 0); i++)
		err = heard(sender, peer, &frame);
	return err;
}

static struct err *say_data(struct sender *sender, struct peer *peer)
{
	const size_t wanted =
		(size_t)u64_min(sender->bytes - sender->sent_end, WIRE_DATA_BYTES_MAX);
	const ssize_t got =
		file_read_at(sender->fd, peer_payload(peer) + 8, wanted, sender->sent_end);
	struct err *err;

	if (got < 0)
		return tape_final(sender, err_errno("read"));
	if (got == 0) /* cut since it was looked at */
		return tape_look(sender);
	store_u64(peer_payload(peer), sender->sent_end);
	err = peer_say(peer, WIRE_DATA, 8 + (size_t)got);
	if (!err)
		sender->sent_end += (uint64_t)got;
	return err ? err : hear_all(sender, peer);
}

/* All of it is said: is it all there? */
static struct err *say_end(struct sender *sender, struct peer *peer)
{
	struct wire_end end = { .end = sender->bytes };
	struct wire_frame frame = { 0 };
	struct err *err = crypto_digest(sender->fd, TAPE_HEADER_BYTES, sender->bytes, end.digest);

	if (err)
		return tape_final(sender, err);
	memcpy(peer_payload(peer), &end, sizeof(end));
	err = peer_say(peer, WIRE_END, sizeof(end));
	while (!err && frame.type != WIRE_DONE && frame.type != WIRE_UNEQUAL)
		err = heard(sender, peer, &frame);
	if (err)
		return err;
	if (frame.type == WIRE_DONE) {
		sender->result->is_complete = true;
		sender->result->there_bytes = sender->bytes;
		return NULL;
	}
	if (++sender->unequal_count > UNEQUAL_MAX) {
		sender->is_final = true;
		return err_new(ERR_STATE, "what the gatherer has differs from the tape, again");
	}
	return say_rewind(sender, peer, TAPE_HEADER_BYTES);
}

/* One look at the tape, and whatever there is to say of it. */
static struct err *say_news(struct sender *sender, struct peer *peer)
{
	struct err *err = tape_look(sender);

	if (!err && (sender->sent_end == 0 || sender->bytes < sender->sent_end))
		err = say_rewind(sender, peer,
				 sender->sent_end ? u64_max(sender->bytes, TAPE_HEADER_BYTES)
						  : TAPE_HEADER_BYTES);
	if (!err)
		err = say_header(sender, peer);
	while (!err && sender->sent_end < sender->bytes)
		err = say_data(sender, peer);
	if (!err && sender->ended_ns && sender->sent_end == sender->bytes)
		return say_end(sender, peer);
	if (!err)
		peer_speaks(peer, LOOK_MS);
	return err ? err : hear_all(sender, peer);
}

/* What the gatherer has must be the beginning of the tape. */
static struct err *agree(struct sender *sender, struct peer *peer, const struct wire_ready *ready)
{
	uint8_t digest[WIRE_DIGEST_BYTES];
	struct err *err;

	sender->sent_end = ready->end;
	sender->result->there_bytes = ready->end;
	if (ready->end > sender->bytes)
		return say_rewind(sender, peer, TAPE_HEADER_BYTES);
	err = crypto_digest(sender->fd, ready->end - ready->tail_bytes, ready->end, digest);
	if (err)
		return tape_final(sender, err);
	return crypto_equal(digest, ready->digest, sizeof(digest))
		       ? NULL
		       : say_rewind(sender, peer, TAPE_HEADER_BYTES);
}

static struct err *say_begin(struct sender *sender, struct peer *peer)
{
	struct wire_frame frame;
	struct wire_place place;
	struct utsname host;
	size_t bytes;
	struct err *err;

	uname(&host);
	memcpy(sender->said, sender->page, sizeof(sender->said));
	bytes = wire_begin_make(peer_payload(peer), sender->page, host.nodename,
				sender->settings->program);
	err = peer_say(peer, WIRE_BEGIN, bytes);
	if (!err)
		err = heard(sender, peer, &frame);
	if (!err && frame.type != WIRE_READY)
		err = err_new(ERR_FORMAT, "the gatherer is not ready");
	if (!err)
		err = wire_ready_parse(peer_payload(peer), frame.bytes, &place);
	if (err)
		return err;
	memcpy(sender->result->name, place.name, sizeof(sender->result->name));
	return agree(sender, peer, &place.ready);
}

static struct err *connection_run(struct sender *sender)
{
	const struct sender_settings *settings = sender->settings;
	const uint64_t deadline_ns = monotonic_ns() + UINT64_C(1000000000) * CONNECT_S;
	CLEAN(free) struct peer *peer = malloc(sizeof(*peer));
	struct err *err;
	int fd;

	if (!peer)
		return err_nomem();
	err = address_connect(&settings->address,
			      settings->secret->len == 0 && !settings->allows_strangers,
			      deadline_ns, gives_up, sender, &fd);
	sender->is_final = err && err_code_of(err) == ERR_STATE;
	if (err)
		return err;
	peer_init(peer, fd);
	peer->gives_up = gives_up;
	peer->context = sender;
	peer->deadline_ns = deadline_ns;
	sender->result->connect_count++;
	err = settings->tls ? peer_demand_tls(peer, settings->tls, settings->address.host,
					      &sender->is_final)
			    : NULL;
	if (!err)
		err = peer_answer(peer, settings->secret, &sender->is_final);
	if (!err)
		err = say_begin(sender, peer);
	peer->deadline_ns = 0;
	while (!err && !sender->result->is_complete)
		err = say_news(sender, peer);
	peer_deinit(peer);
	return err;
}

/* --- all of them --------------------------------------------------------------------------- */

/* Sends one tape, over as many connections as it takes. */
static struct err *tape_send(struct sender *sender)
{
	unsigned backoff_ms = BACKOFF_MS_MIN;
	struct err *err = NULL;

	sender->result->is_complete = false;
	for (;;) {
		const uint64_t there = sender->result->there_bytes;

		err_destroy(err);
		err = connection_run(sender);
		if (!err || sender->is_final)
			return err;
		if (sender->result->there_bytes > there)
			backoff_ms = BACKOFF_MS_MIN;
		if (!pause_ms(sender, backoff_ms))
			return err;
		backoff_ms = (unsigned)u64_min(2 * backoff_ms, BACKOFF_MS_MAX);
	}
}

/* All of a tape is there: whether another one takes its name. That is asked once more in the end. */
static struct err *next_await(struct sender *sender)
{
	const struct sender_settings *settings = sender->settings;
	const struct timespec pause = { .tv_nsec = LOOK_MS / 4 * 1000000L };
	struct err *err = NULL;
	bool goes_on = true;

	while (!err && settings->follows && goes_on && !sender->is_replaced) {
		goes_on = recording_goes_on(sender);
		err = tape_follow_name(sender);
		if (goes_on && settings->is_stopped(settings->context))
			return err ? err : err_new(ERR_STATE, "stopped, while it is recorded");
		if (goes_on)
			nanosleep(&pause, NULL);
	}
	return err;
}

struct err *sender_run(const struct sender_settings *settings, struct sender_result *result)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	bool is_replaced = true;
	struct err *err = NULL;

	assert(settings->is_stopped && settings->secret);
	*result = (struct sender_result) { 0 };
	if (!sender)
		return err_nomem();
	sender->settings = settings;
	sender->result = result;
	sender->fd = -1;
	sender->parent = getppid();
	while (!err && is_replaced) {
		err = tape_await(sender);
		if (!err)
			err = tape_send(sender);
		if (!err)
			err = next_await(sender);
		is_replaced = sender->is_replaced;
		if (sender->fd >= 0 && fstat(sender->fd, &sender->status) == 0)
			result->tape_bytes = (uint64_t)sender->status.st_size;
		if (sender->fd >= 0)
			close(sender->fd);
		sender->fd = -1;
	}
	free(sender);
	return err;
}
