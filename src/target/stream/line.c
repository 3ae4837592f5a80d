#include "stream/line.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "core/random.h"
#include "core/sys.h"
#include "stream/sha256.h"

#include "core/poison.h"

enum { ASK_MS = 100, UNHEARD_MS = 60000, TRIES_IN_VAIN = 1000 };

uint64_t line_now_ns(void)
{
	struct sys_time now = { 0 };

	sys_clock(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.seconds * 1000000000 + (uint64_t)now.nanoseconds;
}

/* The kernel writes what is left of the time into it: so it is made anew for each call. */
static short line_poll(int fd, short events, unsigned ms)
{
	struct sys_timeout wait = { .seconds = ms / 1000,
				    .nanoseconds = (long)(ms % 1000) * 1000000 };
	struct pollfd poll = { .fd = fd, .events = events };
	const long count = SYS_CALL5(SYS_ppoll, &poll, 1, &wait, NULL, 0);

	return count > 0 ? poll.revents : 0;
}

bool line_pause(struct line *line, unsigned ms)
{
	const uint64_t until_ns = line_now_ns() + UINT64_C(1000000) * ms;

	for (;;) {
		const uint64_t now_ns = line_now_ns();

		if (line->gives_up(line->context))
			return false;
		if (now_ns >= until_ns ||
		    line_poll(line->fd, POLLIN,
			      (unsigned)u64_min(ASK_MS, (until_ns - now_ns) / 1000000 + 1)))
			return true;
	}
}

static bool line_wait(struct line *line, short events)
{
	for (;;) {
		if (line->gives_up(line->context) ||
		    (line->deadline_ns && line_now_ns() >= line->deadline_ns))
			return false;
		if (line_poll(line->fd, events, ASK_MS))
			return true;
	}
}

static void option_set(int fd, int level, int name, int value)
{
	SYS_CALL5(SYS_setsockopt, fd, level, name, &value, sizeof(value));
}

static long address_connect(int fd, const struct stream_target *target)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = __builtin_bswap16(target->port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = __builtin_bswap16(target->port) };

	memcpy(&v4.sin_addr, target->address, 4);
	memcpy(&v6.sin6_addr, target->address, 16);
	return target->is_v6 ? SYS_CALL3(SYS_connect, fd, &v6, sizeof(v6))
			     : SYS_CALL3(SYS_connect, fd, &v4, sizeof(v4));
}

void line_take(struct line *line, int fd)
{
	CHECK(fd >= 0);
	line->fd = fd;
	option_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	option_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNHEARD_MS);
	option_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	option_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, UNHEARD_MS / 2000);
	option_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, UNHEARD_MS / 6000);
	option_set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

bool line_connect(struct line *line, const struct stream_target *target)
{
	int error = 0;
	socklen_t len = sizeof(error);
	long rc;

	line->fd = (int)SYS_CALL3(SYS_socket, target->is_v6 ? AF_INET6 : AF_INET,
				  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (line->fd < 0) {
		line->fd = -1;
		return false;
	}
	line_take(line, line->fd);
	rc = address_connect(line->fd, target);
	if (rc == 0)
		return true;
	return rc == -EINPROGRESS && line_wait(line, POLLOUT) &&
	       SYS_CALL5(SYS_getsockopt, line->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
	       error == 0;
}

void line_close(struct line *line)
{
	if (line->fd >= 0)
		sys_close(line->fd);
	line->fd = -1;
}

bool line_read(struct line *line, void *bytes, size_t len)
{
	uint8_t *at = bytes;

	while (len > 0) {
		const long got =
			sys_call6(SYS_recvfrom, line->fd, (long)at, (long)len, MSG_DONTWAIT, 0, 0);

		if (got == 0 || (got < 0 && got != -EAGAIN && got != -EINTR))
			return false;
		if (got < 0 && !line_wait(line, POLLIN))
			return false;
		at += got > 0 ? got : 0;
		len -= got > 0 ? (size_t)got : 0;
	}
	return true;
}

bool line_write(struct line *line, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		const long sent = sys_call6(SYS_sendto, line->fd, (long)at, (long)len,
					    MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

		if (sent < 0 && sent != -EAGAIN && sent != -EINTR)
			return false;
		if (sent < 0 && !line_wait(line, POLLOUT))
			return false;
		at += sent > 0 ? sent : 0;
		len -= sent > 0 ? (size_t)sent : 0;
	}
	return true;
}

bool line_say(struct line *line, enum wire_type type, size_t bytes)
{
	CHECK(bytes <= WIRE_PAYLOAD_BYTES_MAX);
	store_u32(line->frame, type);
	store_u32(line->frame + 4, (uint32_t)bytes);
	return line_write(line, line->frame, sizeof(struct wire_frame) + bytes);
}

bool line_frame_is_known(const struct wire_frame *frame)
{
	switch (frame->type) {
	case WIRE_READY:
		return frame->bytes >= sizeof(struct wire_ready) &&
		       frame->bytes <= sizeof(struct wire_ready) + WIRE_NAME_BYTES_MAX;
	case WIRE_ACK:
		return frame->bytes == 8;
	case WIRE_DONE:
	case WIRE_UNEQUAL:
		return frame->bytes == 0;
	case WIRE_REFUSED:
		return frame->bytes > 0 && frame->bytes <= WIRE_REASON_BYTES_MAX;
	default:
		return false;
	}
}

bool line_hear(struct line *line, struct wire_frame *frame)
{
	if (!line_read(line, line->frame, sizeof(*frame)))
		return false;
	frame->type = load_u32(line->frame);
	frame->bytes = load_u32(line->frame + 4);
	return line_frame_is_known(frame) && line_read(line, line_payload(line), frame->bytes);
}

bool line_speaks(const struct line *line)
{
	return line_poll(line->fd, POLLIN, 0) != 0;
}

/* --- the token ----------------------------------------------------------------------------- */

static void prove(const struct stream_token *token, const char label[24],
		  const struct wire_hello *greeting, const struct wire_hello *answer,
		  uint8_t proof[WIRE_PROOF_BYTES])
{
	const void *const texts[3] = { label, greeting, answer };
	const size_t lens[3] = { sizeof(WIRE_LABEL_SENDER), sizeof(*greeting), sizeof(*answer) };

	static_assert(sizeof(WIRE_LABEL_SENDER) == 24 && sizeof(WIRE_LABEL_GATHERER) == 24,
		      "protocol");
	memset(proof, 0, WIRE_PROOF_BYTES);
	if (token->len > 0)
		sha256_hmac(token->bytes, token->len, texts, lens, proof);
}

static enum stream_state greeting_judge(const struct wire_hello *greeting,
					const struct stream_token *token)
{
	if (memcmp(greeting->magic, WIRE_GREETING_MAGIC, sizeof(greeting->magic)) != 0)
		return STREAM_NOT_A_GATHERER;
	if (greeting->flags == WIRE_HAS_TLS)
		return STREAM_WANTS_TLS;
	if (greeting->version != WIRE_VERSION)
		return STREAM_OTHER_VERSION;
	if (greeting->flags != (token->len ? WIRE_HAS_TOKEN : 0))
		return token->len ? STREAM_HAS_NO_TOKEN : STREAM_WANTS_TOKEN;
	return STREAM_CONNECTED;
}

static enum stream_state verdict_judge(const struct wire_verdict *verdict, const uint8_t *proof)
{
	if (memcmp(verdict->magic, WIRE_VERDICT_MAGIC, sizeof(verdict->magic)) != 0)
		return STREAM_NOT_A_GATHERER;
	switch (verdict->kind) {
	case WIRE_ACCEPTED:
		return sha256_equal(proof, verdict->proof) ? STREAM_CONNECTED : STREAM_IS_NO_FRIEND;
	case WIRE_TOO_MANY:
		return STREAM_BEGUN;
	case WIRE_WRONG_VERSION:
		return STREAM_OTHER_VERSION;
	default:
		return STREAM_WRONG_TOKEN;
	}
}

/* A nonce that is not random would let an old answer be said again. */
static bool nonce_make(uint8_t nonce[WIRE_NONCE_BYTES])
{
	for (int i = 0; i < TRIES_IN_VAIN; i++)
		if (random_fill(nonce, WIRE_NONCE_BYTES) == 0)
			return true;
	return false;
}

enum stream_state line_prove(struct line *line, const struct stream_token *token)
{
	struct wire_hello greeting;
	struct wire_answer answer = { .hello = { .version = WIRE_VERSION } };
	struct wire_verdict verdict;
	uint8_t proof[WIRE_PROOF_BYTES];
	enum stream_state state;

	if (!line_read(line, &greeting, sizeof(greeting)))
		return STREAM_BEGUN;
	state = greeting_judge(&greeting, token);
	if (state != STREAM_CONNECTED)
		return state;
	memcpy(answer.hello.magic, WIRE_ANSWER_MAGIC, sizeof(answer.hello.magic));
	answer.hello.flags = greeting.flags;
	if (!nonce_make(answer.hello.nonce))
		return STREAM_BEGUN;
	prove(token, WIRE_LABEL_SENDER, &greeting, &answer.hello, answer.proof);
	prove(token, WIRE_LABEL_GATHERER, &greeting, &answer.hello, proof);
	if (!line_write(line, &answer, sizeof(answer)) ||
	    !line_read(line, &verdict, sizeof(verdict)))
		return STREAM_BEGUN;
	return verdict_judge(&verdict, proof);
}
