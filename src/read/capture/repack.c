#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/chunk.h"
#include "capture/closing.h"
#include "capture/pack.h"
#include "capture/packed_file.h"

struct repack {
	const struct capture *capture;
	struct chunk_loader loader;
	const struct capture_addition *addition; /* NULL: none */
	struct packed_file *file;
	struct tape_chunk *image;
	uint64_t damage_count;
};

static struct err *repack_chunk(struct repack *repack, const struct capture_chunk *chunk)
{
	uint32_t lost = 0;
	struct err *err;

	if (chunk->used == 0 && chunk->node_count == 0)
		return NULL;
	err = chunk_load(&repack->loader, chunk, repack->image);
	if (!err)
		err = packed_file_chunk(repack->file, repack->image,
					capture_header(repack->capture)->chunk_bytes, &lost);
	if (err && err_code_of(err) == ERR_FORMAT) { /* one chunk is lost, not the tape */
		err_destroy(err);
		repack->damage_count++;
		return NULL;
	}
	repack->damage_count += lost > 0;
	return err;
}

/* Number of the collector stream's next chunk; a raw tape may already have some. */
static uint32_t collector_seq(const struct capture *capture)
{
	uint32_t seq = 0;

	for (size_t i = 0; i < capture->chunks.count; i++)
		if (capture->chunks.items[i].stream == TAPE_COLLECTOR_STREAM)
			seq = (uint32_t)u64_max(seq, (uint64_t)capture->chunks.items[i].seq + 1);
	return seq;
}

/* In a stream, times do not go back: a stream of its own. */
static struct err *append_earlier(struct repack *repack)
{
	CLEAN(packed_stream_deinit) struct packed_stream stream = { 0 };
	const struct capture_addition *addition = repack->addition;
	uint32_t last = TAPE_COLLECTOR_STREAM;
	struct err *err;

	for (size_t i = 0; i < capture_stream_count(repack->capture); i++)
		last = (uint32_t)u64_max(last, capture_stream_id(repack->capture, i));
	if (last == UINT32_MAX)
		return err_new(ERR_LIMIT, "too many streams");
	packed_stream_init(&stream, repack->file, last + 1, 0);
	err = addition->write(addition->context, &stream);
	return err ? err : packed_stream_flush(&stream);
}

static struct err *append_closing(struct repack *repack)
{
	CLEAN(packed_stream_deinit) struct packed_stream stream = { 0 };
	const struct capture_addition *addition = repack->addition;
	struct err *err = NULL;

	packed_stream_init(&stream, repack->file, TAPE_COLLECTOR_STREAM,
			   collector_seq(repack->capture));
	if (capture_has_live(repack->capture))
		err = closing_write(repack->capture, &stream);
	if (!err && addition && !addition->is_earlier)
		err = addition->write(addition->context, &stream);
	if (!err)
		err = packed_stream_flush(&stream);
	return err || !addition || !addition->is_earlier ? err : append_earlier(repack);
}

static struct err *repack_all(struct repack *repack)
{
	struct err *err = NULL;

	for (size_t i = 0; i < repack->capture->chunks.count && !err; i++)
		err = repack_chunk(repack, &repack->capture->chunks.items[i]);
	if (!err)
		err = append_closing(repack);
	return err ? err : packed_file_finish(repack->file);
}

static struct err *repack_to(const struct capture *capture, int fd, int level,
			     const struct capture_addition *addition,
			     struct capture_repacked *repacked_ret)
{
	const struct tape_header *header = capture_header(capture);
	struct repack repack = { .capture = capture,
				 .loader.capture = capture,
				 .addition = addition };
	struct err *err = packed_file_create(fd, header, level, &repack.file);

	if (err)
		return err;
	repack.image = calloc(1, (size_t)header->chunk_bytes + CHUNK_IMAGE_PAD);
	repack.damage_count = capture_damage_count(capture);
	err = repack.image ? repack_all(&repack) : err_nomem();
	if (!err)
		*repacked_ret = (struct capture_repacked) {
			.bytes_in = capture_facts(capture)->file_bytes +
				    capture_facts(capture)->spool_bytes,
			.bytes_out = packed_file_bytes(repack.file),
			.chunk_count = packed_file_chunk_count(repack.file),
			.event_count = packed_file_event_count(repack.file),
			.damage_count = repack.damage_count,
			.is_written = capture_is_written(capture),
		};
	packed_file_destroy(repack.file);
	chunk_loader_deinit(&repack.loader);
	free(repack.image);
	return err;
}

struct err *capture_repack(const char *path_in, const char *path_out, int level,
			   struct capture_repacked *repacked_ret)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct err *err = capture_open(path_in, &capture);

	return err ? err : capture_repack_opened(capture, path_out, level, NULL, repacked_ret);
}

struct err *capture_repack_opened(const struct capture *capture, const char *path_out, int level,
				  const struct capture_addition *addition,
				  struct capture_repacked *repacked_ret)
{
	const int fd = file_create(path_out);
	struct err *err;

	if (fd < 0)
		return err_errno("%s", path_out);
	err = repack_to(capture, fd, level, addition, repacked_ret);
	if (close(fd) < 0 && !err)
		err = err_errno("close");
	if (err)
		unlink(path_out);
	return err_wrap(err, "%s", path_out);
}
