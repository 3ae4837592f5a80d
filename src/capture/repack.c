#include <errno.h>
#include <fcntl.h>

#include "capture/chunk.h"
#include "capture/pack.h"
#include "core/hash.h"

enum { WRITE_BYTES = 1 << 20, CLOSING_BYTES = TAPE_CHUNK_BYTES_MIN };

struct repack {
	const struct capture *capture;
	struct chunk_loader loader;
	struct capture_packer *packer;
	struct tape_chunk *image;
	uint8_t *packed;
	int fd;
	uint8_t *pending; /* not yet written */
	size_t pending_bytes;
	struct capture_repacked repacked;
};

static struct err *write_pending(struct repack *repack)
{
	const uint8_t *ptr = repack->pending;

	while (repack->pending_bytes > 0) {
		ssize_t done = write(repack->fd, ptr, repack->pending_bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_errno("write");
		ptr += done;
		repack->pending_bytes -= (size_t)done;
	}
	return NULL;
}

static struct err *append(struct repack *repack, const void *bytes, size_t len)
{
	struct err *err = NULL;

	if (repack->pending_bytes + len > WRITE_BYTES)
		err = write_pending(repack);
	for (size_t done = 0; done < len && !err;) {
		size_t part = u64_min(len - done, WRITE_BYTES - repack->pending_bytes);

		memcpy(repack->pending + repack->pending_bytes, (const uint8_t *)bytes + done,
		       part);
		repack->pending_bytes += part;
		done += part;
		if (repack->pending_bytes == WRITE_BYTES)
			err = write_pending(repack);
	}
	repack->repacked.bytes_out += len;
	return err;
}

static struct err *append_header(struct repack *repack)
{
	uint8_t page[TAPE_HEADER_BYTES] = { 0 };
	struct tape_header header = *capture_header(repack->capture);

	header.kind = TAPE_KIND_PACKED;
	memset(header.live, 0, sizeof(header.live));
	memcpy(page, &header, sizeof(header));
	return append(repack, page, sizeof(page));
}

static struct err *append_image(struct repack *repack, uint32_t chunk_bytes, uint32_t *lost_ret)
{
	const struct tape_chunk *packed = (const void *)repack->packed;
	size_t bytes = 0;
	struct err *err = capture_pack(repack->packer, repack->image, chunk_bytes, repack->packed,
				       &bytes, lost_ret);

	if (err)
		return err;
	repack->repacked.chunk_count++;
	repack->repacked.event_count += packed->event_count;
	return append(repack, repack->packed, bytes);
}

static struct err *repack_chunk(struct repack *repack, const struct capture_chunk *chunk)
{
	uint32_t lost = 0;
	struct err *err;

	if (chunk->used == 0 && chunk->node_count == 0)
		return NULL;
	err = chunk_load(&repack->loader, chunk, repack->image);
	if (!err)
		err = append_image(repack, capture_header(repack->capture)->chunk_bytes, &lost);
	if (err && err_code_of(err) == ERR_FORMAT) { /* one chunk less, not the tape */
		err_destroy(err);
		repack->repacked.damage_count++;
		return NULL;
	}
	repack->repacked.damage_count += lost > 0;
	return err;
}

/* Number of the next chunk of the collector's stream, whose chunks a raw tape may already have. */
static uint32_t collector_seq(const struct capture *capture)
{
	uint32_t seq = 0;

	for (size_t i = 0; i < capture->chunks.count; i++)
		if (capture->chunks.items[i].stream == TAPE_COLLECTOR_STREAM)
			seq = (uint32_t)u64_max(seq, (uint64_t)capture->chunks.items[i].seq + 1);
	return seq;
}

/* What only the header page of a raw tape says, as records. */
static uint32_t write_closing(const struct capture *capture, uint8_t *out)
{
	const struct tape_live *live = capture_live(capture);
	uint64_t ticks = live->exit_ticks;
	struct tape_fault_record fault = { .fault = live->fault, .error = live->fault_errno };
	struct tape_lost lost;
	uint8_t *ptr = out;

	memcpy(lost.lost, live->lost, sizeof(lost.lost));
	ptr = tape_extended_encode(ptr, TAPE_EXT_LOST, ticks, &lost, sizeof(lost), NULL, 0);
	if (live->fault != TAPE_FAULT_NONE)
		ptr = tape_extended_encode(ptr, TAPE_EXT_FAULT, ticks, &fault, sizeof(fault), NULL,
					   0);
	return (uint32_t)(ptr - out);
}

static struct err *append_closing(struct repack *repack)
{
	if (capture_header(repack->capture)->kind != TAPE_KIND_RAW)
		return NULL;
	*repack->image =
		(struct tape_chunk) { .magic = TAPE_CHUNK_MAGIC,
				      .header_bytes = sizeof(*repack->image),
				      .state = TAPE_CHUNK_SEALED,
				      .stream = TAPE_COLLECTOR_STREAM,
				      .seq = collector_seq(repack->capture),
				      .begin_ticks = capture_live(repack->capture)->exit_ticks };
	repack->image->used = write_closing(repack->capture, (uint8_t *)(repack->image + 1));
	return append_image(repack, CLOSING_BYTES, NULL);
}

static struct err *repack_all(struct repack *repack)
{
	struct err *err = append_header(repack);

	for (size_t i = 0; i < repack->capture->chunks.count && !err; i++)
		err = repack_chunk(repack, &repack->capture->chunks.items[i]);
	if (!err)
		err = append_closing(repack);
	return err ? err : write_pending(repack);
}

static struct err *repack_to(const struct capture *capture, int fd, int level,
			     struct capture_repacked *repacked_ret)
{
	uint32_t chunk_bytes = capture_header(capture)->chunk_bytes;
	struct repack repack = { .capture = capture, .fd = fd, .loader.capture = capture };
	struct err *err;

	repack.packer = capture_packer_create(level);
	repack.image = calloc(1, (size_t)chunk_bytes + CHUNK_IMAGE_PAD);
	repack.packed = malloc(capture_pack_bound(chunk_bytes));
	repack.pending = malloc(WRITE_BYTES);
	repack.repacked.bytes_in = capture_facts(capture)->file_bytes;
	repack.repacked.damage_count = capture_damage_count(capture);
	if (repack.packer && repack.image && repack.packed && repack.pending)
		err = repack_all(&repack);
	else
		err = err_nomem();
	if (!err)
		*repacked_ret = repack.repacked;
	capture_packer_destroy(repack.packer);
	chunk_loader_deinit(&repack.loader);
	free(repack.image);
	free(repack.packed);
	free(repack.pending);
	return err;
}

struct err *capture_repack(const char *path_in, const char *path_out, int level,
			   struct capture_repacked *repacked_ret)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct err *err = capture_open(path_in, &capture);
	int fd;

	if (err)
		return err;
	fd = open(path_out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno("%s", path_out);
	err = repack_to(capture, fd, level, repacked_ret);
	if (close(fd) < 0 && !err)
		err = err_errno("close");
	if (err)
		unlink(path_out);
	return err_wrap(err, "%s", path_out);
}
