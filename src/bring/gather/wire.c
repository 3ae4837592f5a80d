#include "gather/wire.h"

#include <assert.h>

struct type_row {
	enum wire_type type;
	enum wire_side side;
	uint32_t bytes_min, bytes_max;
};

static const struct type_row types[] = {
	{ WIRE_BEGIN, WIRE_SENDER, sizeof(struct wire_begin),
	  sizeof(struct wire_begin) + 2 * WIRE_NAME_BYTES_MAX },
	{ WIRE_DATA, WIRE_SENDER, 8 + 1, 8 + WIRE_DATA_BYTES_MAX },
	{ WIRE_HEADER, WIRE_SENDER, TAPE_HEADER_BYTES, TAPE_HEADER_BYTES },
	{ WIRE_REWIND, WIRE_SENDER, 8, 8 },
	{ WIRE_END, WIRE_SENDER, sizeof(struct wire_end), sizeof(struct wire_end) },
	{ WIRE_READY, WIRE_GATHERER, sizeof(struct wire_ready),
	  sizeof(struct wire_ready) + WIRE_NAME_BYTES_MAX },
	{ WIRE_ACK, WIRE_GATHERER, 8, 8 },
	{ WIRE_DONE, WIRE_GATHERER, 0, 0 },
	{ WIRE_UNEQUAL, WIRE_GATHERER, 0, 0 },
	{ WIRE_REFUSED, WIRE_GATHERER, 1, WIRE_REASON_BYTES_MAX },
};

void wire_hello_make(struct wire_hello *hello, const char *magic, bool has_token)
{
	*hello = (struct wire_hello) { .version = WIRE_VERSION,
				       .flags = has_token ? WIRE_HAS_TOKEN : 0 };
	memcpy(hello->magic, magic, sizeof(hello->magic));
}

bool wire_hello_is(const struct wire_hello *hello, const char *magic)
{
	return memcmp(hello->magic, magic, sizeof(hello->magic)) == 0;
}

bool wire_verdict_is(const struct wire_verdict *verdict)
{
	return memcmp(verdict->magic, WIRE_VERDICT_MAGIC, sizeof(verdict->magic)) == 0;
}

struct err *wire_announcement_parse(const uint8_t *bytes, size_t len,
				    struct wire_announcement *announcement)
{
	struct wire_announcement said;

	if (len != sizeof(said))
		return err_new(ERR_FORMAT, "it is no announcement");
	memcpy(&said, bytes, sizeof(said));
	if (memcmp(said.magic, WIRE_ANNOUNCE_MAGIC, sizeof(said.magic)) != 0 || said.port == 0)
		return err_new(ERR_FORMAT, "it is no announcement");
	*announcement = said;
	return NULL;
}

struct err *wire_frame_parse(const uint8_t bytes[sizeof(struct wire_frame)], enum wire_side side,
			     struct wire_frame *frame)
{
	const struct wire_frame said = { load_u32(bytes), load_u32(bytes + 4) };

	for (size_t i = 0; i < array_size(types); i++) {
		if (types[i].type != said.type || types[i].side != side)
			continue;
		if (said.bytes < types[i].bytes_min || said.bytes > types[i].bytes_max)
			return err_new(ERR_FORMAT, "a message of type %u with %u bytes", said.type,
				       said.bytes);
		*frame = said;
		return NULL;
	}
	return err_new(ERR_FORMAT, "a message of unknown type %u", said.type);
}

struct err *wire_page_check(const uint8_t page[TAPE_HEADER_BYTES], const uint8_t *uuid)
{
	struct tape_header header;

	memcpy(&header, page, sizeof(header));
	if (memcmp(header.magic, TAPE_MAGIC, sizeof(header.magic)) != 0 ||
	    header.header_bytes != TAPE_HEADER_BYTES)
		return err_new(ERR_FORMAT, "not the first page of a tape");
	if (header.version != TAPE_VERSION)
		return err_new(ERR_UNSUPPORTED, "a tape of version %u; this memtape knows %u",
			       header.version, (unsigned)TAPE_VERSION);
	if (header.kind != TAPE_KIND_PACKED)
		return err_new(
			ERR_UNSUPPORTED,
			"a raw tape; only packed ones can be sent: `memtape repack` it first");
	if (uuid && memcmp(header.uuid, uuid, sizeof(header.uuid)) != 0)
		return err_new(ERR_FORMAT, "the first page of another tape");
	return NULL;
}

/* Text of a message, which has no end of its own. */
static struct err *name_take(const uint8_t *from, uint32_t bytes, char *name)
{
	assert(bytes <= WIRE_NAME_BYTES_MAX);
	if (bytes > 0 && memchr(from, '\0', bytes))
		return err_new(ERR_FORMAT, "a name with a zero byte");
	memcpy(name, from, bytes);
	name[bytes] = '\0';
	return NULL;
}

struct err *wire_begin_parse(const uint8_t *payload, size_t bytes, struct wire_tape *tape)
{
	const uint8_t *names = payload + sizeof(struct wire_begin);
	struct wire_begin begin;
	struct err *err;

	assert(bytes >= sizeof(begin));
	memcpy(&begin, payload, sizeof(begin));
	if (begin.host_bytes > WIRE_NAME_BYTES_MAX || begin.program_bytes > WIRE_NAME_BYTES_MAX ||
	    sizeof(begin) + begin.host_bytes + begin.program_bytes != bytes)
		return err_new(ERR_FORMAT, "names that do not fill their message");
	err = wire_page_check(begin.page, NULL);
	if (!err)
		err = name_take(names, begin.host_bytes, tape->host);
	if (!err)
		err = name_take(names + begin.host_bytes, begin.program_bytes, tape->program);
	if (err)
		return err;
	memcpy(tape->page, begin.page, sizeof(tape->page));
	memcpy(&tape->header, begin.page, sizeof(tape->header));
	return NULL;
}

struct err *wire_ready_parse(const uint8_t *payload, size_t bytes, struct wire_place *place)
{
	struct wire_ready ready;
	struct err *err;

	assert(bytes >= sizeof(ready));
	memcpy(&ready, payload, sizeof(ready));
	if (ready.name_bytes > WIRE_NAME_BYTES_MAX || sizeof(ready) + ready.name_bytes != bytes)
		return err_new(ERR_FORMAT, "a name that does not fill its message");
	if (ready.end < TAPE_HEADER_BYTES || ready.tail_bytes > WIRE_TAIL_BYTES_MAX ||
	    ready.tail_bytes > ready.end - TAPE_HEADER_BYTES)
		return err_new(ERR_FORMAT, "an impossible place in the tape");
	err = name_take(payload + sizeof(ready), ready.name_bytes, place->name);
	if (!err)
		place->ready = ready;
	return err;
}

void wire_refused_parse(const uint8_t *payload, size_t bytes, struct str *reason)
{
	char text[WIRE_REASON_BYTES_MAX + 1];

	assert(bytes <= WIRE_REASON_BYTES_MAX);
	memcpy(text, payload, bytes);
	text[bytes] = '\0';
	str_add_terminal(reason, text);
}

size_t wire_begin_make(uint8_t payload[WIRE_PAYLOAD_BYTES_MAX],
		       const uint8_t page[TAPE_HEADER_BYTES], const char *host, const char *program)
{
	struct wire_begin begin = {
		.host_bytes = (uint32_t)strnlen(host, WIRE_NAME_BYTES_MAX),
		.program_bytes = (uint32_t)strnlen(program, WIRE_NAME_BYTES_MAX),
	};
	uint8_t *names = payload + sizeof(begin);

	memcpy(begin.page, page, sizeof(begin.page));
	memcpy(payload, &begin, sizeof(begin));
	memcpy(names, host, begin.host_bytes);
	memcpy(names + begin.host_bytes, program, begin.program_bytes);
	return sizeof(begin) + begin.host_bytes + begin.program_bytes;
}

size_t wire_ready_make(uint8_t payload[WIRE_PAYLOAD_BYTES_MAX], const struct wire_place *place)
{
	struct wire_ready ready = place->ready;

	ready.name_bytes = (uint32_t)strlen(place->name);
	memcpy(payload, &ready, sizeof(ready));
	memcpy(payload + sizeof(ready), place->name, ready.name_bytes);
	return sizeof(ready) + ready.name_bytes;
}
