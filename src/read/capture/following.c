/*
 * Chunks are admitted to the play in the order of their beginning, as those of a whole tape are
 * (play_whole.c). What differs is that more come: a chunk found by a later look must not have events
 * that would have been played before.
 */
#include "capture/following.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sort.h"
#include "base/str.h"
#include "capture/play.h"

enum {
	FOLLOWED_STREAMS_MAX = 1 << 14,
	SPARE_MAX = 4 /* decoded chunks kept for others, between two looks */
};

struct found {
	struct capture_chunk chunk;
	uint64_t ticks; /* its beginning, but never before an earlier one of its stream */
	uint64_t late_key;
};

VEC_DEFINE(found_vec, struct found);

struct followed_stream {
	uint64_t ticks; /* as in struct found, of the last */
	uint32_t next_seq;
};

VEC_DEFINE(followed_streams, struct followed_stream);

struct capture_following {
	char *path;
	struct capture *capture; /* the file, without its chunks */
	dev_t device;
	ino_t inode;
	uint64_t at; /* in the file: where the next chunk begins */
	struct found_vec found;
	size_t next; /* of found: the first not admitted */
	struct followed_streams streams;
	struct chunk_loader loader;
	struct decoded *spare;
	size_t spare_count;
	struct play play;
	struct capture_player player;
	struct capture_played played;
	uint64_t played_key; /* everything earlier was played */
	uint64_t chunk_count;
	uint64_t missing_count;
};

static void give_back(void *context, struct decoded *decoded)
{
	struct capture_following *following = context;

	decoded->next = following->spare;
	following->spare = decoded;
	following->spare_count++;
}

/* All but the first `most`. */
static void spare_drop(struct capture_following *following, size_t most)
{
	while (following->spare_count > most) {
		struct decoded *decoded = following->spare;

		following->spare = decoded->next;
		following->spare_count--;
		decoded_destroy(decoded);
	}
}

/* --- opening -------------------------------------------------------------------------------- */

static struct err *header_read(struct capture_following *following)
{
	struct capture *capture = following->capture;
	struct stat status;
	size_t bytes = 0;
	struct err *err;

	capture->fd = open(following->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (capture->fd < 0 || fstat(capture->fd, &status) < 0)
		return err_errno("%s", following->path);
	if (!S_ISREG(status.st_mode))
		return err_new(ERR_FORMAT, "%s: not a regular file", following->path);
	following->device = status.st_dev;
	following->inode = status.st_ino;
	err = capture_read_some(capture->fd, &capture->header, sizeof(capture->header), 0, &bytes);
	if (!err)
		err = capture_check_header(&capture->header, bytes);
	if (!err && capture->header.kind != TAPE_KIND_PACKED)
		err = err_new(ERR_UNSUPPORTED, "a raw tape cannot be followed");
	return err_wrap(err, "%s", following->path);
}

struct err *capture_following_open(const char *path, struct capture_stacks *stacks,
				   const struct capture_player *player,
				   struct capture_following **following_ret)
{
	CLEAN(capture_following_close)
	struct capture_following *following = calloc(1, sizeof(*following));
	struct err *err;

	assert(player->events);
	if (!following)
		return err_nomem();
	following->path = strdup(path);
	following->capture = calloc(1, sizeof(*following->capture));
	if (!following->capture)
		return err_nomem();
	following->capture->fd = following->capture->spool_fd = -1;
	if (!following->path)
		return err_nomem();
	err = header_read(following);
	if (err)
		return err;
	following->at = TAPE_HEADER_BYTES;
	following->loader.capture = following->capture;
	following->player = *player;
	following->play = (struct play) {
		.chunk_bytes = following->capture->header.chunk_bytes,
		.stacks = stacks,
		.player = &following->player,
		.played = &following->played,
		.give = give_back,
		.context = following,
	};
	if (!play_reserve(&following->play, 0))
		return err_nomem();
	*following_ret = steal(following);
	return NULL;
}

void capture_following_close(struct capture_following *following)
{
	if (!following)
		return;
	play_deinit(&following->play);
	spare_drop(following, 0);
	chunk_loader_deinit(&following->loader);
	found_vec_deinit(&following->found);
	followed_streams_deinit(&following->streams);
	capture_destroy(following->capture);
	free(following->path);
	free(following);
}

const struct tape_header *capture_following_header(const struct capture_following *following)
{
	return &following->capture->header;
}

/* --- looking -------------------------------------------------------------------------------- */

/* The name may belong to another file by now: that of a rotated tape, or of another program. */
static struct err *file_check(struct capture_following *following)
{
	struct capture_facts *facts = &following->capture->facts;
	struct stat named, status;

	if (fstat(following->capture->fd, &status) < 0)
		return err_errno("%s", following->path);
	if (stat(following->path, &named) < 0 || named.st_dev != following->device ||
	    named.st_ino != following->inode)
		return err_new(ERR_NOT_FOUND, "%s: the tape was replaced", following->path);
	if ((uint64_t)status.st_size < following->at)
		return err_new(ERR_NOT_FOUND, "%s: the tape was cut", following->path);
	facts->file_bytes = (uint64_t)status.st_size;
	return NULL;
}

/* The stream's index is its number, so that they are in the order of numbers whichever came first. */
static struct err *stream_reserve(struct capture_following *following, uint32_t stream)
{
	struct vec_u32 *ids = &following->capture->stream_ids;

	if (stream >= FOLLOWED_STREAMS_MAX)
		return err_new(ERR_LIMIT, "more than %d streams", FOLLOWED_STREAMS_MAX);
	while (ids->count <= stream)
		if (!vec_u32_push(ids, (uint32_t)ids->count) ||
		    !followed_streams_push(&following->streams, (struct followed_stream) { 0 }))
			return err_nomem();
	return play_reserve(&following->play, ids->count) ? NULL : err_nomem();
}

static struct err *chunk_add(struct capture_following *following, const struct tape_chunk *header)
{
	struct capture *capture = following->capture;
	struct err *err = stream_reserve(following, header->stream);

	capture->chunks.count = 0;
	if (!err)
		err = capture_add_chunk(capture, following->at, header);
	if (err)
		return err;
	following->chunk_count++;
	return found_vec_push(&following->found,
			      (struct found) { .chunk = capture->chunks.items[0],
					       .late_key = following->played_key })
		       ? NULL
		       : err_nomem();
}

/* Chunks from where the last look ended; one that is not whole yet is being written. */
static struct err *chunks_find(struct capture_following *following)
{
	const struct capture *capture = following->capture;
	const uint64_t end = capture->facts.file_bytes;
	struct err *err = NULL;

	while (!err && following->at < end) {
		const uint64_t rest = end - following->at;
		struct tape_chunk header = { 0 };
		size_t bytes = 0;

		err = capture_read_some(capture->fd, &header, sizeof(header), following->at,
					&bytes);
		if (err)
			break;
		if (bytes == sizeof(header) && capture_packed_header_ok(capture, &header, rest)) {
			err = chunk_add(following, &header);
			following->at += sizeof(header) + header.stored_bytes;
		} else if (rest >= capture_pack_bound(capture->header.chunk_bytes)) {
			err = err_new(ERR_FORMAT, "%s: a chunk is damaged", following->path);
		} else {
			break;
		}
	}
	return err;
}

static int compare_by_stream(const void *context, const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	(void)context;
	if (left->chunk.stream != right->chunk.stream)
		return sort_compare_u64(left->chunk.stream, right->chunk.stream);
	return sort_compare_u64(left->chunk.seq, right->chunk.seq);
}

static int compare_by_time(const void *context, const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	(void)context;
	return left->ticks != right->ticks ? sort_compare_u64(left->ticks, right->ticks)
					   : compare_by_stream(NULL, a, b);
}

static struct err *number_take(struct capture_following *following, struct found *found)
{
	struct followed_stream *stream = &following->streams.items[found->chunk.stream];

	if (found->chunk.seq < stream->next_seq)
		return err_new(ERR_FORMAT, "%s: chunks are not in order", following->path);
	if (!(found->chunk.flags & TAPE_CHUNK_JUMP))
		following->missing_count += found->chunk.seq - stream->next_seq;
	stream->next_seq = found->chunk.seq + 1;
	found->ticks = stream->ticks = u64_max(stream->ticks, found->chunk.begin_ticks);
	return NULL;
}

/* The chunks from `first` on are new. */
static struct err *found_order(struct capture_following *following, size_t first)
{
	struct found_vec *found = &following->found;
	struct err *err = NULL;

	if (!sort_stable(found->items + first, found->count - first, sizeof(*found->items),
			 compare_by_stream, NULL))
		return err_nomem();
	for (size_t i = first; i < found->count && !err; i++)
		err = number_take(following, &found->items[i]);
	if (!err &&
	    !sort_stable(found->items, found->count, sizeof(*found->items), compare_by_time, NULL))
		err = err_nomem();
	return err;
}

struct err *capture_following_look(struct capture_following *following)
{
	struct found_vec *found = &following->found;
	const size_t kept = found->count - following->next;
	struct err *err = file_check(following);

	if (err)
		return err;
	if (kept > 0)
		memmove(found->items, found->items + following->next, kept * sizeof(*found->items));
	found->count = kept;
	following->next = 0;
	err = chunks_find(following);
	return err ? err : found_order(following, kept);
}

size_t capture_following_stream_count(const struct capture_following *following)
{
	return following->streams.count;
}

/* --- playing -------------------------------------------------------------------------------- */

static struct decoded *decoded_take(struct capture_following *following)
{
	struct decoded *decoded = following->spare;

	if (!decoded)
		return decoded_create(following->capture);
	following->spare = decoded->next;
	following->spare_count--;
	return decoded;
}

static struct err *admit(struct capture_following *following)
{
	const struct found *found = &following->found.items[following->next];
	const struct play_stream *stream = &following->play.streams[found->chunk.stream];
	struct decoded *decoded = decoded_take(following);
	struct err *err = NULL;

	if (!decoded)
		return err_nomem();
	chunk_decode(&following->loader, &found->chunk, found->chunk.stream, decoded);
	if (decoded->err)
		err = steal(decoded->err);
	else if (decoded->damage)
		err = err_new(ERR_FORMAT, "%s: %s", following->path, decoded->damage);
	else if (!stream->head && decoded->count > 0 &&
		 play_event_key(&decoded->events[0]) < found->late_key)
		err = err_new(ERR_STATE, "%s: an event came late", following->path);
	if (err) {
		give_back(following, decoded);
		return err;
	}
	following->next++;
	return play_admit(&following->play, found->chunk.stream, decoded);
}

/* Nothing before the limit is left: false. */
static bool step(struct capture_following *following, uint64_t limit, struct err **err)
{
	struct play *play = &following->play;
	const struct found_vec *found = &following->found;
	const uint64_t next_key = following->next < found->count
					  ? found->items[following->next].ticks << 1
					  : UINT64_MAX;

	if (following->next < found->count && next_key < limit &&
	    (play->heap_count == 0 || next_key <= play->heap[0].key))
		*err = admit(following);
	else if (play->heap_count > 0 && play->heap[0].key < limit)
		*err = play_run(play, u64_min(next_key, limit));
	else
		return false;
	return !*err;
}

struct err *capture_following_play(struct capture_following *following, uint64_t until_ticks,
				   const bool *cancel)
{
	const uint64_t limit = until_ticks > UINT64_MAX / 2 ? UINT64_MAX : until_ticks << 1;
	struct err *err = NULL;

	while (step(following, limit, &err))
		if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
			return err_new(ERR_STATE, "cancelled");
	if (!err)
		err = play_flush(&following->play);
	following->played_key = u64_max(following->played_key, limit);
	spare_drop(following, SPARE_MAX);
	return err;
}

/* --- what is known -------------------------------------------------------------------------- */

struct capture_facts capture_following_facts(const struct capture_following *following)
{
	return (struct capture_facts) {
		.file_bytes = following->capture->facts.file_bytes,
		.chunk_count = following->chunk_count,
		.missing_chunk_count = following->missing_count,
	};
}

const struct capture_played *capture_following_played(const struct capture_following *following)
{
	return &following->played;
}

static size_t decoded_bytes(const struct capture_following *following,
			    const struct decoded *decoded)
{
	size_t bytes = 0;

	for (; decoded; decoded = decoded->next)
		bytes += sizeof(*decoded) + following->play.chunk_bytes +
			 decoded->room * sizeof(*decoded->events);
	return bytes;
}

size_t capture_following_bytes(const struct capture_following *following)
{
	size_t bytes = sizeof(*following) + decoded_bytes(following, following->spare) +
		       following->found.capacity * sizeof(*following->found.items);

	for (size_t i = 0; i < following->play.stream_count; i++) {
		const struct play_stream *stream = &following->play.streams[i];

		bytes += sizeof(*stream) + stream->ids.capacity * sizeof(*stream->ids.items) +
			 stream->waiting.capacity * sizeof(*stream->waiting.items) +
			 decoded_bytes(following, stream->head);
	}
	return bytes;
}
