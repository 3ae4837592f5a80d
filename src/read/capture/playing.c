#include "capture/playing.h"

#include <assert.h>

#include "capture/columns.h"
#include "capture/play.h"
#include "core/hash.h"

enum {
	WINDOW_EVENTS = 512, /* decoded at once: they stay in the cache until they are played */
	STREAMS_MAX = 1 << 14
};

struct playing_stream {
	struct capture_event *events; /* the window of its head; NULL: it had no chunk yet */
	uint64_t bound;
	uint64_t begin_ticks; /* of its last chunk */
	uint64_t hash;	      /* of the headers of the chunks played */
	uint64_t chunk_count; /* played */
	bool is_dry;	      /* it had nothing to play */
	uint64_t dry_run;     /* since this run */
	uint32_t given_seq;   /* of the next chunk */
};

VEC_DEFINE(playing_streams, struct playing_stream);

struct capture_playing {
	struct play play;
	struct capture_player player;
	struct capture_played played;
	struct tape_header header;
	struct playing_streams streams;
	uint64_t bound_all;
	uint64_t run_count;
	/* The latest time of an event played: of all streams, and of all others than that one. */
	uint64_t latest_ticks;
	uint32_t latest_stream;
	uint64_t others_ticks;
	void (*release)(void *context, struct capture_growing *growing);
	void *context;
};

/* A chunk on its way through the play. */
struct given {
	struct decoded decoded; /* first: the play knows only this */
	struct capture_growing *growing;
	bool has_begun; /* its first event was seen */
};

static struct given *given_of(struct decoded *decoded)
{
	static_assert(offsetof(struct given, decoded) == 0, "the same address");
	return (struct given *)(void *)decoded;
}

static uint64_t header_hash(uint64_t hash, uint32_t seq, uint32_t used, uint32_t node_count,
			    uint32_t first_node, uint64_t begin_ticks, uint64_t event_count)
{
	const uint64_t numbers[] = { seq, used, node_count, first_node, begin_ticks, event_count };

	return hash_bytes(numbers, sizeof(numbers), hash);
}

static void give(void *context, struct decoded *decoded)
{
	struct capture_playing *playing = context;
	struct given *given = given_of(decoded);
	const struct tape_chunk *image = decoded->image;
	struct playing_stream *stream = &playing->streams.items[image->stream];

	stream->hash = header_hash(stream->hash, image->seq, decoded->done_bytes, image->node_count,
				   image->first_node, image->begin_ticks, decoded->event_count);
	stream->chunk_count++;
	playing->release(playing->context, given->growing);
	free(given);
}

/* --- time ----------------------------------------------------------------------------------- */

static void note_played(struct capture_playing *playing, uint32_t stream, uint64_t ticks)
{
	if (stream == playing->latest_stream) {
		playing->latest_ticks = u64_max(playing->latest_ticks, ticks);
	} else if (ticks >= playing->latest_ticks) {
		playing->others_ticks = playing->latest_ticks;
		playing->latest_ticks = ticks;
		playing->latest_stream = stream;
	} else {
		playing->others_ticks = u64_max(playing->others_ticks, ticks);
	}
}

/*
 * Whether events of other streams were played meanwhile that come after one of this time. Those
 * before the pause may have been the latest: that is an error too many, but a rare one.
 */
static bool is_late(const struct capture_playing *playing, uint32_t stream, uint64_t ticks)
{
	if (playing->run_count == playing->streams.items[stream].dry_run)
		return false;
	return ticks <=
	       (stream == playing->latest_stream ? playing->others_ticks : playing->latest_ticks);
}

/* Times of a stream increase, except those of extended records. */
static uint64_t latest_of(const struct decoded *window, size_t from, size_t until)
{
	uint64_t ticks = 0;

	for (size_t i = window->has_extended ? from : until - 1; i < until; i++)
		ticks = u64_max(ticks, window->events[i].ticks);
	return ticks;
}

/* The first events after a pause of the stream, or of a chunk. */
static struct err *check_first(const struct capture_playing *playing, uint32_t index,
			       const struct given *given)
{
	const struct playing_stream *stream = &playing->streams.items[index];
	const uint64_t ticks = given->decoded.events[0].ticks;

	if (stream->is_dry && is_late(playing, index, ticks))
		return err_new(ERR_STATE, "an event came late");
	/* A whole tape's chunk is admitted at its beginning, and not at its first event. */
	if (!given->has_begun && ticks < given->decoded.image->begin_ticks)
		return err_new(ERR_STATE, "an event is from before its chunk");
	return NULL;
}

static struct err *refill(void *context, uint32_t index, bool *is_over_ret)
{
	struct capture_playing *playing = context;
	struct play_stream *stream = &playing->play.streams[index];
	struct decoded *decoded = stream->head;
	struct given *given = given_of(decoded);
	const struct capture_growing *growing = given->growing;
	const bool is_complete = __atomic_load_n(&growing->is_complete, __ATOMIC_ACQUIRE);
	const uint32_t used = __atomic_load_n(&growing->used, __ATOMIC_ACQUIRE);
	const uint32_t node_count = __atomic_load_n(&growing->node_count, __ATOMIC_ACQUIRE);
	struct err *err = NULL;

	assert(decoded->at == decoded->count);
	if (!chunk_decode_next(decoded, used, index))
		return err_new(ERR_STATE, "a record is broken");
	if (decoded->seq != stream->next_seq) /* it was begun before: it may have got more nodes */
		stream->nodes_end = decoded->image->first_node + node_count;
	else if (decoded->image->first_node != stream->nodes_end)
		return err_new(ERR_STATE, "nodes of a stream are missing");
	decoded->image->node_count = node_count;
	stream->has_nodes = stream->ids.count < stream->nodes_end;
	*is_over_ret = is_complete && decoded->count == 0;
	if (decoded->count > 0) {
		err = check_first(playing, index, given);
		given->has_begun = true;
		playing->streams.items[index].is_dry = false;
	}
	return err;
}

/* --- streams and chunks --------------------------------------------------------------------- */

struct err *capture_playing_create(const struct tape_header *header, struct capture_stacks *stacks,
				   const struct capture_player *player,
				   void (*release)(void *context, struct capture_growing *growing),
				   void *context, struct capture_playing **playing_ret)
{
	struct capture_playing *playing = calloc(1, sizeof(*playing));

	assert(player->events && release);
	if (!playing)
		return err_nomem();
	playing->player = *player;
	playing->header = *header;
	playing->release = release;
	playing->context = context;
	playing->latest_stream = UINT32_MAX;
	playing->play = (struct play) {
		.chunk_bytes = header->chunk_bytes,
		.stacks = stacks,
		.player = &playing->player,
		.played = &playing->played,
		.give = give,
		.refill = refill,
		.context = playing,
	};
	if (!play_reserve(&playing->play, 0)) {
		capture_playing_destroy(playing);
		return err_nomem();
	}
	*playing_ret = playing;
	return NULL;
}

void capture_playing_destroy(struct capture_playing *playing)
{
	if (!playing)
		return;
	play_deinit(&playing->play);
	for (size_t i = 0; i < playing->streams.count; i++)
		free(playing->streams.items[i].events);
	playing_streams_deinit(&playing->streams);
	free(playing);
}

size_t capture_playing_stream_count(const struct capture_playing *playing)
{
	return playing->streams.count;
}

size_t capture_playing_bytes(const struct capture_playing *playing)
{
	size_t bytes = sizeof(*playing);

	for (size_t i = 0; i < playing->streams.count; i++) {
		const struct play_stream *stream = &playing->play.streams[i];

		bytes += stream->ids.capacity * sizeof(*stream->ids.items) +
			 stream->waiting.capacity * sizeof(*stream->waiting.items);
		if (playing->streams.items[i].events)
			bytes += WINDOW_EVENTS * sizeof(struct capture_event);
	}
	return bytes;
}

static struct err *streams_reserve(struct capture_playing *playing, size_t count)
{
	if (count > STREAMS_MAX)
		return err_new(ERR_STATE, "more than %d streams", STREAMS_MAX);
	if (!play_reserve(&playing->play, count))
		return err_nomem();
	while (playing->streams.count < count)
		if (!playing_streams_push(&playing->streams,
					  (struct playing_stream) { .is_dry = true }))
			return err_nomem();
	return NULL;
}

struct err *capture_playing_give(struct capture_playing *playing, struct capture_growing *growing)
{
	const struct tape_chunk *image = growing->image;
	struct err *err = streams_reserve(playing, (size_t)image->stream + 1);
	struct playing_stream *stream;
	struct given *given;

	assert(err || image->stream < playing->streams.count);
	if (err) {
		playing->release(playing->context, growing);
		return err;
	}
	stream = &playing->streams.items[image->stream];
	given = calloc(1, sizeof(*given));
	if (!stream->events)
		stream->events = malloc(WINDOW_EVENTS * sizeof(*stream->events));
	if (!given || !stream->events) {
		free(given);
		playing->release(playing->context, growing);
		return err_nomem();
	}
	given->growing = growing;
	growing->image->used = growing->image->node_count = 0;
	given->decoded = (struct decoded) {
		.image = growing->image,
		.events = stream->events,
		.room = WINDOW_EVENTS,
		.seq = image->seq,
		.has_source = true,
	};
	tape_codec_reset(&given->decoded.codec, image->begin_ticks);
	if (image->seq != stream->given_seq || image->begin_ticks < stream->begin_ticks)
		err = err_new(ERR_STATE, "chunks of a stream are missing");
	stream->given_seq++;
	stream->begin_ticks = image->begin_ticks;
	if (err)
		give(playing, &given->decoded);
	return err ? err : play_admit(&playing->play, image->stream, &given->decoded);
}

struct err *capture_playing_bound(struct capture_playing *playing, uint32_t stream, uint64_t ticks)
{
	struct err *err = streams_reserve(playing, (size_t)stream + 1);

	if (!err)
		playing->streams.items[stream].bound = ticks;
	return err;
}

void capture_playing_bound_all(struct capture_playing *playing, uint64_t ticks)
{
	playing->bound_all = ticks;
}

/* --- playing -------------------------------------------------------------------------------- */

static bool has_events(const struct play_stream *stream)
{
	return stream->head && stream->head->at < stream->head->count;
}

/* The stream had nothing to play: it may have something now. */
static struct err *look_again(struct capture_playing *playing, uint32_t index)
{
	struct play_stream *stream = &playing->play.streams[index];
	bool is_over;
	struct err *err;

	if (!stream->head)
		return NULL;
	err = refill(playing, index, &is_over);
	if (err)
		return err;
	if (has_events(stream))
		play_resume(&playing->play, index);
	return is_over ? play_end_head(&playing->play, index) : NULL;
}

/* Nothing earlier is believed to come. */
static struct err *find_limit(struct capture_playing *playing, uint64_t *limit_ret)
{
	struct err *err = NULL;

	*limit_ret = playing->bound_all;
	for (uint32_t i = 0; i < playing->streams.count && !err; i++) {
		if (!has_events(&playing->play.streams[i]))
			err = look_again(playing, i);
		if (!has_events(&playing->play.streams[i]))
			*limit_ret = u64_min(*limit_ret, playing->streams.items[i].bound);
	}
	return err;
}

/* Plays one run of a stream; limit is lowered if nothing of the stream is left. */
static struct err *go_on(struct capture_playing *playing, uint64_t *limit)
{
	struct play *play = &playing->play;
	const uint32_t index = play->heap[0].stream;
	const struct decoded *window = play->streams[index].head;
	const size_t from = window->at;
	uint64_t latest;
	struct err *err;

	/* Known before the window is filled again, if only from above. */
	latest = latest_of(window, from, window->count);
	err = play_run(play, *limit > UINT64_MAX / 2 ? UINT64_MAX : *limit << 1);
	if (!err && window == play->streams[index].head && window->at > from)
		latest = latest_of(window, from, window->at);
	note_played(playing, index, latest);
	playing->run_count++;
	if (!err && !has_events(&play->streams[index])) {
		playing->streams.items[index].is_dry = true;
		playing->streams.items[index].dry_run = playing->run_count;
		*limit = u64_min(*limit, playing->streams.items[index].bound);
	}
	return err;
}

struct err *capture_playing_go(struct capture_playing *playing, const uint32_t *stop)
{
	const struct play *play = &playing->play;
	uint64_t limit;
	struct err *err = find_limit(playing, &limit);

	while (!err && play->heap_count > 0 && play->heap[0].key >> 1 < limit &&
	       !__atomic_load_n(stop, __ATOMIC_ACQUIRE))
		err = go_on(playing, &limit);
	return err;
}

/* The chunks of the tape are those that were played, and it is as sound as they were. */
static bool is_same(const struct capture_playing *playing, const struct capture *capture)
{
	const struct tape_header *header = &capture->header;
	const uint32_t flags = playing->header.flags ^ header->flags;
	uint64_t hash = 0, count = 0, stream_count = 0;

	for (size_t i = 0; i < playing->streams.count; i++)
		stream_count += playing->streams.items[i].chunk_count > 0;

	if (memcmp(header->uuid, playing->header.uuid, sizeof(header->uuid)) != 0 ||
	    (flags & ~(uint32_t)TAPE_FLAG_RECORDING) || !capture_is_finished(capture) ||
	    header->chunk_bytes != playing->header.chunk_bytes ||
	    header->tick_shift != playing->header.tick_shift ||
	    header->start_ticks != playing->header.start_ticks || capture->damage.count > 0 ||
	    capture->killed_text || capture->facts.missing_chunk_count > 0 ||
	    capture->stream_ids.count != stream_count)
		return false;
	for (size_t i = 0, stream = 0; i < capture->by_stream.count; i++) {
		const struct capture_chunk *chunk =
			&capture->chunks.items[capture->by_stream.items[i]];

		hash = header_hash(hash, chunk->seq, chunk->used, chunk->node_count,
				   chunk->first_node, chunk->begin_ticks, chunk->event_count);
		count++;
		if (i + 1 < capture->by_stream.count &&
		    capture->chunks.items[capture->by_stream.items[i + 1]].stream == chunk->stream)
			continue;
		if (chunk->stream != stream || hash != playing->streams.items[stream].hash ||
		    count != playing->streams.items[stream].chunk_count)
			return false;
		hash = count = 0;
		stream++;
	}
	return true;
}

struct err *capture_playing_finish(struct capture_playing *playing, const struct capture *capture,
				   struct capture_played *played_ret)
{
	const uint32_t never = 0;
	struct err *err;

	playing->bound_all = UINT64_MAX;
	for (size_t i = 0; i < playing->streams.count; i++)
		playing->streams.items[i].bound = UINT64_MAX;
	err = capture_playing_go(playing, &never);
	if (!err)
		err = play_flush(&playing->play);
	if (err)
		return err;
	for (size_t i = 0; i < playing->streams.count; i++)
		if (playing->play.streams[i].head)
			return err_new(ERR_STATE, "a chunk is not complete");
	if (playing->played.unknown_node_count > 0 || !is_same(playing, capture))
		return err_new(ERR_STATE, "the tape is not what was played");
	*played_ret = playing->played;
	return NULL;
}
