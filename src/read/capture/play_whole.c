/*
 * A whole tape. Its chunks are admitted in the order of their beginning (a chunk's events are not
 * earlier than it), so that only streams with events at the current time are in the heap, and
 * chunks are needed in an order known from the start.
 */
#include <assert.h>
#include <unistd.h>

#include "base/sort.h"
#include "capture/ahead.h"
#include "capture/play.h"

enum { SMALL_TAPE_BYTES = 256 << 10, THREADS_DEFAULT_MAX = 8 };

struct whole {
	struct play play;
	const struct capture *capture;
	struct ahead_chunk *order;
	size_t order_count;
	size_t next; /* in order: first chunk not admitted */
	struct ahead *ahead;
};

static void give_back(void *context, struct decoded *decoded)
{
	const struct whole *whole = context;

	ahead_give(whole->ahead, decoded);
}

static struct err *admit(struct whole *whole)
{
	const struct ahead_chunk *chunk = &whole->order[whole->next++];
	struct capture_played *played = whole->play.played;
	struct decoded *decoded = ahead_take(whole->ahead);
	struct err *decoding, *err;

	if (!decoded)
		return err_nomem();
	if (decoded->damage && played->damage_count++ == 0)
		played->damage_offset = capture_chunk_get(whole->capture, chunk->chunk)->offset;
	decoding = steal(decoded->err);
	err = play_admit(&whole->play, chunk->stream, decoded);
	if (decoding)
		err_destroy(err);
	return decoding ? decoding : err;
}

static struct err *play_all(struct whole *whole)
{
	struct play *play = &whole->play;
	struct err *err = NULL;

	while (!err) {
		const uint64_t next_key = whole->next < whole->order_count
						  ? whole->order[whole->next].ticks << 1
						  : UINT64_MAX;

		if (whole->next < whole->order_count &&
		    (play->heap_count == 0 || next_key <= play->heap[0].key))
			err = admit(whole);
		else if (play->heap_count > 0)
			err = play_run(play, next_key);
		else
			break;
	}
	return err ? err : play_flush(play);
}

static int compare_order(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct ahead_chunk *)a)->ticks,
				((const struct ahead_chunk *)b)->ticks);
}

/* By start time, but never before an earlier chunk of the same stream. */
static bool order_chunks(struct whole *whole)
{
	const struct capture *capture = whole->capture;
	uint32_t stream = 0;

	whole->order_count = capture->by_stream.count;
	whole->order = calloc(whole->order_count + 1, sizeof(*whole->order));
	for (size_t i = 0; whole->order && i < whole->order_count; i++) {
		uint32_t index = capture->by_stream.items[i];
		const struct capture_chunk *chunk = &capture->chunks.items[index];
		uint64_t ticks = chunk->begin_ticks;

		while (capture->stream_ids.items[stream] != chunk->stream)
			stream++;
		if (i > 0 && whole->order[i - 1].stream == stream)
			ticks = u64_max(ticks, whole->order[i - 1].ticks);
		whole->order[i] = (struct ahead_chunk) { index, stream, ticks };
	}
	return whole->order && sort_stable(whole->order, whole->order_count, sizeof(*whole->order),
					   compare_order, NULL);
}

static unsigned default_threads(const struct capture *capture)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (capture->facts.record_bytes < SMALL_TAPE_BYTES || processors < 2)
		return 0;
	return (unsigned)u64_min((uint64_t)processors - 1, THREADS_DEFAULT_MAX);
}

struct err *capture_play(const struct capture *capture, struct capture_stacks *stacks,
			 const struct capture_player *player, struct capture_played *played_ret)
{
	struct capture_played played = { 0 };
	struct whole whole = { .capture = capture };
	unsigned thread_count =
		player->thread_count ? player->thread_count : default_threads(capture);
	struct err *err = NULL;

	assert(player->events);
	assert(stacks->nodes.count >= CAPTURE_STACK_FIRST);
	whole.play = (struct play) {
		.chunk_bytes = capture->header.chunk_bytes,
		.stacks = stacks,
		.player = player,
		.played = &played,
		.give = give_back,
		.context = &whole,
	};
	if (!order_chunks(&whole) || !play_reserve(&whole.play, capture->stream_ids.count))
		err = err_nomem();
	if (!err)
		err = ahead_create(capture, whole.order, whole.order_count, thread_count,
				   &whole.ahead);
	if (!err)
		err = play_all(&whole);
	play_deinit(&whole.play);
	ahead_destroy(whole.ahead);
	free(whole.order);
	if (!err)
		*played_ret = played;
	return err;
}
