#include "gather/peer.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/monotonic.h"

enum { ASK_MS = 100, SILENT_S = 30, PROBE_S = 10, PROBES = 3 };

void peer_init(struct peer *peer, int fd)
{
	static const int on = 1, silent = SILENT_S, probe = PROBE_S, probes = PROBES;
	static const int unheard_ms = (SILENT_S + PROBE_S * PROBES) * 1000;

	assert(fd >= 0);
	*peer = (struct peer) { .fd = fd };
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silent, sizeof(silent));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe, sizeof(probe));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard_ms, sizeof(unheard_ms));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void peer_deinit(struct peer *peer)
{
	tls_session_destroy(peer->tls);
	peer->tls = NULL;
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

static struct err *peer_wait(const struct peer *peer, short events)
{
	struct pollfd poll_fd = { .fd = peer->fd, .events = events };

	for (;;) {
		if (peer->gives_up && peer->gives_up(peer->context))
			return err_errno_new(ECANCELED, "given up");
		if (peer->deadline_ns && monotonic_ns() >= peer->deadline_ns)
			return err_errno_new(ETIMEDOUT, "no answer");
		if (poll(&poll_fd, 1, ASK_MS) > 0)
			return NULL;
	}
}

static bool must_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* What is there now, at most len bytes; the same steps as those of TLS. */
static enum tls_step plain_read(int fd, void *bytes, size_t len, size_t *done_ret,
				struct err **err_ret)
{
	const ssize_t got = recv(fd, bytes, len, MSG_DONTWAIT);

	if (got == 0)
		return TLS_CLOSED;
	if (got < 0 && must_wait())
		return TLS_WAIT_INPUT;
	*err_ret = got < 0 ? err_errno("the connection is cut") : NULL;
	*done_ret = got < 0 ? 0 : (size_t)got;
	return got < 0 ? TLS_FAILED : TLS_DONE;
}

static enum tls_step plain_write(int fd, const void *bytes, size_t len, size_t *done_ret,
				 struct err **err_ret)
{
	const ssize_t sent = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && must_wait())
		return TLS_WAIT_OUTPUT;
	*err_ret = sent < 0 ? err_errno("the connection is cut") : NULL;
	*done_ret = sent < 0 ? 0 : (size_t)sent;
	return sent < 0 ? TLS_FAILED : TLS_DONE;
}

/* Waits for what a step needs; an error: it cannot go on. */
static struct err *step_wait(const struct peer *peer, enum tls_step step, struct err *err)
{
	switch (step) {
	case TLS_DONE:
	case TLS_FAILED:
		return err;
	case TLS_WAIT_INPUT:
		return peer_wait(peer, POLLIN);
	case TLS_WAIT_OUTPUT:
		return peer_wait(peer, POLLOUT);
	case TLS_CLOSED:
		break;
	}
	return err_errno_new(ECONNRESET, "the connection was closed");
}

static enum tls_step read_some(struct peer *peer, void *bytes, size_t len, size_t *done_ret,
			       struct err **err_ret)
{
	if (peer->has_ahead) {
		*(uint8_t *)bytes = peer->ahead;
		peer->has_ahead = false;
		*done_ret = 1;
		return TLS_DONE;
	}
	return peer->tls ? tls_read(peer->tls, bytes, len, done_ret, err_ret)
			 : plain_read(peer->fd, bytes, len, done_ret, err_ret);
}

struct err *peer_read(struct peer *peer, void *bytes, size_t len)
{
	uint8_t *at = bytes;
	struct err *err = NULL;

	while (!err && len > 0) {
		size_t done = 0;
		const enum tls_step step = read_some(peer, at, len, &done, &err);

		err = step_wait(peer, step, err);
		at += done;
		len -= done;
	}
	return err;
}

struct err *peer_write(struct peer *peer, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	struct err *err = NULL;

	while (!err && len > 0) {
		size_t done = 0;
		const enum tls_step step = peer->tls ? tls_write(peer->tls, at, len, &done, &err)
						     : plain_write(peer->fd, at, len, &done, &err);

		err = step_wait(peer, step, err);
		at += done;
		len -= done;
	}
	return err;
}

uint8_t *peer_payload(struct peer *peer)
{
	return peer->frame + sizeof(struct wire_frame);
}

struct err *peer_say(struct peer *peer, enum wire_type type, size_t bytes)
{
	assert(bytes <= WIRE_PAYLOAD_BYTES_MAX);
	store_u32(peer->frame, type);
	store_u32(peer->frame + 4, (uint32_t)bytes);
	return peer_write(peer, peer->frame, sizeof(struct wire_frame) + bytes);
}

struct err *peer_hear(struct peer *peer, enum wire_side side, struct wire_frame *frame)
{
	struct err *err = peer_read(peer, peer->frame, sizeof(struct wire_frame));

	if (!err)
		err = wire_frame_parse(peer->frame, side, frame);
	return err ? err : peer_read(peer, peer_payload(peer), frame->bytes);
}

/* With TLS there may be bytes that are no words: only who has read one knows that there is one. */
bool peer_speaks(struct peer *peer, int wait_ms)
{
	struct pollfd poll_fd = { .fd = peer->fd, .events = POLLIN };
	size_t done = 0;
	CLEAN(err_destroy) struct err *err = NULL;
	enum tls_step step;

	if (!peer->tls)
		return poll(&poll_fd, 1, wait_ms) > 0;
	if (peer->has_ahead)
		return true;
	step = tls_read(peer->tls, &peer->ahead, 1, &done, &err);
	if (step == TLS_WAIT_INPUT && poll(&poll_fd, 1, wait_ms) > 0)
		step = tls_read(peer->tls, &peer->ahead, 1, &done, &err);
	peer->has_ahead = step == TLS_DONE;
	return step != TLS_WAIT_INPUT && step != TLS_WAIT_OUTPUT;
}

/* --- TLS ----------------------------------------------------------------------------------- */

static struct err *handshake(struct peer *peer, const struct tls_context *context, const char *host,
			     bool *is_final_ret)
{
	struct err *err = tls_session_create(context, peer->fd, host, &peer->tls);
	enum tls_step step = TLS_WAIT_OUTPUT;

	while (!err && step != TLS_DONE) {
		step = tls_handshake(peer->tls, is_final_ret, &err);
		err = step_wait(peer, step, err);
	}
	return err;
}

struct err *peer_protect(struct peer *peer, const struct tls_context *context)
{
	struct wire_hello notice;
	bool is_final;
	struct err *err;

	wire_hello_make(&notice, WIRE_GREETING_MAGIC, false);
	notice.flags = WIRE_HAS_TLS;
	err = peer_write(peer, &notice, sizeof(notice));
	return err ? err : handshake(peer, context, NULL, &is_final);
}

struct err *peer_demand_tls(struct peer *peer, const struct tls_context *context, const char *host,
			    bool *is_final_ret)
{
	struct wire_hello notice;
	struct err *err = peer_read(peer, &notice, sizeof(notice));

	if (err)
		return err;
	if (!wire_hello_is(&notice, WIRE_GREETING_MAGIC))
		err = err_new(ERR_FORMAT, "there is no `memtape gather` at that address");
	else if (notice.flags != WIRE_HAS_TLS)
		err = err_new(ERR_STATE, "the gatherer has no certificate (--tls-cert), so it "
					 "does not speak TLS; nothing was sent to it");
	*is_final_ret = err != NULL;
	return err ? err : handshake(peer, context, host, is_final_ret);
}

/* --- the token ----------------------------------------------------------------------------- */

static enum wire_verdict_kind judge(const struct token_secret *secret,
				    const struct wire_hello *greeting,
				    const struct wire_answer *answer, struct err **err_ret)
{
	uint8_t proof[WIRE_PROOF_BYTES];

	if (answer->hello.version != WIRE_VERSION)
		return WIRE_WRONG_VERSION;
	if (answer->hello.flags != greeting->flags)
		return WIRE_WRONG_TOKEN;
	if (secret->len == 0)
		return WIRE_ACCEPTED;
	*err_ret = crypto_prove(secret, WIRE_SENDER, greeting, &answer->hello, proof);
	if (*err_ret || !crypto_equal(proof, answer->proof, sizeof(proof)))
		return WIRE_WRONG_TOKEN;
	return WIRE_ACCEPTED;
}

struct err *peer_greet(struct peer *peer, const struct token_secret *secret, struct stream *stream,
		       bool (*let_in)(struct stream *stream))
{
	struct wire_verdict verdict = { .version = WIRE_VERSION };
	struct wire_hello greeting;
	struct wire_answer answer;
	struct err *err;

	wire_hello_make(&greeting, WIRE_GREETING_MAGIC, secret->len > 0);
	memcpy(verdict.magic, WIRE_VERDICT_MAGIC, sizeof(verdict.magic));
	err = crypto_random(greeting.nonce, sizeof(greeting.nonce));
	if (!err)
		err = peer_write(peer, &greeting, sizeof(greeting));
	if (!err)
		err = peer_read(peer, &answer, sizeof(answer));
	if (!err && !wire_hello_is(&answer.hello, WIRE_ANSWER_MAGIC))
		err = err_new(ERR_FORMAT, "it is no sender of tapes");
	if (err)
		return err;
	verdict.kind = judge(secret, &greeting, &answer, &err);
	if (!err && verdict.kind == WIRE_ACCEPTED && !let_in(stream))
		verdict.kind = WIRE_TOO_MANY;
	if (!err && verdict.kind == WIRE_ACCEPTED && secret->len > 0)
		err = crypto_prove(secret, WIRE_GATHERER, &greeting, &answer.hello, verdict.proof);
	if (!err)
		err = peer_write(peer, &verdict, sizeof(verdict));
	if (err || verdict.kind == WIRE_ACCEPTED)
		return err;
	return err_new(ERR_STATE, verdict.kind == WIRE_TOO_MANY	       ? "too many streams"
				  : verdict.kind == WIRE_WRONG_VERSION ? "it has another version"
								       : "it has not the token");
}

/* Before anything is said of a token: whether both want one. */
static struct err *greeting_check(const struct wire_hello *greeting,
				  const struct token_secret *secret)
{
	if (!wire_hello_is(greeting, WIRE_GREETING_MAGIC))
		return err_new(ERR_FORMAT, "there is no `memtape gather` at that address");
	if (greeting->flags == WIRE_HAS_TLS)
		return err_new(ERR_STATE, "the gatherer speaks TLS: use --tls-ca FILE or --tls");
	if (greeting->version != WIRE_VERSION)
		return err_new(ERR_UNSUPPORTED,
			       "the gatherer has version %u of the protocol, "
			       "this memtape %u",
			       greeting->version, (unsigned)WIRE_VERSION);
	if (greeting->flags == (secret->len ? WIRE_HAS_TOKEN : 0))
		return NULL;
	return secret->len ? err_new(ERR_STATE, "the gatherer has no token; nothing was sent to it")
			   : err_new(ERR_STATE, "the gatherer wants a token: use --token-file");
}

static struct err *verdict_check(const struct wire_verdict *verdict, const uint8_t *proof,
				 const struct token_secret *secret, bool *is_final_ret)
{
	if (!wire_verdict_is(verdict))
		return err_new(ERR_FORMAT, "there is no `memtape gather` at that address");
	switch (verdict->kind) {
	case WIRE_ACCEPTED:
		break;
	case WIRE_TOO_MANY:
		*is_final_ret = false;
		return err_new(ERR_STATE, "the gatherer has as many streams as it may have");
	case WIRE_WRONG_VERSION:
		return err_new(ERR_UNSUPPORTED, "the gatherer has another version");
	default:
		return err_new(ERR_STATE, "the gatherer has another token");
	}
	if (secret->len && !crypto_equal(proof, verdict->proof, WIRE_PROOF_BYTES))
		return err_new(ERR_STATE, "the gatherer does not know the token; nothing was sent "
					  "to it");
	return NULL;
}

struct err *peer_answer(struct peer *peer, const struct token_secret *secret, bool *is_final_ret)
{
	uint8_t proof[WIRE_PROOF_BYTES] = { 0 };
	struct wire_hello greeting;
	struct wire_answer answer = { 0 };
	struct wire_verdict verdict;
	struct err *err = peer_read(peer, &greeting, sizeof(greeting));

	if (err)
		return err;
	*is_final_ret = true;
	wire_hello_make(&answer.hello, WIRE_ANSWER_MAGIC, secret->len > 0);
	err = greeting_check(&greeting, secret);
	if (!err)
		err = crypto_random(answer.hello.nonce, sizeof(answer.hello.nonce));
	if (!err && secret->len)
		err = crypto_prove(secret, WIRE_SENDER, &greeting, &answer.hello, answer.proof);
	if (!err && secret->len)
		err = crypto_prove(secret, WIRE_GATHERER, &greeting, &answer.hello, proof);
	if (err)
		return err;
	*is_final_ret = false;
	err = peer_write(peer, &answer, sizeof(answer));
	if (!err)
		err = peer_read(peer, &verdict, sizeof(verdict));
	if (err)
		return err;
	*is_final_ret = true;
	err = verdict_check(&verdict, proof, secret, is_final_ret);
	if (!err)
		*is_final_ret = false;
	return err;
}
