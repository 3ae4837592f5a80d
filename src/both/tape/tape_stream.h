/*
 * tape_stream: what a sender of tapes and a gatherer say to each other, as bytes
 * (docs/stream-protocol.md). Senders are `memtape send` and the recorder itself.
 *
 *	        <------------------- [announcement, by UDP; then the gatherer connects]
 *	gatherer                     sender
 *	[notice -----------------> and the handshake of TLS]
 *	greeting ----------------->
 *	        <------------------- answer
 *	verdict ------------------>
 *	        <------------------- BEGIN
 *	READY -------------------->
 *	        <------------------- DATA, HEADER, REWIND ...
 *	ACK ... ------------------>
 *	        <------------------- END
 *	DONE or UNEQUAL ---------->
 */
#ifndef MEMTAPE_TAPE_TAPE_STREAM_H
#define MEMTAPE_TAPE_TAPE_STREAM_H

#include "tape/tape.h"

ARCH_LITTLE_BEGIN

enum {
	WIRE_VERSION = 1,
	WIRE_NONCE_BYTES = 32,
	WIRE_PROOF_BYTES = 32,	/* HMAC-SHA-256 */
	WIRE_DIGEST_BYTES = 32, /* SHA-256 */
	WIRE_DATA_BYTES_MAX = 64 << 10,
	WIRE_TAIL_BYTES_MAX = 1 << 20, /* of a tape that is resumed, compared before it goes on */
	WIRE_NAME_BYTES_MAX = 255,     /* of a host, a program or a file */
	WIRE_REASON_BYTES_MAX = 400,
	WIRE_TOKEN_BYTES_MIN = 16, /* without white space at its end */
	WIRE_TOKEN_BYTES_MAX = 1024,
	WIRE_PAYLOAD_BYTES_MAX = WIRE_DATA_BYTES_MAX + 8,
	WIRE_ANNOUNCE_PORT = 43512 /* of UDP, where gatherers listen for announcements */
};

#define WIRE_GREETING_MAGIC "MTGREET\n"
#define WIRE_ANSWER_MAGIC   "MTANSWR\n"
#define WIRE_VERDICT_MAGIC  "MTVERDI\n"
#define WIRE_ANNOUNCE_MAGIC "MTANNOU\n"

enum wire_flag {
	WIRE_HAS_TOKEN = 1 << 0,
	WIRE_HAS_TLS = 1 << 1 /* alone: of a notice that TLS follows, and all else inside of it */
};

/* What each side says first. All integers little-endian. */
struct wire_hello {
	char magic[8];
	uint32_t version;
	uint32_t flags; /* enum wire_flag */
	uint8_t nonce[WIRE_NONCE_BYTES];
};

struct wire_answer {
	struct wire_hello hello;
	uint8_t proof[WIRE_PROOF_BYTES]; /* zeros without a token */
};

enum wire_verdict_kind {
	WIRE_ACCEPTED = 0,
	WIRE_WRONG_TOKEN = 1,
	WIRE_WRONG_VERSION = 2,
	WIRE_TOO_MANY = 3 /* streams at once: try again later */
};

struct wire_verdict {
	char magic[8];
	uint32_t version;
	uint32_t kind;			 /* enum wire_verdict_kind */
	uint8_t proof[WIRE_PROOF_BYTES]; /* zeros if not accepted, or without a token */
};

/* A datagram, all of it: a sender listens on the address that it comes from, and waits for a gatherer. */
struct wire_announcement {
	char magic[8];
	uint32_t version;
	uint32_t flags; /* enum wire_flag */
	uint8_t uuid[TAPE_UUID_BYTES];
	uint32_t pid;
	uint16_t port; /* of TCP; never 0 */
	uint16_t zero;
};

static_assert(sizeof(struct wire_hello) == 48, "protocol");
static_assert(sizeof(struct wire_answer) == 80, "protocol");
static_assert(sizeof(struct wire_verdict) == 48, "protocol");
static_assert(sizeof(struct wire_announcement) == 40, "protocol");

enum wire_type {
	/* of the sender */
	WIRE_BEGIN = 1,
	WIRE_DATA = 2,
	WIRE_HEADER = 3,
	WIRE_REWIND = 4,
	WIRE_END = 5,
	/* of the gatherer */
	WIRE_READY = 16,
	WIRE_ACK = 17,
	WIRE_DONE = 18,
	WIRE_UNEQUAL = 19,
	WIRE_REFUSED = 20
};

enum wire_side { WIRE_SENDER, WIRE_GATHERER };

struct wire_frame {
	uint32_t type;	/* enum wire_type */
	uint32_t bytes; /* of the payload that follows */
};

/* BEGIN: the tape's first page, and then the two names, without an end of their own. */
struct wire_begin {
	uint32_t host_bytes, program_bytes;
	uint8_t page[TAPE_HEADER_BYTES];
};

/* READY: how much of the tape is there already, and the name of its file after that. */
struct wire_ready {
	uint64_t end;	     /* offset in the tape: what is before it is there */
	uint32_t tail_bytes; /* the last bytes of that, of which `digest` is */
	uint32_t name_bytes;
	uint8_t digest[WIRE_DIGEST_BYTES];
};

struct wire_end {
	uint64_t end;			   /* bytes of the tape */
	uint8_t digest[WIRE_DIGEST_BYTES]; /* of all after its first page */
};

static_assert(sizeof(struct wire_frame) == 8, "protocol");
static_assert(sizeof(struct wire_begin) == 8 + TAPE_HEADER_BYTES, "protocol");
static_assert(sizeof(struct wire_ready) == 48, "protocol");
static_assert(sizeof(struct wire_end) == 40, "protocol");

/* What both prove to know each other by, each with its own words (24 bytes, the last of them zero). */
#define WIRE_LABEL_SENDER   "memtape stream sender 1"
#define WIRE_LABEL_GATHERER "memtape stream gather 1"

ARCH_LITTLE_END

#endif
