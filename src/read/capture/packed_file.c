#include "capture/packed_file.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "capture/pack.h"

enum { WRITE_BYTES = 1 << 20 };

struct packed_file {
	int fd;
	struct packed_sink sink; /* instead of fd; append may be NULL */
	uint32_t chunk_bytes;
	struct capture_packer *packer;
	uint8_t *packed;
	uint8_t *pending; /* not yet written */
	size_t pending_bytes;
	uint64_t bytes;
	uint64_t chunk_count;
	uint64_t event_count;
};

struct err *packed_file_finish(struct packed_file *file)
{
	const uint8_t *ptr = file->pending;

	while (file->pending_bytes > 0) {
		ssize_t done = write(file->fd, ptr, file->pending_bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_errno("write");
		ptr += done;
		file->pending_bytes -= (size_t)done;
	}
	return NULL;
}

static struct err *append(struct packed_file *file, const void *bytes, size_t len)
{
	struct err *err = NULL;

	file->bytes += len;
	if (file->sink.append)
		return file->sink.append(file->sink.context, bytes, len);
	if (file->pending_bytes + len > WRITE_BYTES)
		err = packed_file_finish(file);
	for (size_t done = 0; done < len && !err;) {
		size_t part = u64_min(len - done, WRITE_BYTES - file->pending_bytes);

		memcpy(file->pending + file->pending_bytes, (const uint8_t *)bytes + done, part);
		file->pending_bytes += part;
		done += part;
		if (file->pending_bytes == WRITE_BYTES)
			err = packed_file_finish(file);
	}
	return err;
}

static struct err *append_header(struct packed_file *file, const struct tape_header *given)
{
	uint8_t page[TAPE_HEADER_BYTES] = { 0 };
	struct tape_header header = *given;

	header.kind = TAPE_KIND_PACKED;
	header.flags &= ~(uint32_t)(TAPE_FLAG_RECORDING | TAPE_FLAG_LIVE_BIG);
	memset(header.live, 0, sizeof(header.live));
	memcpy(page, &header, sizeof(header));
	return append(file, page, sizeof(page));
}

static struct err *create(int fd, struct packed_sink sink, uint32_t chunk_bytes, int level,
			  struct packed_file **file_ret)
{
	CLEAN(packed_file_destroy) struct packed_file *file = calloc(1, sizeof(*file));

	assert(chunk_bytes <= TAPE_CHUNK_BYTES_MAX);
	if (!file)
		return err_nomem();
	file->fd = fd;
	file->sink = sink;
	file->chunk_bytes = chunk_bytes;
	file->packer = capture_packer_create(level);
	file->packed = malloc(capture_pack_bound(chunk_bytes));
	file->pending = sink.append ? NULL : malloc(WRITE_BYTES);
	if (!file->packer || !file->packed || (!file->pending && !sink.append))
		return err_nomem();
	*file_ret = steal(file);
	return NULL;
}

struct err *packed_file_create(int fd, const struct tape_header *header, int level,
			       struct packed_file **file_ret)
{
	CLEAN(packed_file_destroy) struct packed_file *file = NULL;
	struct err *err;

	assert(fd >= 0);
	err = create(fd, (struct packed_sink) { 0 }, header->chunk_bytes, level, &file);
	if (!err)
		err = append_header(file, header);
	if (!err)
		*file_ret = steal(file);
	return err;
}

struct err *packed_file_create_to(struct packed_sink sink, uint32_t chunk_bytes, int level,
				  struct packed_file **file_ret)
{
	assert(sink.append);
	return create(-1, sink, chunk_bytes, level, file_ret);
}

void packed_file_destroy(struct packed_file *file)
{
	if (!file)
		return;
	capture_packer_destroy(file->packer);
	free(file->packed);
	free(file->pending);
	free(file);
}

struct err *packed_file_chunk(struct packed_file *file, const struct tape_chunk *image,
			      uint32_t image_bytes, uint32_t *lost_ret)
{
	const struct tape_chunk *packed = (const void *)file->packed;
	size_t bytes = 0;
	struct err *err;

	assert(image_bytes <= file->chunk_bytes); /* the capacity of file->packed */
	err = capture_pack(file->packer, image, image_bytes, file->packed, &bytes, lost_ret);
	if (err)
		return err;
	file->chunk_count++;
	file->event_count += packed->event_count;
	return append(file, packed, bytes);
}

struct err *packed_file_copy(struct packed_file *file, const struct tape_chunk *packed)
{
	assert(packed->header_bytes == sizeof(*packed));
	file->chunk_count++;
	file->event_count += packed->event_count;
	return append(file, packed, sizeof(*packed) + packed->stored_bytes);
}

uint32_t packed_file_chunk_bytes(const struct packed_file *file)
{
	return file->chunk_bytes;
}

uint64_t packed_file_bytes(const struct packed_file *file)
{
	return file->bytes;
}

uint64_t packed_file_chunk_count(const struct packed_file *file)
{
	return file->chunk_count;
}

uint64_t packed_file_event_count(const struct packed_file *file)
{
	return file->event_count;
}
