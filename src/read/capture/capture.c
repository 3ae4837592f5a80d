#include "capture/capture.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/sort.h"
#include "capture/chunk.h"
#include "capture/columns.h"

enum { STREAMS_MAX = 1 << 24, TICK_SHIFT_MAX = 32, SCAN_BYTES = 1 << 16 };

const struct tape_header *capture_header(const struct capture *capture)
{
	return &capture->header;
}

const struct tape_live *capture_live(const struct capture *capture)
{
	return &capture->live;
}

bool capture_has_live(const struct capture *capture)
{
	return capture->has_live;
}

bool capture_is_written(const struct capture *capture)
{
	return capture->is_written;
}

const char *capture_killed_text(const struct capture *capture)
{
	return capture->killed_text;
}

bool capture_is_finished(const struct capture *capture)
{
	if (capture->header.flags & TAPE_FLAG_RECORDING)
		return false;
	for (size_t i = 0; i < capture->chunks.count; i++)
		if (capture->chunks.items[i].is_open)
			return false;
	return true;
}

const struct capture_facts *capture_facts(const struct capture *capture)
{
	return &capture->facts;
}

size_t capture_chunk_count(const struct capture *capture)
{
	return capture->chunks.count;
}

const struct capture_chunk *capture_chunk_get(const struct capture *capture, size_t index)
{
	assert(index < capture->chunks.count);
	return &capture->chunks.items[index];
}

size_t capture_damage_count(const struct capture *capture)
{
	return capture->damage.count;
}

const struct capture_damage *capture_damage_get(const struct capture *capture, size_t index)
{
	assert(index < capture->damage.count);
	return &capture->damage.items[index];
}

size_t capture_stream_count(const struct capture *capture)
{
	return capture->stream_ids.count;
}

uint32_t capture_stream_id(const struct capture *capture, size_t stream)
{
	assert(stream < capture->stream_ids.count);
	return capture->stream_ids.items[stream];
}

void capture_destroy(struct capture *capture)
{
	if (!capture)
		return;
	if (capture->fd >= 0)
		close(capture->fd);
	if (capture->spool_fd >= 0)
		close(capture->spool_fd);
	capture_chunk_vec_deinit(&capture->chunks);
	vec_u32_deinit(&capture->by_stream);
	vec_u32_deinit(&capture->stream_ids);
	capture_damage_vec_deinit(&capture->damage);
	arena_deinit(&capture->arena);
	free(capture);
}

struct err *capture_read_some(int fd, void *buf, size_t bytes, uint64_t offset, size_t *done_ret)
{
	const ssize_t done = file_read_at(fd, buf, bytes, offset);

	if (done < 0)
		return err_errno("read at byte %llu", (unsigned long long)offset);
	*done_ret = (size_t)done;
	return NULL;
}

struct err *capture_add_damage(struct capture *capture, uint64_t offset, const char *text)
{
	const struct capture_damage damage = { offset, text };

	return capture_damage_vec_push(&capture->damage, damage) ? NULL : err_nomem();
}

struct err *capture_check_header(const struct tape_header *header, size_t bytes)
{
	if (bytes < sizeof(*header) || memcmp(header->magic, TAPE_MAGIC, sizeof(header->magic)))
		return err_new(ERR_FORMAT, "not a tape");
	if (header->version != TAPE_VERSION)
		return err_new(ERR_UNSUPPORTED, "a tape of version %u; this program reads %u",
			       header->version, TAPE_VERSION);
	if (header->header_bytes != TAPE_HEADER_BYTES ||
	    (header->kind != TAPE_KIND_RAW && header->kind != TAPE_KIND_PACKED) ||
	    header->chunk_bytes < TAPE_CHUNK_BYTES_MIN ||
	    header->chunk_bytes > TAPE_CHUNK_BYTES_MAX || header->chunk_bytes % 8 != 0 ||
	    header->tick_shift > TICK_SHIFT_MAX)
		return err_new(ERR_FORMAT, "the header is damaged");
	return NULL;
}

static struct err *read_header(struct capture *capture)
{
	uint8_t page[TAPE_HEADER_BYTES] = { 0 };
	struct stat status;
	size_t bytes;
	struct err *err;

	if (fstat(capture->fd, &status) < 0)
		return err_errno("stat");
	if (!S_ISREG(status.st_mode))
		return err_new(ERR_FORMAT, "not a regular file");
	capture->facts.file_bytes = (uint64_t)status.st_size;
	err = capture_read_some(capture->fd, page, sizeof(page), 0, &bytes);
	if (err)
		return err;
	if (bytes == 0 && file_is_locked(capture->fd)) /* by who is about to record */
		return err_new(ERR_FORMAT, "not a tape yet: its program has not begun");
	memcpy(&capture->header, page, sizeof(capture->header));
	err = capture_check_header(&capture->header, bytes);
	if (err)
		return err;
	capture->is_header_cut = bytes < sizeof(page);
	capture->has_live = capture->header.kind == TAPE_KIND_RAW;
	if (capture->has_live) {
		memcpy(&capture->live, capture->header.live, sizeof(capture->live));
		if (capture->header.flags & TAPE_FLAG_LIVE_BIG)
			tape_live_swap(&capture->live);
	}
	return NULL;
}

struct err *capture_add_chunk(struct capture *capture, uint64_t offset,
			      const struct tape_chunk *header)
{
	const struct capture_chunk chunk = {
		.offset = offset,
		.stream = header->stream,
		.seq = header->seq,
		.used = header->used,
		.node_count = header->node_count,
		.first_node = header->first_node,
		.stored_bytes = header->stored_bytes,
		.begin_ticks = header->begin_ticks,
		.event_count = header->event_count,
		.oldest_node = header->oldest_node,
		.codec = header->codec,
		.flags = header->flags,
		.is_open = header->state == TAPE_CHUNK_OPEN,
	};

	return capture_chunk_vec_push(&capture->chunks, chunk) ? NULL : err_nomem();
}

bool capture_packed_header_ok(const struct capture *capture, const struct tape_chunk *header,
			      uint64_t rest)
{
	uint32_t chunk_bytes = capture->header.chunk_bytes;

	return header->magic == TAPE_CHUNK_MAGIC && header->header_bytes == sizeof(*header) &&
	       header->stored_bytes <= capture_pack_bound(chunk_bytes) - sizeof(*header) &&
	       header->stored_bytes <= rest - sizeof(*header) && chunk_fits(header, chunk_bytes);
}

/* Whether a valid chunk, including its checksum, begins at offset. */
static bool chunk_at(const struct capture *capture, uint64_t offset)
{
	CLEAN(free) uint8_t *buf = NULL;
	struct tape_chunk header;
	uint64_t rest = capture->facts.file_bytes - offset;
	size_t bytes = 0;
	struct err *err;

	if (rest < sizeof(header))
		return false;
	err = capture_read_some(capture->fd, &header, sizeof(header), offset, &bytes);
	if (err || bytes < sizeof(header) || !capture_packed_header_ok(capture, &header, rest)) {
		err_destroy(err);
		return false;
	}
	buf = malloc(sizeof(header) + header.stored_bytes);
	if (!buf)
		return false;
	err = capture_read_some(capture->fd, buf, sizeof(header) + header.stored_bytes, offset,
				&bytes);
	err_destroy(err);
	return !err && bytes == sizeof(header) + header.stored_bytes &&
	       capture_checksum_ok((const struct tape_chunk *)(const void *)buf);
}

/* Offset of the next valid chunk after damage at `from`, or the end of the file. */
static struct err *find_chunk(const struct capture *capture, uint64_t from, uint64_t *found_ret)
{
	CLEAN(free) uint8_t *buf = malloc(SCAN_BYTES);
	const uint32_t magic = TAPE_CHUNK_MAGIC;
	uint64_t end = capture->facts.file_bytes;

	if (!buf)
		return err_nomem();
	while (from < end) {
		size_t bytes = 0;
		struct err *err = capture_read_some(capture->fd, buf, SCAN_BYTES, from, &bytes);
		const uint8_t *hit;

		if (err)
			return err;
		if (bytes < sizeof(magic))
			break;
		hit = memmem(buf, bytes, &magic, sizeof(magic));
		if (hit && chunk_at(capture, from + (uint64_t)(hit - buf))) {
			*found_ret = from + (uint64_t)(hit - buf);
			return NULL;
		}
		from += hit ? (uint64_t)(hit - buf) + 1 : bytes - (sizeof(magic) - 1);
	}
	*found_ret = end;
	return NULL;
}

/*
 * Whether the trailing bytes are a partial chunk that a collector was writing when killed, or is
 * still writing: the spool still has that chunk.
 */
static bool is_torn_write(const struct capture *capture)
{
	return capture->header.flags & TAPE_FLAG_RECORDING &&
	       capture->facts.unused_tail_bytes < capture_pack_bound(capture->header.chunk_bytes);
}

/*
 * No chunk begins at offset. The length of the previous chunk may be wrong: then that chunk is the
 * damaged one, and the search begins inside it.
 */
static struct err *scan_damage(struct capture *capture, uint64_t offset, uint64_t *next_ret)
{
	const struct capture_chunk_vec *chunks = &capture->chunks;
	struct err *err;

	if (chunks->count > 0 && !chunk_at(capture, chunks->items[chunks->count - 1].offset))
		offset = chunks->items[--capture->chunks.count].offset;
	err = find_chunk(capture, offset + 1, next_ret);
	if (err)
		return err;
	if (*next_ret < capture->facts.file_bytes)
		return capture_add_damage(capture, offset,
					  "a chunk is damaged; what follows it is used");
	capture->facts.unused_tail_bytes = capture->facts.file_bytes - offset;
	if (is_torn_write(capture))
		return NULL;
	return capture_add_damage(capture, offset, "the tape is cut off or damaged from here on");
}

static struct err *scan_packed(struct capture *capture)
{
	uint64_t end = capture->facts.file_bytes, at = TAPE_HEADER_BYTES;
	struct err *err = NULL;

	while (at < end && !err) {
		struct tape_chunk header = { 0 };
		size_t bytes = 0;

		err = capture_read_some(capture->fd, &header, sizeof(header), at, &bytes);
		if (err)
			break;
		if (bytes == sizeof(header) &&
		    capture_packed_header_ok(capture, &header, end - at)) {
			err = capture_add_chunk(capture, at, &header);
			at += sizeof(header) + header.stored_bytes;
		} else {
			err = scan_damage(capture, at, &at);
		}
	}
	return err;
}

static int compare_chunks(const void *context, const void *a, const void *b)
{
	const struct capture *capture = context;
	const struct capture_chunk *left = &capture->chunks.items[*(const uint32_t *)a];
	const struct capture_chunk *right = &capture->chunks.items[*(const uint32_t *)b];

	if (left->stream != right->stream)
		return sort_compare_u64(left->stream, right->stream);
	return sort_compare_u64(left->seq, right->seq);
}

/* Removes duplicate chunk numbers from by_stream and counts missing ones. */
static struct err *check_sequence(struct capture *capture)
{
	const struct capture_chunk *before = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < capture->by_stream.count; i++) {
		uint32_t index = capture->by_stream.items[i];
		const struct capture_chunk *chunk = &capture->chunks.items[index];
		bool is_first = !before || before->stream != chunk->stream;
		struct err *err = NULL;

		if (!is_first && before->seq == chunk->seq) {
			err = capture_add_damage(capture, chunk->offset, "a chunk is there twice");
			if (err)
				return err;
			continue;
		}
		if (is_first && !vec_u32_push(&capture->stream_ids, chunk->stream))
			return err_nomem();
		if (!(chunk->flags & TAPE_CHUNK_JUMP))
			capture->facts.missing_chunk_count +=
				is_first ? chunk->seq : chunk->seq - before->seq - 1;
		capture->by_stream.items[kept++] = index;
		before = chunk;
	}
	capture->by_stream.count = kept;
	return NULL;
}

static struct err *sort_chunks(struct capture *capture)
{
	size_t count = capture->chunks.count;

	if (!vec_u32_reserve(&capture->by_stream, count))
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		capture->by_stream.items[i] = (uint32_t)i;
	capture->by_stream.count = count;
	if (!sort_stable(capture->by_stream.items, count, sizeof(*capture->by_stream.items),
			 compare_chunks, capture))
		return err_nomem();
	return check_sequence(capture);
}

static void sum_facts(struct capture *capture)
{
	struct capture_facts *facts = &capture->facts;

	facts->chunk_count = capture->by_stream.count;
	facts->stream_count = capture->stream_ids.count;
	for (size_t i = 0; i < capture->by_stream.count; i++) {
		const struct capture_chunk *chunk =
			&capture->chunks.items[capture->by_stream.items[i]];

		facts->record_bytes += chunk->used;
		facts->node_count += chunk->node_count;
		facts->sealed_event_count += chunk->is_open ? 0 : chunk->event_count;
	}
}

/* What was recorded after the moment is left out. */
static void forget_later(struct capture *capture, uint64_t tape_bytes)
{
	size_t kept = 0;

	for (size_t i = 0; i < capture->chunks.count; i++) {
		const struct capture_chunk *chunk = &capture->chunks.items[i];

		if (chunk->offset < tape_bytes || chunk->stream == TAPE_COLLECTOR_STREAM)
			capture->chunks.items[kept++] = *chunk;
	}
	capture->chunks.count = kept;
}

static struct err *scan(struct capture *capture, const char *path, int spool_fd,
			uint64_t tape_bytes)
{
	struct err *err = capture->header.kind == TAPE_KIND_RAW ? capture_scan_slots(capture)
								: scan_packed(capture);

	if (!err && capture->is_header_cut)
		err = capture_add_damage(capture, capture->facts.file_bytes,
					 "the tape is cut off in its header");
	if (!err && capture->header.kind == TAPE_KIND_PACKED)
		forget_later(capture, tape_bytes);
	if (err || capture->header.kind != TAPE_KIND_PACKED ||
	    !(capture->header.flags & TAPE_FLAG_RECORDING))
		return err;
	return spool_fd >= 0 ? capture_join_spool_of(capture, spool_fd)
			     : capture_join_spool(capture, path);
}

struct err *capture_open(const char *path, struct capture **capture_ret)
{
	return capture_open_with_spool(path, -1, capture_ret);
}

struct err *capture_open_with_spool(const char *path, int spool_fd, struct capture **capture_ret)
{
	return capture_open_moment(path, spool_fd, UINT64_MAX, capture_ret);
}

/* Nothing of the file is read beyond file_bytes, and nothing of it used beyond tape_bytes. */
static struct err *open_part(const char *path, int spool_fd, uint64_t file_bytes,
			     uint64_t tape_bytes, struct capture **capture_ret)
{
	CLEAN(capture_destroy) struct capture *capture = calloc(1, sizeof(*capture));
	struct err *err;

	if (!capture)
		return err_nomem();
	capture->spool_fd = -1;
	capture->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (capture->fd < 0)
		return err_errno("%s", path);
	err = read_header(capture);
	capture->facts.file_bytes = u64_min(capture->facts.file_bytes, file_bytes);
	if (err && capture_open_spool_alone(capture, path)) {
		err_destroy(err);
		err = NULL;
	}
	if (!err)
		err = scan(capture, path, spool_fd, tape_bytes);
	if (!err)
		err = sort_chunks(capture);
	if (!err && capture->stream_ids.count >= STREAMS_MAX)
		err = err_new(ERR_LIMIT, "%zu streams", capture->stream_ids.count);
	if (err)
		return err_wrap(err, "%s", path);
	sum_facts(capture);
	*capture_ret = steal(capture);
	return NULL;
}

struct err *capture_open_moment(const char *path, int spool_fd, uint64_t tape_bytes,
				struct capture **capture_ret)
{
	return open_part(path, spool_fd, UINT64_MAX, tape_bytes, capture_ret);
}

struct err *capture_open_begin(const char *path, int spool_fd, uint64_t tape_bytes,
			       struct capture **capture_ret)
{
	return open_part(path, spool_fd, tape_bytes, tape_bytes, capture_ret);
}

struct err *capture_verify(const struct capture *capture,
			   void (*visit)(void *context, const struct capture_chunk *chunk,
					 uint64_t event_count, const char *error),
			   void *context)
{
	struct chunk_loader loader = { .capture = capture };
	struct decoded *decoded = decoded_create(capture);
	struct err *err = decoded ? NULL : err_nomem();

	assert(visit);
	for (size_t i = 0; i < capture->chunks.count && !err; i++) {
		const struct capture_chunk *chunk = &capture->chunks.items[i];
		const char *error;

		chunk_decode(&loader, chunk, 0, decoded);
		err = steal(decoded->err);
		error = decoded->damage;
		/* The recorder does not count events; packing does. */
		if (!error && !chunk->is_slot && decoded->event_count != chunk->event_count)
			error = "the number of events is not the one in its header";
		if (!err)
			visit(context, chunk, decoded->event_count, error);
	}
	decoded_destroy(decoded);
	chunk_loader_deinit(&loader);
	return err;
}
