#include "capture/chunk.h"

#include <assert.h>
#include <errno.h>

#include "capture/columns.h"
#include "capture/cut.h"

enum { RECORD_BYTES_MIN = 3 };

void chunk_loader_deinit(struct chunk_loader *loader)
{
	capture_packer_destroy(loader->packer);
	free(loader->packed);
	free(loader->scratch);
	*loader = (struct chunk_loader) { 0 };
}

/* Exactly bytes; a file truncated since it was opened is damaged. */
static struct err *read_at(int fd, void *buf, size_t bytes, uint64_t offset)
{
	uint8_t *ptr = buf;

	while (bytes > 0) {
		ssize_t done = pread(fd, ptr, bytes, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_errno("read at byte %llu", (unsigned long long)offset);
		if (done == 0)
			return err_new(ERR_FORMAT, "the file ends early");
		ptr += done;
		bytes -= (size_t)done;
		offset += (uint64_t)done;
	}
	return NULL;
}

static void image_header(const struct capture_chunk *chunk, struct tape_chunk *image)
{
	*image = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(*image),
		.codec = TAPE_CODEC_RAW,
		.state = chunk->is_open ? TAPE_CHUNK_OPEN : TAPE_CHUNK_SEALED,
		.stream = chunk->stream,
		.seq = chunk->seq,
		.used = chunk->used,
		.node_count = chunk->node_count,
		.first_node = chunk->first_node,
		.oldest_node = chunk->oldest_node,
		.flags = chunk->flags,
		.begin_ticks = chunk->begin_ticks,
		.event_count = chunk->event_count,
	};
}

/* The part of a slot that is not in a chunk of the tape. */
static struct err *slot_cut(struct chunk_loader *loader, const struct capture_chunk *chunk,
			    struct tape_chunk *image)
{
	const uint32_t chunk_bytes = loader->capture->header.chunk_bytes;
	struct capture_cut cut;

	if (chunk->taken_used == 0)
		return NULL;
	if (!loader->scratch)
		loader->scratch = malloc((size_t)chunk_bytes + CHUNK_IMAGE_PAD);
	if (!loader->scratch)
		return err_nomem();
	if (!capture_cut_find(image, chunk->taken_used, chunk->taken_nodes, &cut))
		return err_new(ERR_FORMAT, "what of it is on the tape is not known");
	capture_cut_front(image, chunk_bytes, &cut, loader->scratch);
	return NULL;
}

/* A slot of a raw tape: records at its beginning, nodes at its end. */
static struct err *load_slot(struct chunk_loader *loader, const struct capture_chunk *chunk,
			     struct tape_chunk *image)
{
	const struct capture *capture = loader->capture;
	const int fd = chunk->in_spool ? capture->spool_fd : capture->fd;
	uint32_t chunk_bytes = capture->header.chunk_bytes;
	size_t node_bytes = chunk->node_count * sizeof(struct tape_node);
	struct err *err;

	image_header(chunk, image);
	err = read_at(fd, image + 1, chunk->used, chunk->offset + sizeof(*image));
	if (!err)
		err = read_at(fd, (uint8_t *)image + chunk_bytes - node_bytes, node_bytes,
			      chunk->offset + chunk_bytes - node_bytes);
	return err ? err : slot_cut(loader, chunk, image);
}

static struct err *loader_reserve(struct chunk_loader *loader, size_t bytes)
{
	if (bytes > loader->packed_room) {
		free(loader->packed);
		loader->packed = malloc(bytes);
		loader->packed_room = loader->packed ? bytes : 0;
	}
	if (!loader->packer)
		loader->packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	return loader->packed && loader->packer ? NULL : err_nomem();
}

/* Stored records and nodes, in a packed tape. */
static struct err *load_plain(const struct chunk_loader *loader, const struct capture_chunk *chunk,
			      struct tape_chunk *image)
{
	const uint8_t *payload = loader->packed + sizeof(*image);
	uint32_t chunk_bytes = loader->capture->header.chunk_bytes;
	size_t node_bytes = chunk->node_count * sizeof(struct tape_node);

	if (chunk->used + node_bytes != chunk->stored_bytes)
		return err_new(ERR_FORMAT, "stored size is wrong");
	image_header(chunk, image);
	memcpy(image + 1, payload, chunk->used);
	memcpy((uint8_t *)image + chunk_bytes - node_bytes, payload + chunk->used, node_bytes);
	return NULL;
}

struct err *chunk_read_packed(struct chunk_loader *loader, const struct capture_chunk *chunk,
			      const struct tape_chunk **packed_ret)
{
	size_t bytes = sizeof(struct tape_chunk) + chunk->stored_bytes;
	const struct tape_chunk *packed;
	struct err *err = loader_reserve(loader, bytes);

	if (err)
		return err;
	err = read_at(loader->capture->fd, loader->packed, bytes, chunk->offset);
	if (err)
		return err;
	packed = (const struct tape_chunk *)(const void *)loader->packed;
	/* The file may have changed since its headers were read. */
	if (packed->stored_bytes != chunk->stored_bytes || packed->used != chunk->used ||
	    packed->node_count != chunk->node_count || packed->stream != chunk->stream)
		return err_new(ERR_FORMAT, "changed while it was read");
	if (!capture_checksum_ok(packed))
		return err_new(ERR_FORMAT, "checksum is wrong");
	*packed_ret = packed;
	return NULL;
}

static struct err *load_packed(struct chunk_loader *loader, const struct capture_chunk *chunk,
			       struct tape_chunk *image)
{
	const struct tape_chunk *packed;
	struct err *err = chunk_read_packed(loader, chunk, &packed);

	if (err)
		return err;
	if (packed->codec == TAPE_CODEC_RAW)
		return load_plain(loader, chunk, image);
	return capture_unpack(loader->packer, packed, image, loader->capture->header.chunk_bytes);
}

struct err *chunk_load(struct chunk_loader *loader, const struct capture_chunk *chunk,
		       struct tape_chunk *image)
{
	assert(loader->capture);
	if (chunk->is_slot)
		return load_slot(loader, chunk, image);
	return load_packed(loader, chunk, image);
}

struct decoded *decoded_create(const struct capture *capture)
{
	struct decoded *decoded = calloc(1, sizeof(*decoded));

	if (!decoded)
		return NULL;
	decoded->image = calloc(1, (size_t)capture->header.chunk_bytes + CHUNK_IMAGE_PAD);
	if (!decoded->image) {
		free(decoded);
		return NULL;
	}
	return decoded;
}

void decoded_destroy(struct decoded *decoded)
{
	if (!decoded)
		return;
	err_destroy(decoded->err);
	free(decoded->events);
	free(decoded->image);
	free(decoded);
}

static inline uint64_t field_value(const uint8_t **ptr, unsigned lengths, unsigned code)
{
	static const uint64_t masks[] = {
		0,	    0xff,	  0xffff,	  0xffffff,
		0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
		UINT64_MAX
	};
	unsigned bytes = lengths >> code * 4 & 15;
	uint64_t value = load_u64(*ptr) & masks[bytes];

	*ptr += bytes;
	return value;
}

/* Like tape_reader, but in place; ptr has TAPE_EVENT_ROOM readable bytes. */
static inline const uint8_t *event_decode(struct tape_codec_state *codec, const uint8_t *ptr,
					  unsigned ctrl, struct capture_event *event)
{
	unsigned fn = ctrl & 63, place_code = ctrl >> 8 & 3;
	unsigned sizeless = tape_fn_sizeless(fn);
	uint64_t place;

	ptr += 2;
	codec->ticks += field_value(&ptr, TAPE_TIME_LENGTHS, ctrl >> 6 & 3);
	place = field_value(&ptr, TAPE_ADDRESS_LENGTHS, place_code);
	codec->address = place_code == 3 ? place : tape_distance_unfold(codec->address, place);
	event->ticks = codec->ticks;
	event->address = codec->address;
	event->fn = (uint8_t)fn;
	event->size = event->usable = 0;
	if (!sizeless) {
		unsigned size_code = ctrl >> 10 & 3, slack_code = ctrl >> 12 & 3;
		uint64_t size = field_value(&ptr, TAPE_SIZE_LENGTHS, size_code);
		uint64_t slack = field_value(&ptr, TAPE_SLACK_LENGTHS, slack_code);

		codec->size = size_code ? size : codec->size;
		event->size = codec->size;
		event->usable = slack_code ? codec->size + slack : tape_usable_guess(codec->size);
	}
	if (ctrl >> 14)
		codec->node[sizeless] = (uint32_t)field_value(&ptr, TAPE_STACK_LENGTHS, ctrl >> 14);
	event->stack = codec->node[sizeless];
	return ptr;
}

static uint32_t extended_node(const struct tape_extended_record *record)
{
	const size_t offset = chunk_extended_node(record);

	return offset == CHUNK_NO_NODE ? (uint32_t)TAPE_NODE_NONE
				       : load_u32(record->payload + offset);
}

struct capture_event capture_event_of_extended(unsigned type, uint64_t ticks,
					       const uint8_t *payload, uint32_t payload_bytes)
{
	struct capture_event event = { .ticks = ticks,
				       .address = (uintptr_t)payload,
				       .size = payload_bytes,
				       .usable = type,
				       .fn = TAPE_FN_EXTENDED };
	const struct tape_extended_record record = capture_event_extended(&event);

	assert(payload || payload_bytes == 0);
	event.stack = extended_node(&record);
	return event;
}

/* NULL: it does not end before `end`. */
static const uint8_t *extended_decode(const uint8_t *ptr, const uint8_t *end,
				      struct capture_event *event)
{
	size_t rest = (size_t)(end - ptr);

	if (rest < TAPE_EXTENDED_BYTES || load_u32(ptr + 4) > rest - TAPE_EXTENDED_BYTES)
		return NULL;
	*event = capture_event_of_extended(load_u16(ptr) >> 6, load_u64(ptr + 8),
					   ptr + TAPE_EXTENDED_BYTES, load_u32(ptr + 4));
	return ptr + TAPE_EXTENDED_BYTES + load_u32(ptr + 4);
}

struct tape_extended_record capture_event_extended(const struct capture_event *event)
{
	assert(event->fn == TAPE_FN_EXTENDED);
	return (struct tape_extended_record) {
		.type = (enum tape_extended)event->usable,
		.payload_bytes = (uint32_t)event->size,
		.ticks = event->ticks,
		.payload = (const uint8_t *)(uintptr_t)event->address,
	};
}

/* NULL: it does not end before `end`. Its time is that of its event. */
static const uint8_t *latency_decode(const uint8_t *ptr, const uint8_t *end, unsigned ctrl,
				     uint64_t ticks, struct capture_event *event)
{
	const unsigned bytes = tape_latency_bytes(ctrl);

	if (bytes == 0 || (size_t)(end - ptr) < 2 + bytes)
		return NULL;
	*event =
		capture_event_of_latency(ticks, bytes == 2 ? load_u16(ptr + 2) : load_u64(ptr + 2));
	return ptr + 2 + bytes;
}

/*
 * The record at ptr; it is not NULL only if its header says that it may end before `end`. An event
 * may turn out to end after it.
 */
__attribute__((always_inline)) static inline const uint8_t *
record_decode(struct tape_codec_state *codec, const uint8_t *ptr, const uint8_t *end,
	      struct capture_event *event, uint32_t *event_count)
{
	const unsigned ctrl = load_u16(ptr), fn = ctrl & 63;

	if (likely(fn < TAPE_FN_COUNT)) {
		++*event_count;
		return event_decode(codec, ptr, ctrl, event);
	}
	if (fn == TAPE_FN_LATENCY)
		return latency_decode(ptr, end, ctrl, codec->ticks, event);
	return fn == TAPE_FN_EXTENDED ? extended_decode(ptr, end, event) : NULL;
}

/* Every record of image; false if one is broken: the records before it are returned. */
static bool decode_records(struct decoded *decoded, uint32_t stream)
{
	const struct tape_chunk *image = decoded->image;
	const uint8_t *ptr = chunk_records(image), *end = ptr + image->used;
	struct capture_event *event = decoded->events;
	struct tape_codec_state codec;
	uint32_t event_count = 0;
	bool sound = true;

	tape_codec_reset(&codec, image->begin_ticks);
	for (; ptr < end; event++) {
		ptr = record_decode(&codec, ptr, end, event, &event_count);
		if (unlikely(!ptr || ptr > end)) {
			sound = false;
			event_count -= ptr != NULL && event->fn < TAPE_FN_COUNT;
			break;
		}
		event->stream = stream & 0xffffff;
	}
	decoded->count = (size_t)(event - decoded->events);
	decoded->event_count = event_count;
	return sound;
}

/* The same of an event near the end, without reading what is behind it. */
static const uint8_t *last_decode(struct tape_codec_state *codec, const uint8_t *ptr,
				  const uint8_t *end, struct capture_event *event,
				  uint32_t *event_count)
{
	const size_t rest = (size_t)(end - ptr);
	uint8_t copy[2 * TAPE_EVENT_ROOM] = { 0 };
	const uint8_t *next;

	assert(rest < TAPE_EVENT_ROOM);
	memcpy(copy, ptr, rest);
	if ((load_u16(copy) & 63) >= TAPE_FN_COUNT)
		return record_decode(codec, ptr, end, event, event_count);
	next = record_decode(codec, copy, copy + rest, event, event_count);
	return ptr + (next - copy);
}

bool chunk_decode_next(struct decoded *decoded, uint32_t used, uint32_t stream)
{
	const uint8_t *begin = chunk_records(decoded->image), *end = begin + used;
	const uint8_t *ptr = begin + decoded->done_bytes;
	struct tape_codec_state codec = decoded->codec;
	struct capture_event *event = decoded->events;

	assert(decoded->done_bytes <= used);
	decoded->has_extended = false;
	for (; ptr < end && event < decoded->events + decoded->room; event++) {
		if (likely(end - ptr >= TAPE_EVENT_ROOM))
			ptr = record_decode(&codec, ptr, end, event, &decoded->event_count);
		else
			ptr = last_decode(&codec, ptr, end, event, &decoded->event_count);
		if (unlikely(!ptr || ptr > end))
			return false;
		event->stream = stream & 0xffffff;
		decoded->has_extended |= event->fn == TAPE_FN_EXTENDED;
	}
	decoded->codec = codec;
	decoded->done_bytes = (uint32_t)(ptr - begin);
	decoded->at = 0;
	decoded->count = (size_t)(event - decoded->events);
	return true;
}

static bool decoded_reserve(struct decoded *decoded, uint32_t used)
{
	/* One extra: the last record may turn out to be broken after it is written. */
	size_t room = used / RECORD_BYTES_MIN + 2;

	if (decoded->room >= room)
		return true;
	free(decoded->events);
	decoded->events = malloc(room * sizeof(*decoded->events));
	decoded->room = decoded->events ? room : 0;
	return decoded->events != NULL;
}

/* Straight from the columns: the records are never assembled. */
static struct err *decode_columns(struct chunk_loader *loader, const struct tape_chunk *packed,
				  const struct capture_chunk *chunk, uint32_t stream,
				  struct decoded *decoded)
{
	uint32_t chunk_bytes = loader->capture->header.chunk_bytes;
	const struct columns *columns;
	struct err *err = capture_unpack_columns(loader->packer, packed, chunk_bytes, &columns);

	if (err)
		return err;
	image_header(chunk, decoded->image);
	if (!columns_join_nodes(columns, decoded->image, chunk_bytes) ||
	    !columns_decode(columns, stream, decoded))
		return err_new(ERR_FORMAT, "columns are inconsistent");
	return NULL;
}

static struct err *decode_image(struct decoded *decoded, uint32_t stream)
{
	if (!decode_records(decoded, stream))
		decoded->damage = "a record is broken";
	return NULL;
}

static struct err *decode(struct chunk_loader *loader, const struct capture_chunk *chunk,
			  uint32_t stream, struct decoded *decoded)
{
	const struct tape_chunk *packed;
	struct err *err;

	if (chunk->is_slot) {
		err = load_slot(loader, chunk, decoded->image);
		return err ? err : decode_image(decoded, stream);
	}
	err = chunk_read_packed(loader, chunk, &packed);
	if (err)
		return err;
	if (packed->codec != TAPE_CODEC_RAW)
		return decode_columns(loader, packed, chunk, stream, decoded);
	err = load_plain(loader, chunk, decoded->image);
	return err ? err : decode_image(decoded, stream);
}

void chunk_decode(struct chunk_loader *loader, const struct capture_chunk *chunk, uint32_t stream,
		  struct decoded *decoded)
{
	struct err *err;

	assert(loader->capture && decoded->image);
	assert(stream < capture_stream_count(loader->capture));
	decoded->count = decoded->at = 0;
	decoded->event_count = 0;
	decoded->damage = NULL;
	decoded->seq = chunk->seq;
	err = decoded_reserve(decoded, chunk->used) ? decode(loader, chunk, stream, decoded)
						    : err_nomem();
	if (!err)
		return;
	decoded->image->node_count = 0;
	decoded->count = 0;
	if (err_code_of(err) == ERR_FORMAT) {
		decoded->damage = "cannot be decoded";
		err_destroy(err);
	} else {
		decoded->err = err;
	}
}
