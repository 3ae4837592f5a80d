#include "capture/embedded.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

#include "capture/chunk.h"

enum { EMBED_LEVEL = 9, PART_BYTES_MAX = TAPE_RECORD_BYTES_MAX - 64 };

/* --- reading --------------------------------------------------------------------------------- */

/* Whether the tape claims to have names; false too if it is not a tape. */
static bool tape_has_flag(const char *path)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct tape_header header;

	return fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	       header.kind == TAPE_KIND_PACKED && (header.flags & TAPE_FLAG_SYMBOLS) != 0;
}

struct reading {
	struct chunk_loader loader;
	struct tape_chunk *image;
	uint8_t *bytes;
	size_t size;
	size_t filled;
};

static struct err *incomplete(void)
{
	return err_new(ERR_FORMAT, "the names on the tape are incomplete");
}

static struct err *part_take(struct reading *reading, const struct tape_extended_record *record)
{
	struct tape_symbols part;
	size_t bytes;

	if (record->payload_bytes < sizeof(part))
		return incomplete();
	memcpy(&part, record->payload, sizeof(part));
	bytes = record->payload_bytes - sizeof(part);
	if (!reading->bytes) {
		if (part.total_bytes > CAPTURE_EMBEDDED_BYTES_MAX)
			return incomplete();
		reading->size = part.total_bytes;
		reading->bytes = malloc(reading->size + 1);
		if (!reading->bytes)
			return err_nomem();
	}
	if (part.offset != reading->filled || bytes > reading->size - reading->filled)
		return incomplete();
	memcpy(reading->bytes + reading->filled, record->payload + sizeof(part), bytes);
	reading->filled += bytes;
	return NULL;
}

static struct err *chunk_take(struct reading *reading, const struct capture_chunk *chunk)
{
	struct tape_reader reader;
	struct err *err = chunk_load(&reading->loader, chunk, reading->image);

	if (err)
		return err;
	tape_reader_init(&reader, reading->image + 1, reading->image->used,
			 reading->image->begin_ticks);
	while (tape_reader_next(&reader) && !err) {
		if (reader.is_extended && reader.extended.type == TAPE_EXT_SYMBOLS)
			err = part_take(reading, &reader.extended);
	}
	return err;
}

/* Chunks of a stream, in the order of their numbers: by_stream[begin .. end - 1]. */
struct span {
	size_t begin;
	size_t end;
};

static const struct capture_chunk *span_chunk(const struct capture *capture, size_t i)
{
	return &capture->chunks.items[capture->by_stream.items[i]];
}

/* Names are in the last stream that has any; streams with events are skipped unread. */
static struct err *span_find(const struct capture *capture, struct reading *reading,
			     struct span *span)
{
	for (span->end = capture->by_stream.count; span->end > 0; span->end = span->begin) {
		const uint32_t stream = span_chunk(capture, span->end - 1)->stream;
		struct tape_reader reader;
		struct err *err;

		span->begin = span->end;
		while (span->begin > 0 && span_chunk(capture, span->begin - 1)->stream == stream)
			span->begin--;
		if (stream == TAPE_COLLECTOR_STREAM ||
		    span_chunk(capture, span->begin)->event_count)
			continue;
		err = chunk_load(&reading->loader, span_chunk(capture, span->begin),
				 reading->image);
		if (err)
			return err;
		tape_reader_init(&reader, reading->image + 1, reading->image->used,
				 reading->image->begin_ticks);
		if (tape_reader_next(&reader) && reader.is_extended &&
		    reader.extended.type == TAPE_EXT_SYMBOLS)
			return NULL;
	}
	*span = (struct span) { 0 };
	return NULL;
}

static struct err *reading_init(struct reading *reading, const struct capture *capture)
{
	*reading = (struct reading) { .loader.capture = capture };
	reading->image = calloc(1, (size_t)capture_header(capture)->chunk_bytes + CHUNK_IMAGE_PAD);
	return reading->image ? NULL : err_nomem();
}

static void reading_deinit(struct reading *reading)
{
	chunk_loader_deinit(&reading->loader);
	free(reading->image);
	free(reading->bytes);
}

static struct err *names_take(const struct capture *capture, struct reading *reading)
{
	struct span span = { 0 };
	struct err *err = span_find(capture, reading, &span);

	for (size_t i = span.begin; i < span.end && !err; i++)
		err = chunk_take(reading, span_chunk(capture, i));
	if (!err && (span.begin == span.end || reading->filled != reading->size))
		err = incomplete();
	return err;
}

struct err *capture_embedded_read(const char *path, uint8_t **bytes_ret, size_t *size_ret)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct reading reading;
	struct err *err;

	*bytes_ret = NULL;
	*size_ret = 0;
	if (!tape_has_flag(path))
		return NULL;
	err = capture_open(path, &capture);
	if (err)
		return err;
	err = reading_init(&reading, capture);
	if (!err)
		err = names_take(capture, &reading);
	if (!err) {
		*size_ret = reading.size;
		*bytes_ret = steal(reading.bytes);
	}
	reading_deinit(&reading);
	return err_wrap(err, "%s", path);
}

/* --- writing --------------------------------------------------------------------------------- */

struct writing {
	const struct tape_header *header;
	struct capture_packer *packer;
	struct tape_chunk *image;
	uint8_t *packed;
	int fd;
	uint64_t at; /* in the file: the next chunk's place */
	uint32_t stream;
	uint32_t seq;
};

static struct err *write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		const ssize_t got = pwrite(fd, (const uint8_t *)bytes + done, size - done,
					   (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno("write");
		done += (size_t)got;
	}
	return NULL;
}

/* Fills one chunk with records of the bytes from *done on. */
static void image_fill(struct writing *writing, const uint8_t *bytes, size_t size, size_t *done)
{
	const struct tape_header *header = writing->header;
	const uint64_t ticks = header->start_ticks >> header->tick_shift;
	uint8_t *begin = (uint8_t *)(writing->image + 1), *ptr = begin;
	const size_t room = header->chunk_bytes - sizeof(*writing->image);

	*writing->image = (struct tape_chunk) { .magic = TAPE_CHUNK_MAGIC,
						.header_bytes = sizeof(*writing->image),
						.state = TAPE_CHUNK_SEALED,
						.stream = writing->stream,
						.seq = writing->seq++,
						.begin_ticks = ticks };
	while (*done < size && room - (size_t)(ptr - begin) >= TAPE_RECORD_BYTES_MAX) {
		const struct tape_symbols part = { .total_bytes = size, .offset = *done };
		const size_t part_bytes = u64_min(size - *done, PART_BYTES_MAX);

		ptr = tape_extended_encode(ptr, TAPE_EXT_SYMBOLS, ticks, &part, sizeof(part),
					   bytes + *done, part_bytes);
		*done += part_bytes;
	}
	writing->image->used = (uint32_t)(ptr - begin);
}

static struct err *chunks_write(struct writing *writing, const uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t packed_bytes = 0;
		struct err *err;

		image_fill(writing, bytes, size, &done);
		err = capture_pack(writing->packer, writing->image, writing->header->chunk_bytes,
				   writing->packed, &packed_bytes, NULL);
		if (!err)
			err = write_at(writing->fd, writing->packed, packed_bytes, writing->at);
		if (err)
			return err;
		writing->at += packed_bytes;
	}
	return NULL;
}

static struct err *flag_write(int fd, uint32_t flags)
{
	flags = arch_little_u32(flags | TAPE_FLAG_SYMBOLS);
	return write_at(fd, &flags, sizeof(flags), offsetof(struct tape_header, flags));
}

/* Where new chunks go: after the last valid one, or in place of older names if only they follow. */
static struct err *place_find(const struct capture *capture, struct writing *writing)
{
	const struct capture_facts *facts = capture_facts(capture);
	struct reading reading;
	struct span span = { 0 };
	struct err *err = reading_init(&reading, capture);
	const size_t count = capture->chunks.count;

	if (!err)
		err = span_find(capture, &reading, &span);
	reading_deinit(&reading);
	writing->at = facts->file_bytes - facts->unused_tail_bytes;
	if (span.begin == span.end)
		return err;
	for (size_t i = count - (span.end - span.begin); i < count; i++)
		if (capture->chunks.items[i].stream != span_chunk(capture, span.begin)->stream)
			return err;
	writing->at = span_chunk(capture, span.begin)->offset;
	writing->stream = span_chunk(capture, span.begin)->stream;
	return err;
}

static struct err *write_to(const struct capture *capture, int fd, const void *bytes, size_t size)
{
	uint64_t begin;
	const struct tape_header *header = capture_header(capture);
	const size_t stream_count = capture->stream_ids.count;
	struct writing writing = { .header = header, .fd = fd };
	struct err *err;

	writing.stream = stream_count ? capture->stream_ids.items[stream_count - 1] + 1 : 1;
	err = place_find(capture, &writing);
	if (err)
		return err;
	begin = writing.at;
	writing.packer = capture_packer_create(EMBED_LEVEL);
	writing.image = calloc(1, (size_t)header->chunk_bytes + CHUNK_IMAGE_PAD);
	writing.packed = malloc(capture_pack_bound(header->chunk_bytes));
	if (writing.packer && writing.image && writing.packed)
		err = chunks_write(&writing, bytes, size);
	else
		err = err_nomem();
	if (!err && ftruncate(fd, (off_t)writing.at) != 0)
		err = err_errno("write");
	if (!err)
		err = flag_write(fd, header->flags);
	if (err) /* no partial names */
		(void)!ftruncate(fd, (off_t)begin);
	capture_packer_destroy(writing.packer);
	free(writing.image);
	free(writing.packed);
	return err;
}

static struct err *check_whole(const struct capture *capture, const char *path)
{
	if (capture_header(capture)->kind != TAPE_KIND_PACKED)
		return err_new(ERR_STATE, "%s is a raw tape; run `memtape repack` first", path);
	if (capture_header(capture)->flags & TAPE_FLAG_RECORDING)
		return err_new(ERR_STATE, "%s is incomplete; run `memtape repack` first", path);
	return NULL;
}

struct err *capture_embedded_check(const char *path)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct err *err = capture_open(path, &capture);

	return err ? err : check_whole(capture, path);
}

struct err *capture_embedded_write(const char *path, const void *bytes, size_t size)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(close) int fd = -1;
	struct err *err = capture_open(path, &capture);

	assert(bytes || size == 0);
	assert(size <= CAPTURE_EMBEDDED_BYTES_MAX);
	if (!err)
		err = check_whole(capture, path);
	if (err)
		return err;
	if (size > CAPTURE_EMBEDDED_BYTES_MAX)
		return err_new(ERR_LIMIT, "%s: too many names", path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno("open %s", path);
	return err_wrap(write_to(capture, fd, bytes, size), "%s", path);
}
