/*
 * wire: what a sender of tapes and a gatherer say to each other, as bytes (docs/stream-protocol.md). Both
 * sides prove that they know the token; then a tape is sent as it grows.
 *
 * Nothing here allocates or reads; lengths are bounded before a payload is taken. Thread-safe.
 */
#ifndef MEMTAPE_GATHER_WIRE_H
#define MEMTAPE_GATHER_WIRE_H

#include "base/err.h"
#include "base/str.h"
#include "tape/tape_stream.h"

/* Parsed, with the texts terminated; they are the other side's words, in any bytes but NUL. */
struct wire_tape {
	struct tape_header header;
	uint8_t page[TAPE_HEADER_BYTES];
	char host[WIRE_NAME_BYTES_MAX + 1];
	char program[WIRE_NAME_BYTES_MAX + 1];
};

struct wire_place {
	struct wire_ready ready;
	char name[WIRE_NAME_BYTES_MAX + 1];
};

void wire_hello_make(struct wire_hello *hello, const char *magic, bool has_token);

/* Whether these bytes are one; the version is not looked at, nor the verdict's kind. */
bool wire_hello_is(const struct wire_hello *hello, const char *magic);
bool wire_verdict_is(const struct wire_verdict *verdict);

/* A datagram. ERR_FORMAT: it is no announcement; the version is not looked at. */
struct err *wire_announcement_parse(const uint8_t *bytes, size_t len,
				    struct wire_announcement *announcement);

/* A frame's first 8 bytes, said by that side. ERR_FORMAT: of no type it says, or of no such length. */
struct err *wire_frame_parse(const uint8_t bytes[sizeof(struct wire_frame)], enum wire_side side,
			     struct wire_frame *frame);

/* A page that a tape may begin with, for a stream of `uuid` (NULL: any). */
struct err *wire_page_check(const uint8_t page[TAPE_HEADER_BYTES], const uint8_t *uuid);

/* Payloads of `bytes` bytes, which wire_frame_parse has let through. */
struct err *wire_begin_parse(const uint8_t *payload, size_t bytes, struct wire_tape *tape);
struct err *wire_ready_parse(const uint8_t *payload, size_t bytes, struct wire_place *place);

/* REFUSED: the reason, as one line that a terminal can show. */
void wire_refused_parse(const uint8_t *payload, size_t bytes, struct str *reason);

/* Writes a BEGIN or READY; names that are too long are cut. Returns the payload's bytes. */
size_t wire_begin_make(uint8_t payload[WIRE_PAYLOAD_BYTES_MAX],
		       const uint8_t page[TAPE_HEADER_BYTES], const char *host,
		       const char *program);
size_t wire_ready_make(uint8_t payload[WIRE_PAYLOAD_BYTES_MAX], const struct wire_place *place);

#endif
