#include "stream/sender.h"

#include <stdatomic.h>
#include <sys/utsname.h>

#include "core/sys.h"

#include "core/poison.h"

enum {
	LOOK_MS = 100,
	CONNECT_S = 10,
	STRANGER_S = 2, /* for one who has connected, and proved nothing */
	BACKOFF_MS_MIN = 200,
	BACKOFF_MS_MAX = 10000,
	HEAR_MAX = 1000,
	UNEQUAL_MAX = 2
};

static const uint64_t second_ns = 1000000000;

static enum stream_state state_get(const struct sender *sender)
{
	return (enum stream_state)atomic_load(&sender->shared->state);
}

static void state_set(struct sender *sender, enum stream_state state)
{
	atomic_store(&sender->shared->state, state);
}

static bool is_final(const struct sender *sender)
{
	return state_get(sender) > STREAM_CONNECTED;
}

/* --- the program --------------------------------------------------------------------------- */

static bool is_late(const struct sender *sender, uint64_t now_ns)
{
	return now_ns - sender->progress_ns > STREAM_LINGER_S * second_ns ||
	       now_ns - sender->over_ns > STREAM_REST_S * second_ns;
}

static bool gives_up(void *context)
{
	struct sender *sender = context;
	const uint64_t now_ns = line_now_ns();

	if (!sender->is_over && now_ns - sender->looked_ns >= LOOK_MS * UINT64_C(500000)) {
		sender->looked_ns = now_ns;
		sender->is_over =
			life_is_over(&sender->life) || atomic_load(&sender->shared->is_ending);
		if (sender->is_over)
			sender->over_ns = sender->progress_ns = now_ns;
	}
	return sender->is_over && is_late(sender, now_ns);
}

/* False: it cannot be read. After the program's end it is looked at once, for that was all. */
static bool tape_look(struct sender *sender)
{
	const bool is_over = sender->is_over;

	if (sender->is_all)
		return true;
	if (!feed_look(&sender->feed, is_over)) {
		state_set(sender, STREAM_NO_TAPE);
		return false;
	}
	sender->is_all = is_over;
	return true;
}

/* --- the gatherer -------------------------------------------------------------------------- */

/* Only whole messages count, so that nobody keeps us with a byte now and then. */
static void acknowledged(struct sender *sender, uint64_t end)
{
	if (end > sender->feed.end || end <= sender->progress_end)
		return;
	if (end - sender->progress_end >= WIRE_DATA_BYTES_MAX / 2 || end == sender->sent_end)
		sender->progress_ns = line_now_ns();
	sender->progress_end = end;
	atomic_store(&sender->shared->there_bytes, end);
	feed_release(&sender->feed, end);
}

void sender_reason_parse(const uint8_t *payload, size_t bytes,
			 char reason[WIRE_REASON_BYTES_MAX + 1])
{
	for (size_t i = 0; i < bytes && i < WIRE_REASON_BYTES_MAX; i++)
		reason[i] = payload[i] >= ' ' && payload[i] < 127 ? (char)payload[i] : '?';
	reason[u64_min(bytes, WIRE_REASON_BYTES_MAX)] = '\0';
}

static bool heard(struct sender *sender, struct wire_frame *frame)
{
	const uint8_t *payload = line_payload(&sender->line);

	if (!line_hear(&sender->line, frame))
		return false;
	if (frame->type == WIRE_ACK)
		acknowledged(sender, load_u64(payload));
	if (frame->type != WIRE_REFUSED)
		return true;
	sender_reason_parse(payload, frame->bytes, sender->shared->reason);
	state_set(sender, STREAM_REFUSED);
	return false;
}

static bool hear_all(struct sender *sender)
{
	struct wire_frame frame;

	for (int i = 0; i < HEAR_MAX && line_speaks(&sender->line); i++)
		if (!heard(sender, &frame))
			return false;
	return true;
}

static bool say_header(struct sender *sender)
{
	if (memcmp(sender->said, sender->feed.page, sizeof(sender->said)) == 0)
		return true;
	memcpy(sender->said, sender->feed.page, sizeof(sender->said));
	memcpy(line_payload(&sender->line), sender->said, sizeof(sender->said));
	return line_say(&sender->line, WIRE_HEADER, sizeof(sender->said));
}

/* From the beginning; in memory it may be gone. */
static bool say_rewind(struct sender *sender)
{
	if (sender->feed.base > TAPE_HEADER_BYTES) {
		state_set(sender, STREAM_LOST_PLACE);
		return false;
	}
	sender->sent_end = sender->progress_end = TAPE_HEADER_BYTES;
	store_u64(line_payload(&sender->line), TAPE_HEADER_BYTES);
	return line_say(&sender->line, WIRE_REWIND, 8);
}

static bool say_data(struct sender *sender)
{
	uint8_t *payload = line_payload(&sender->line);
	const size_t bytes =
		feed_read(&sender->feed, sender->sent_end, payload + 8, WIRE_DATA_BYTES_MAX);

	if (bytes == 0) {
		state_set(sender, STREAM_NO_TAPE);
		return false;
	}
	store_u64(payload, sender->sent_end);
	sender->sent_end += bytes;
	return line_say(&sender->line, WIRE_DATA, 8 + bytes) && hear_all(sender);
}

static bool say_end(struct sender *sender)
{
	struct wire_end end = { .end = sender->feed.end };
	struct wire_frame frame = { 0 };

	sha256_get(&sender->feed.digest, end.digest);
	memcpy(line_payload(&sender->line), &end, sizeof(end));
	if (!line_say(&sender->line, WIRE_END, sizeof(end)))
		return false;
	while (frame.type != WIRE_DONE && frame.type != WIRE_UNEQUAL)
		if (!heard(sender, &frame))
			return false;
	if (frame.type == WIRE_DONE) {
		atomic_store(&sender->shared->there_bytes, sender->feed.end);
		state_set(sender, STREAM_DONE);
		return true;
	}
	if (++sender->unequal_count <= UNEQUAL_MAX)
		return say_rewind(sender);
	state_set(sender, STREAM_UNEQUAL);
	return false;
}

static bool say_news(struct sender *sender)
{
	if (!tape_look(sender) || !say_header(sender))
		return false;
	while (sender->sent_end < sender->feed.end)
		if (!say_data(sender))
			return false;
	if (sender->is_all)
		return say_end(sender);
	return line_pause(&sender->line, LOOK_MS) && hear_all(sender);
}

bool sender_ready_parse(const uint8_t *payload, size_t bytes, struct wire_ready *ready)
{
	memcpy(ready, payload, sizeof(*ready));
	return ready->name_bytes <= WIRE_NAME_BYTES_MAX &&
	       sizeof(*ready) + ready->name_bytes == bytes && ready->end >= TAPE_HEADER_BYTES &&
	       ready->tail_bytes <= WIRE_TAIL_BYTES_MAX &&
	       ready->tail_bytes <= ready->end - TAPE_HEADER_BYTES;
}

/* Whether the end of what it has is ours, as far as we have that still. */
static bool tail_is_ours(struct sender *sender, const struct wire_ready *ready)
{
	uint64_t at = ready->end - ready->tail_bytes;
	uint8_t *bytes = line_payload(&sender->line);
	uint8_t digest[SHA256_BYTES];
	struct sha256 sha;

	if (at < sender->feed.base)
		return true;
	sha256_init(&sha);
	while (at < ready->end) {
		const size_t len = feed_read(&sender->feed, at, bytes,
					     (size_t)u64_min(ready->end - at, WIRE_DATA_BYTES_MAX));

		if (len == 0)
			return false;
		sha256_add(&sha, bytes, len);
		at += len;
	}
	sha256_get(&sha, digest);
	return sha256_equal(digest, ready->digest);
}

static bool agree(struct sender *sender, const struct wire_ready *ready)
{
	if (ready->end > sender->feed.end || ready->end < sender->feed.base ||
	    !tail_is_ours(sender, ready))
		return say_rewind(sender);
	sender->sent_end = ready->end;
	acknowledged(sender, ready->end);
	return true;
}

static bool say_begin(struct sender *sender)
{
	uint8_t *payload = line_payload(&sender->line);
	struct wire_begin *begin = (struct wire_begin *)payload;
	struct utsname host = { .nodename = "" };
	struct wire_ready ready;
	struct wire_frame frame;
	uint32_t lens[2];

	SYS_CALL1(SYS_uname, &host);
	lens[0] = (uint32_t)strnlen(host.nodename, sizeof(host.nodename));
	lens[1] = (uint32_t)strnlen(sender->program, sizeof(sender->program) - 1);
	memcpy(payload, lens, sizeof(lens));
	memcpy(payload + sizeof(lens), sender->feed.page, sizeof(sender->feed.page));
	memcpy(sender->said, sender->feed.page, sizeof(sender->said));
	memcpy(payload + sizeof(*begin), host.nodename, lens[0]);
	memcpy(payload + sizeof(*begin) + lens[0], sender->program, lens[1]);
	if (!line_say(&sender->line, WIRE_BEGIN, sizeof(*begin) + lens[0] + lens[1]) ||
	    !heard(sender, &frame) || frame.type != WIRE_READY ||
	    !sender_ready_parse(payload, frame.bytes, &ready))
		return false;
	return agree(sender, &ready);
}

/* Who connects to us may be anybody: what they say without a proof decides nothing. */
static bool is_found(struct sender *sender)
{
	struct line *line = &sender->line;

	line->deadline_ns = 0;
	if (!announcer_listen(&sender->announcer, &sender->target)) {
		state_set(sender, STREAM_NO_PORT);
		return false;
	}
	if (!announcer_await(&sender->announcer, &sender->target, line))
		return false;
	line->deadline_ns = line_now_ns() + STRANGER_S * second_ns;
	if (line_prove(line, &sender->token) != STREAM_CONNECTED)
		return false;
	announcer_close(&sender->announcer); /* others are told at once that it is taken */
	state_set(sender, STREAM_CONNECTED);
	line->deadline_ns = line_now_ns() + CONNECT_S * second_ns;
	return true;
}

static bool is_connected(struct sender *sender)
{
	enum stream_state state;

	sender->line.deadline_ns = line_now_ns() + CONNECT_S * second_ns;
	if (!line_connect(&sender->line, &sender->target))
		return false;
	state = line_prove(&sender->line, &sender->token);
	if (state != STREAM_BEGUN)
		state_set(sender, state);
	return state == STREAM_CONNECTED;
}

/* One connection, from its beginning to its end. */
static void connection_run(struct sender *sender)
{
	if (sender->target.is_announced ? !is_found(sender) : !is_connected(sender))
		return;
	atomic_fetch_add(&sender->shared->connect_count, 1);
	if (!tape_look(sender) || !say_begin(sender))
		return;
	sender->line.deadline_ns = 0;
	while (!is_final(sender) && say_news(sender))
		;
}

/* Where nothing is sent, the memory of chunks would not be given back: that is the program's to notice. */
void sender_run(struct sender *sender)
{
	unsigned backoff_ms = BACKOFF_MS_MIN;

	sender->line.fd = -1;
	sender->line.gives_up = gives_up;
	sender->line.context = sender;
	if (!feed_init(&sender->feed, sender->tape_fd, sender->region, sender->region_bytes)) {
		state_set(sender, STREAM_NO_TAPE);
		return;
	}
	announcer_init(&sender->announcer, sender->feed.page, sender->token.len > 0);
	while (!is_final(sender)) {
		const uint64_t there = sender->progress_end;

		connection_run(sender);
		line_close(&sender->line);
		if (is_final(sender))
			return;
		if (sender->progress_end > there)
			backoff_ms = BACKOFF_MS_MIN;
		if (!line_pause(&sender->line, backoff_ms))
			return;
		backoff_ms = (unsigned)u64_min(2 * backoff_ms, BACKOFF_MS_MAX);
		if (sender->is_over || sender->target.is_announced)
			backoff_ms = BACKOFF_MS_MIN;
	}
}
