/*
 * peer: the other end of a connection. Nothing waits without bound: while it waits, the owner is asked
 * whether it still wants to, and there may be a deadline. One thread at a time.
 */
#ifndef MEMTAPE_GATHER_PEER_H
#define MEMTAPE_GATHER_PEER_H

#include "gather/crypto.h"
#include "gather/crypto_tls.h"

struct peer {
	int fd;		      /* not blocking */
	uint64_t deadline_ns; /* by the monotonic clock; 0: none */
	/* Asked several times a second while waiting. */
	bool (*gives_up)(void *context);
	void *context;
	struct tls_session *tls; /* NULL: what is said is sent as it is */
	bool has_ahead;
	uint8_t ahead; /* a byte that was read to see whether there is one */
	uint8_t frame[sizeof(struct wire_frame) + WIRE_PAYLOAD_BYTES_MAX]; /* being read or made */
};

/* fd becomes the peer's. Sees to it that the end of a silent machine is noticed. */
void peer_init(struct peer *peer, int fd);
void peer_deinit(struct peer *peer);
CLEAN_DEFINE_DEINIT(peer_deinit, struct peer);

/* ERR_SYSTEM: the connection is cut, ETIMEDOUT: the deadline; ECANCELED: the owner has given up. */
struct err *peer_read(struct peer *peer, void *bytes, size_t len);
struct err *peer_write(struct peer *peer, const void *bytes, size_t len);

/* Where the payload of the next frame is to be put, or that of the last one is. */
uint8_t *peer_payload(struct peer *peer);

/* Sends the payload. */
struct err *peer_say(struct peer *peer, enum wire_type type, size_t bytes);

/* Reads a frame of that side, payload included. ERR_FORMAT: it is none. */
struct err *peer_hear(struct peer *peer, enum wire_side side, struct wire_frame *frame);

/* Whether there is something to be read, or it is cut; waits up to so many milliseconds for it. */
bool peer_speaks(struct peer *peer, int wait_ms);

/*
 * From here on TLS is spoken. A gatherer says so first, in plain words, and a sender waits for that: so
 * one who does not expect it can say what is wrong. host: whose certificate the sender demands.
 * *is_final_ret: it makes no sense to try again.
 */
struct err *peer_protect(struct peer *peer, const struct tls_context *context);
struct err *peer_demand_tls(struct peer *peer, const struct tls_context *context, const char *host,
			    bool *is_final_ret);

/*
 * Both sides prove that they know the token; without one (len 0) that none is wanted. The gatherer's
 * let_in is asked when the other side has: false: there are too many.
 */
struct stream;
struct err *peer_greet(struct peer *peer, const struct token_secret *secret, struct stream *stream,
		       bool (*let_in)(struct stream *stream));
/* *is_final_ret: it makes no sense to try again. */
struct err *peer_answer(struct peer *peer, const struct token_secret *secret, bool *is_final_ret);

#endif
