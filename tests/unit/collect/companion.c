/*
 * What the companion has played when the program ends is what is on the tape, in the same order,
 * however threads, collector and player ran; or it was dropped, and says why.
 */
#include "../test.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/companion.h"
#include "collect/drain.h"
#include "collect/stream.h"
#include "tape/codec.h"

enum {
	CHUNK_BYTES = STREAM_CHUNK_BYTES,
	SLOTS = 48,
	LANES = 4,
	EVENTS = 60000, /* a lane */
	PAYLOAD_MAX = 64
};

/* --- what plays: keeps everything ------------------------------------------------------------- */

struct kept {
	struct capture_event *events;
	size_t count;
	size_t room;
	struct capture_stacks stacks;
	struct capture_player player;
	struct capture_playing *playing;
	struct capture_played facts;
};

static struct err *keep(void *context, const struct capture_event *events, size_t count)
{
	struct kept *kept = context;

	while (kept->count + count > kept->room) {
		kept->room = kept->room ? kept->room * 2 : 1 << 14;
		kept->events = realloc(kept->events, kept->room * sizeof(*kept->events));
		assert(kept->events);
	}
	memcpy(kept->events + kept->count, events, count * sizeof(*events));
	kept->count += count;
	return NULL;
}

static struct kept *kept_create(void)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	assert(kept && capture_stacks_init(&kept->stacks));
	kept->player = (struct capture_player) { .events = keep, .context = kept };
	return kept;
}

static struct err *create(const struct tape_header *header,
			  void (*release)(void *context, struct capture_growing *growing),
			  void *context, void **player_ret)
{
	struct kept *kept = kept_create();

	*player_ret = kept;
	return capture_playing_create(header, &kept->stacks, &kept->player, release, context,
				      &kept->playing);
}

static void destroy(void *player)
{
	struct kept *kept = player;

	capture_playing_destroy(kept->playing);
	capture_stacks_deinit(&kept->stacks);
	free(kept->events);
	free(kept);
}

static struct capture_playing *playing(void *player)
{
	return ((struct kept *)player)->playing;
}

static struct err *go(void *player, const uint32_t *stop)
{
	return capture_playing_go(playing(player), stop);
}

static size_t few_bytes(const void *player)
{
	(void)player;
	return 0;
}

static size_t many_bytes(const void *player)
{
	(void)player;
	return (size_t)1 << 40;
}

static const struct companion_player ops = { create, destroy, playing, go, few_bytes };
enum { MEDIUM_BYTES = 100 << 20 };

static size_t medium_bytes(const void *player)
{
	(void)player;
	return MEDIUM_BYTES;
}

static const struct companion_player medium_ops = { create, destroy, playing, go, medium_bytes };
static const struct companion_player greedy_ops = { create, destroy, playing, go, many_bytes };

/* --- a recorder and its collector ------------------------------------------------------------- */

struct world;

struct lane {
	struct world *world;
	uint32_t stream;
	uint32_t seq;
	uint32_t slot;
	struct tape_chunk *chunk;
	struct tape_codec_state codec;
	uint8_t *cursor;
	uint32_t pause_every; /* of so many events, one is written late; 0: none */
	bool has_ended;
};

struct world {
	struct spool spool;
	struct writer writer;
	struct drain drain;
	struct stream stream; /* the collector's own */
	struct tape_header header;
	struct companion *companion;
	struct lane lanes[LANES];
	char path[64];
};

static void world_init(struct world *world, const struct companion_player *player)
{
	struct tape_header *header = &world->header;

	*world = (struct world) { .writer.fd = -1 };
	snprintf(world->path, sizeof(world->path), "/tmp/memtape-companion-%d", (int)getpid());
	assert_null(spool_open(&world->spool, CHUNK_BYTES, SLOTS, 0, "/tmp"));
	memcpy(header, spool_header(&world->spool), sizeof(*header));
	header->clock = TAPE_CLOCK_MONOTONIC;
	header->start_ticks = header->start_monotonic_ns = monotonic_ns();
	assert_null(writer_open(&world->writer, world->path, true));
	assert_null(writer_header(&world->writer, header));
	assert_null(writer_publish(&world->writer));
	assert_null(drain_open(&world->drain, &world->spool, &world->writer, 1, false));
	world->companion = companion_create(player, header);
	assert_non_null(world->companion);
	world->drain.companion = world->companion;
	stream_begin(&world->stream, TAPE_COLLECTOR_STREAM, 0);
}

static void world_deinit(struct world *world)
{
	companion_destroy(world->companion);
	drain_close(&world->drain);
	spool_close(&world->spool);
	unlink(world->path);
}

static void lane_begin(struct world *world, struct lane *lane)
{
	uint32_t *next = &spool_live(&world->spool)->next_stream;

	*lane = (struct lane) { .world = world,
				.stream = __atomic_fetch_add(next, 1, __ATOMIC_SEQ_CST) };
}

static void lane_seal(struct lane *lane)
{
	if (lane->chunk)
		__atomic_store_n(&lane->chunk->state, TAPE_CHUNK_SEALED, __ATOMIC_RELEASE);
	lane->chunk = NULL;
}

/*
 * A slot's header is written while the collector looks whether there is anything in it: not a race,
 * for it makes nothing of what it sees then.
 */
__attribute__((noinline, no_sanitize("thread"))) static void header_write(struct tape_chunk *chunk,
									  const struct lane *lane)
{
	chunk->magic = TAPE_CHUNK_MAGIC;
	chunk->header_bytes = sizeof(*chunk);
	chunk->codec = TAPE_CODEC_RAW;
	chunk->stream = lane->stream;
	chunk->first_node = lane->seq ? TAPE_NODE_FIRST + 1 : TAPE_NODE_FIRST;
	chunk->node_count = 0;
	chunk->begin_ticks = lane->seq ? lane->codec.ticks : lane->world->header.start_ticks;
	chunk->seq = lane->seq;
}

static void lane_open(struct lane *lane)
{
	const struct spool *spool = &lane->world->spool;

	for (uint32_t i = 0; !lane->chunk; i = (i + 1) % SLOTS) {
		uint32_t idle = TAPE_CHUNK_FREE;
		struct tape_chunk *chunk = spool_chunk(spool, i);

		if (__atomic_compare_exchange_n(&chunk->state, &idle, TAPE_CHUNK_OPEN, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			lane->chunk = chunk;
		else if (i == SLOTS - 1)
			sched_yield();
	}
	header_write(lane->chunk, lane);
	lane->seq++;
	tape_codec_reset(&lane->codec, lane->chunk->begin_ticks);
	lane->cursor = (uint8_t *)(lane->chunk + 1);
	__atomic_store_n(&lane->chunk->used, 0, __ATOMIC_RELEASE);
}

static void lane_event(struct lane *lane, enum tape_fn fn, uint64_t address, uint64_t size)
{
	const uint64_t ticks = monotonic_ns();
	const struct timespec while_ = { .tv_nsec = 3000000 };

	if (lane->pause_every && address % lane->pause_every == 0)
		nanosleep(&while_, NULL);
	if (lane->chunk &&
	    lane->cursor + 2 * TAPE_EVENT_ROOM > (uint8_t *)lane->chunk + CHUNK_BYTES)
		lane_seal(lane);
	if (!lane->chunk)
		lane_open(lane);
	if (lane->seq == 1 && lane->chunk->node_count == 0) {
		const struct tape_node node = { TAPE_NODE_ROOT, 0x1000 + lane->stream, 0 };

		memcpy((uint8_t *)lane->chunk + CHUNK_BYTES - sizeof(node), &node, sizeof(node));
		__atomic_store_n(&lane->chunk->node_count, 1, __ATOMIC_RELEASE);
	}
	lane->cursor = tape_event_encode(&lane->codec, lane->cursor, fn, ticks, address, size, size,
					 TAPE_NODE_FIRST);
	__atomic_store_n(&lane->chunk->used,
			 (uint32_t)(lane->cursor - (uint8_t *)(lane->chunk + 1)), __ATOMIC_RELEASE);
}

static void *lane_run(void *context)
{
	struct lane *lane = context;

	for (uint64_t i = 0; i < EVENTS; i++)
		lane_event(lane, i % 2 ? TAPE_FN_FREE : TAPE_FN_MALLOC, 16 * (1 + i / 2), i % 100);
	__atomic_store_n(&lane->has_ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static void look(struct world *world)
{
	const struct tape_usage usage = { .rss_bytes = 1 };
	const uint64_t now_ns = monotonic_ns();

	stream_add(&world->stream, TAPE_EXT_USAGE, now_ns, &usage, sizeof(usage), NULL);
	companion_see_own(world->companion, &world->stream.chunk, sizeof(world->stream.bytes));
	companion_look(world->companion, &world->spool, now_ns, now_ns);
}

static bool all_ended(struct world *world, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!__atomic_load_n(&world->lanes[i].has_ended, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static void run_lanes(struct world *world, unsigned count, uint32_t pause_every)
{
	const struct timespec interval = { .tv_nsec = 200000 };
	pthread_t threads[LANES];

	for (unsigned i = 0; i < count; i++) {
		lane_begin(world, &world->lanes[i]);
		world->lanes[i].pause_every = i == 0 ? pause_every : 0;
		assert_int_equal(pthread_create(&threads[i], NULL, lane_run, &world->lanes[i]), 0);
	}
	while (!all_ended(world, count)) {
		drain_sealed(&world->drain);
		if (companion_look_is_due(world->companion, monotonic_ns()))
			look(world);
		nanosleep(&interval, NULL);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* Ends the tape. What plays, or NULL: the companion was dropped. */
static struct kept *end(struct world *world)
{
	companion_program_ended(world->companion);
	drain_rest(&world->drain);
	assert_null(drain_append(&world->drain, &world->stream.chunk, sizeof(world->stream.bytes),
				 WRITER_CLOSING));
	assert_null(world->drain.fault);
	writer_complete(&world->writer, &world->header);
	writer_close(&world->writer);
	return companion_player_get(world->companion);
}

static void assert_same(struct world *world, struct kept *along)
{
	struct kept *whole = kept_create();
	struct capture *capture = NULL;

	assert_null(capture_open(world->path, &capture));
	assert_null(capture_playing_finish(along->playing, capture, &along->facts));
	assert_null(capture_play(capture, &whole->stacks, &whole->player, &whole->facts));
	assert_int_equal(along->count, whole->count);
	for (size_t i = 0; i < whole->count; i++) {
		struct capture_event *a = &along->events[i], *b = &whole->events[i];

		if (a->fn == TAPE_FN_EXTENDED && b->fn == TAPE_FN_EXTENDED)
			a->address = b->address = 0; /* of the payload */
		assert_memory_equal(a, b, sizeof(*a));
	}
	assert_int_equal(along->stacks.nodes.count, whole->stacks.nodes.count);
	assert_memory_equal(&along->facts, &whole->facts, sizeof(whole->facts));
	capture_destroy(capture);
	destroy(whole);
}

static void assert_dropped(struct world *world, const char *why)
{
	assert_null(companion_player_get(world->companion));
	assert_string_equal(companion_dropped(world->companion), why);
}

/* Whatever a busy machine does. */
static bool may_be_dropped(const struct companion *companion)
{
	static const char *const reasons[] = { "it could not keep up", "no processor was idle",
					       "an event came late" };

	for (size_t i = 0; i < array_size(reasons); i++)
		if (strcmp(companion_dropped(companion), reasons[i]) == 0)
			return true;
	return false;
}

static void run_and_compare(unsigned lane_count, uint32_t pause_every)
{
	struct world world;
	struct kept *kept;

	world_init(&world, &ops);
	run_lanes(&world, lane_count, pause_every);
	kept = end(&world);
	if (kept)
		assert_same(&world, kept);
	else
		assert_true(may_be_dropped(world.companion));
	world_deinit(&world);
}

static void one_thread(void **state)
{
	(void)state;
	run_and_compare(1, 0);
}

static void several_threads(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		run_and_compare(LANES, 0);
}

static void threads_that_are_interrupted(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		run_and_compare(LANES, 16 * 1000);
}

/* Without the thread: the order of what happens is the test's. */
static void chunks_seen_before_they_are_full(void **state)
{
	struct world world;
	struct kept *kept;

	(void)state;
	world_init(&world, &ops);
	for (unsigned i = 0; i < 2; i++)
		lane_begin(&world, &world.lanes[i]);
	for (uint64_t i = 0; i < 2000; i++) {
		lane_event(&world.lanes[i / 3 % 2], TAPE_FN_MALLOC, 16 * (i + 1), 1);
		if (i % 7 == 0)
			look(&world);
		if (i % 501 == 0)
			drain_sealed(&world.drain);
	}
	kept = end(&world);
	assert_non_null(kept);
	assert_same(&world, kept);
	assert_int_equal(kept->facts.event_count, 2000);
	world_deinit(&world);
}

/* Slots are looked at one after the other, and a chunk may begin, and the next, meanwhile. */
static void a_chunk_that_follows_one_not_seen_yet(void **state)
{
	struct world world;
	struct lane *lane = &world.lanes[0], *other = &world.lanes[1];
	struct tape_chunk *first;
	struct kept *kept;
	uint64_t count = 0;
	uint32_t used;

	(void)state;
	world_init(&world, &ops);
	lane_begin(&world, lane);
	lane_begin(&world, other);
	look(&world);
	lane_event(lane, TAPE_FN_MALLOC, 16 * ++count, 1);
	for (first = lane->chunk; lane->seq < 2;)
		lane_event(lane, TAPE_FN_MALLOC, 16 * ++count, 1);
	lane_event(other, TAPE_FN_MALLOC, 16 * ++count, 1);
	used = first->used;
	first->used = 0;
	look(&world);
	first->used = used;
	lane_event(other, TAPE_FN_MALLOC, 16 * ++count, 1);
	lane_event(lane, TAPE_FN_MALLOC, 16 * ++count, 1);
	look(&world);
	kept = end(&world);
	assert_non_null(kept);
	assert_same(&world, kept);
	assert_int_equal(kept->facts.event_count, count);
	world_deinit(&world);
}

static void a_chunk_changed_after_it_was_seen(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, &ops);
	lane_begin(&world, &world.lanes[0]);
	lane_event(&world.lanes[0], TAPE_FN_MALLOC, 16, 1);
	lane_event(&world.lanes[0], TAPE_FN_MALLOC, 32, 1);
	look(&world);
	((uint8_t *)(world.lanes[0].chunk + 1))[2]++; /* the first record's time */
	assert_null(end(&world));
	assert_dropped(&world, "a chunk was changed after it was written");
	world_deinit(&world);
}

static void a_player_that_needs_too_much(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, &greedy_ops);
	lane_begin(&world, &world.lanes[0]);
	look(&world);
	lane_event(&world.lanes[0], TAPE_FN_MALLOC, 16, 1);
	assert_null(end(&world));
	assert_dropped(&world, "it needs much memory");
	world_deinit(&world);
}

/* At the end the collector plays what is left: that depends on no thread. */
static bool medium_is_kept(bool is_told, uint64_t free_bytes)
{
	struct world world;
	bool is_kept;

	world_init(&world, &medium_ops);
	if (is_told)
		companion_allow(world.companion, free_bytes);
	lane_begin(&world, &world.lanes[0]);
	look(&world);
	lane_event(&world.lanes[0], TAPE_FN_MALLOC, 16, 1);
	is_kept = end(&world);
	if (!is_kept)
		assert_dropped(&world, "it needs much memory");
	world_deinit(&world);
	return is_kept;
}

static void a_player_has_a_part_of_what_is_free(void **state)
{
	(void)state;
	assert_false(medium_is_kept(false, 0));
	assert_false(medium_is_kept(true, UINT64_MAX)); /* unknown */
	assert_false(medium_is_kept(true, 0));
	assert_false(medium_is_kept(true, (uint64_t)MEDIUM_BYTES * 15));
	assert_true(medium_is_kept(true, (uint64_t)MEDIUM_BYTES * 17));
}

/* Nothing of it may be freed while the thread is at it. */
static void a_companion_nobody_wants_any_more(void **state)
{
	struct world world;

	(void)state;
	world_init(&world, &ops);
	run_lanes(&world, 2, 0);
	companion_stop(world.companion);
	drain_rest(&world.drain);
	writer_close(&world.writer);
	world_deinit(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(threads_that_are_interrupted),
		cmocka_unit_test(chunks_seen_before_they_are_full),
		cmocka_unit_test(a_chunk_that_follows_one_not_seen_yet),
		cmocka_unit_test(a_chunk_changed_after_it_was_seen),
		cmocka_unit_test(a_player_that_needs_too_much),
		cmocka_unit_test(a_player_has_a_part_of_what_is_free),
		cmocka_unit_test(a_companion_nobody_wants_any_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
