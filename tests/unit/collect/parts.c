/*
 * Parts of chunks, taken at any moment while lanes write, are the records and nodes of each stream
 * in their order: all of them, once, in chunks whose numbers have no gap.
 */
#include "../test.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/vec.h"
#include "capture/cut.h"
#include "collect/parts.h"
#include "core/hash.h"
#include "tape/codec.h"

enum {
	LANES = 3,
	SLOTS = 8,
	SLOT_BYTES = 1024, /* some 60 records */
	STEPS = 3000,
	ROUNDS = 300,
	NOTE_BYTES_MAX = 40
};

struct record {
	struct tape_event event; /* of an extended record: ticks alone */
	uint64_t payload_hash;
	bool is_extended;
};
VEC_DEFINE(record_vec, struct record);
VEC_DEFINE(node_vec, struct tape_node);
VEC_DEFINE(chunk_vec, struct tape_chunk *);

/* One stream as its recorder writes it, and what is known to be on it. */
struct lane {
	uint32_t seq, next_node;
	struct tape_chunk *chunk; /* NULL: none is open */
	struct tape_codec_state codec;
	struct record_vec records;
	struct node_vec nodes;
	struct chunk_vec taken;
};

struct world {
	struct spool spool;
	struct parts *parts;
	struct lane lane[LANES];
	struct tape_chunk *chunk; /* a copy of a slot */
	uint64_t ticks;
	uint64_t random;
	bool has_latency;
};

static uint32_t below(struct world *world, uint32_t end)
{
	world->random = world->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(world->random >> 33) % end;
}

static void world_init(struct world *world, uint64_t seed)
{
	const bool has_latency = seed % 3 == 0;

	*world = (struct world) { .random = seed, .ticks = 1000, .has_latency = has_latency };
	assert_null(spool_open(&world->spool, SLOT_BYTES, SLOTS,
			       has_latency ? TAPE_FLAG_LATENCY : 0, "/tmp"));
	world->parts = parts_create(&world->spool);
	assert_int_equal(spool_live(&world->spool)->in_parts, 0);
	world->chunk = malloc(SLOT_BYTES);
	assert_non_null(world->parts);
	assert_non_null(world->chunk);
	for (size_t i = 0; i < LANES; i++)
		world->lane[i].next_node = TAPE_NODE_FIRST;
}

static void world_deinit(struct world *world)
{
	for (size_t i = 0; i < LANES; i++) {
		struct lane *lane = &world->lane[i];

		for (size_t c = 0; c < lane->taken.count; c++)
			free(lane->taken.items[c]);
		chunk_vec_deinit(&lane->taken);
		record_vec_deinit(&lane->records);
		node_vec_deinit(&lane->nodes);
	}
	parts_destroy(world->parts);
	spool_close(&world->spool);
	free(world->chunk);
}

static uint32_t stream_of(const struct world *world, const struct lane *lane)
{
	return (uint32_t)(lane - world->lane) + 1;
}

/* --- the recorder -------------------------------------------------------------------------- */

static bool chunk_begin(struct world *world, struct lane *lane)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct tape_chunk *chunk = spool_chunk(&world->spool, i);

		if (chunk->state != TAPE_CHUNK_FREE)
			continue;
		*chunk = (struct tape_chunk) { .magic = TAPE_CHUNK_MAGIC,
					       .header_bytes = sizeof(*chunk),
					       .codec = TAPE_CODEC_RAW,
					       .state = TAPE_CHUNK_OPEN,
					       .stream = stream_of(world, lane),
					       .seq = lane->seq++,
					       .first_node = lane->next_node,
					       .begin_ticks = world->ticks };
		tape_codec_reset(&lane->codec, world->ticks);
		lane->chunk = chunk;
		return true;
	}
	return false;
}

static uint8_t *cursor_of(const struct lane *lane)
{
	return (uint8_t *)(lane->chunk + 1) + lane->chunk->used;
}

static void chunk_seal(struct lane *lane)
{
	lane->chunk->state = TAPE_CHUNK_SEALED;
	lane->chunk = NULL;
}

/* Room for a node and a record of such bytes, perhaps in a new chunk; false: all slots are full. */
static bool make_room(struct world *world, struct lane *lane, size_t bytes)
{
	const size_t wanted = bytes + TAPE_EVENT_ROOM + sizeof(struct tape_node);

	if (lane->chunk) {
		const uint8_t *nodes = (uint8_t *)lane->chunk + SLOT_BYTES -
				       lane->chunk->node_count * sizeof(struct tape_node);

		if ((size_t)(nodes - cursor_of(lane)) >= wanted)
			return true;
		chunk_seal(lane);
	}
	return chunk_begin(world, lane);
}

static uint32_t node_define(struct world *world, struct lane *lane)
{
	const struct tape_node node = { .parent = below(world, lane->next_node),
					.pc_low = below(world, 1 << 30) };
	struct tape_chunk *chunk = lane->chunk;

	chunk->node_count++;
	memcpy((uint8_t *)chunk + SLOT_BYTES - chunk->node_count * sizeof(node), &node,
	       sizeof(node));
	assert_true(node_vec_push(&lane->nodes, node));
	return lane->next_node++;
}

static void write_event(struct world *world, struct lane *lane)
{
	const bool is_free = below(world, 3) == 0;
	struct record record = {
		.event = { .fn = is_free ? TAPE_FN_FREE : TAPE_FN_MALLOC,
			   .ticks = world->ticks,
			   .address = 0x1000 + 16 * (uint64_t)below(world, 1 << below(world, 24)),
			   .node = below(world, 4) ? below(world, lane->next_node)
						   : node_define(world, lane) },
	};
	struct tape_event *event = &record.event;

	if (!is_free) {
		event->size = below(world, 2) ? 24 : below(world, 100000);
		event->usable = below(world, 2) ? tape_usable_guess(event->size) : event->size;
	}
	lane->chunk->used = (uint32_t)(tape_event_encode(&lane->codec, cursor_of(lane), event->fn,
							 event->ticks, event->address, event->size,
							 event->usable, event->node) -
				       (uint8_t *)(lane->chunk + 1));
	assert_true(record_vec_push(&lane->records, record));
}

static void write_note(struct world *world, struct lane *lane)
{
	uint8_t payload[NOTE_BYTES_MAX];
	const size_t bytes = below(world, sizeof(payload));
	struct record record = { .is_extended = true, .event.ticks = world->ticks };

	memset(payload, (int)below(world, 256), sizeof(payload));
	record.payload_hash = hash_bytes(payload, bytes, 0);
	lane->chunk->used = (uint32_t)(tape_extended_encode(cursor_of(lane), TAPE_EXT_MARK,
							    world->ticks, payload, bytes, NULL, 0) -
				       (uint8_t *)(lane->chunk + 1));
	assert_true(record_vec_push(&lane->records, record));
}

/* Follows its event in the same chunk, perhaps after others have written. */
static void write_latency(struct world *world, struct lane *lane)
{
	const struct record record = { .event = { .fn = TAPE_FN_LATENCY,
						  .size = below(world, 100000) } };

	lane->chunk->used = (uint32_t)(tape_latency_encode(cursor_of(lane), record.event.size) -
				       (uint8_t *)(lane->chunk + 1));
	assert_true(record_vec_push(&lane->records, record));
}

static void write_some(struct world *world)
{
	struct lane *lane = &world->lane[below(world, LANES)];
	const struct record *last =
		lane->records.count ? &lane->records.items[lane->records.count - 1] : NULL;

	world->ticks += below(world, 3) ? below(world, 50) : 0;
	if (world->has_latency && lane->chunk && last && !last->is_extended &&
	    last->event.fn != TAPE_FN_LATENCY)
		write_latency(world, lane);
	else if (!make_room(world, lane, TAPE_EXTENDED_BYTES + NOTE_BYTES_MAX))
		return;
	else if (below(world, 20) == 0)
		write_note(world, lane);
	else
		write_event(world, lane);
}

/* --- the collector ------------------------------------------------------------------------- */

static size_t gather(const struct world *world, uint32_t state, struct sort_pair *pairs)
{
	size_t count = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct tape_chunk *chunk = spool_chunk(&world->spool, i);

		if (chunk->state == state || (state == TAPE_CHUNK_FREE && chunk->state != state))
			pairs[count++] = (struct sort_pair) {
				.key = (uint64_t)chunk->stream << 32 | chunk->seq, .index = i
			};
	}
	assert_true(sort_pairs(pairs, count));
	return count;
}

static void keep(struct world *world)
{
	struct tape_chunk *copy = malloc(SLOT_BYTES);

	assert_non_null(copy);
	assert_in_range(world->chunk->stream, 1, LANES);
	memcpy(copy, world->chunk, SLOT_BYTES);
	assert_true(chunk_vec_push(&world->lane[copy->stream - 1].taken, copy));
}

static void take_whole(struct world *world, uint32_t state)
{
	struct sort_pair pairs[SLOTS];
	const size_t count = gather(world, state, pairs);

	for (size_t i = 0; i < count; i++) {
		assert_true(spool_chunk_copy(&world->spool, pairs[i].index, world->chunk));
		spool_chunk_free(&world->spool, pairs[i].index);
		parts_rest(world->parts, pairs[i].index, world->chunk);
		if (world->chunk->used > 0)
			keep(world);
	}
}

/* Of slots in a state, or "FREE": in any other; take: parts_take, parts_last. */
static void take_each(struct world *world, enum tape_chunk_state state, uint64_t until_ticks,
		      bool (*take)(struct parts *parts, uint32_t index, uint64_t until_ticks,
				   struct tape_chunk *chunk))
{
	struct sort_pair pairs[SLOTS];
	const size_t count = gather(world, state, pairs);

	for (size_t i = 0; i < count; i++)
		if (take(world->parts, pairs[i].index, until_ticks, world->chunk))
			keep(world);
}

/* From some time on: until then chunks are taken when they are full. */
static void take_parts(struct world *world, uint64_t until_ticks)
{
	if (!parts_have_begun(world->parts))
		parts_begin(world->parts);
	assert_int_equal(spool_live(&world->spool)->in_parts, 1);
	take_each(world, TAPE_CHUNK_OPEN, until_ticks, parts_take);
}

static void take_last(struct world *world, uint64_t until_ticks)
{
	take_each(world, TAPE_CHUNK_FREE, until_ticks, parts_last);
}

static void work(struct world *world, unsigned steps)
{
	const uint32_t part_every = 1 + below(world, 200), whole_every = 1 + below(world, 400);
	const uint32_t whole_until = below(world, 2) ? below(world, steps) : 0;

	for (unsigned i = 0; i < steps; i++) {
		write_some(world);
		if (below(world, whole_every) == 0)
			take_whole(world, TAPE_CHUNK_SEALED);
		if (i == whole_until || (i > whole_until && below(world, part_every) == 0))
			take_parts(world, world->ticks - below(world, 30));
	}
}

/* --- what came of it ----------------------------------------------------------------------- */

static void check_record(const struct record *wanted, const struct tape_reader *found)
{
	const struct tape_event *event = &found->event;

	assert_int_equal(found->is_extended, wanted->is_extended);
	if (found->is_extended) {
		assert_int_equal(found->extended.ticks, wanted->event.ticks);
		assert_int_equal(
			hash_bytes(found->extended.payload, found->extended.payload_bytes, 0),
			wanted->payload_hash);
		return;
	}
	assert_int_equal(event->fn, wanted->event.fn);
	assert_int_equal(event->size, wanted->event.size);
	if (event->fn == TAPE_FN_LATENCY)
		return;
	assert_int_equal(event->ticks, wanted->event.ticks);
	assert_int_equal(event->address, wanted->event.address);
	assert_int_equal(event->usable, wanted->event.usable);
	assert_int_equal(event->node, wanted->event.node);
}

static void check_nodes(const struct lane *lane, const struct tape_chunk *chunk, size_t *known)
{
	assert_int_equal(chunk->first_node, TAPE_NODE_FIRST + *known);
	for (uint32_t i = 0; i < chunk->node_count; i++, ++*known) {
		assert_true(*known < lane->nodes.count);
		assert_memory_equal((const uint8_t *)chunk + SLOT_BYTES -
					    (i + 1) * sizeof(struct tape_node),
				    &lane->nodes.items[*known], sizeof(struct tape_node));
	}
}

/* Returns how many of the lane's records there are, from its first on. */
static size_t check_lane(const struct lane *lane)
{
	size_t known = 0, at = 0;

	for (size_t c = 0; c < lane->taken.count; c++) {
		const struct tape_chunk *chunk = lane->taken.items[c];
		struct tape_reader reader;

		assert_int_equal(chunk->seq, c);
		assert_in_range(chunk->used, 1,
				SLOT_BYTES - sizeof(*chunk) -
					chunk->node_count * sizeof(struct tape_node));
		check_nodes(lane, chunk, &known);
		tape_reader_init(&reader, chunk + 1, chunk->used, chunk->begin_ticks);
		for (; tape_reader_next(&reader); at++) {
			assert_true(at < lane->records.count);
			check_record(&lane->records.items[at], &reader);
			if (!reader.is_extended && reader.event.fn != TAPE_FN_LATENCY)
				assert_in_range(reader.event.node, 0, TAPE_NODE_FIRST + known - 1);
		}
		assert_false(reader.failed);
	}
	return at;
}

static void parts_and_rests_are_the_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct world world;

		world_init(&world, seed);
		work(&world, STEPS);
		take_whole(&world, TAPE_CHUNK_SEALED);
		take_whole(&world, TAPE_CHUNK_OPEN);
		for (size_t i = 0; i < LANES; i++)
			assert_int_equal(check_lane(&world.lane[i]), world.lane[i].records.count);
		world_deinit(&world);
	}
}

/* How many records of a lane are not too late; a latency is of the time of its event. */
static size_t count_until(const struct lane *lane, uint64_t until_ticks)
{
	size_t at = 0;

	while (at < lane->records.count && lane->records.items[at].event.ticks <= until_ticks)
		at++;
	return at;
}

static void the_last_parts_end_at_one_moment(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct world world;
		uint64_t until_ticks;

		world_init(&world, seed);
		work(&world, STEPS);
		take_whole(&world, TAPE_CHUNK_SEALED);
		until_ticks = world.ticks;
		for (uint32_t i = below(&world, 200); i > 0; i--)
			write_some(&world); /* nobody empties slots meanwhile */
		take_last(&world, until_ticks);
		for (size_t i = 0; i < LANES; i++)
			assert_int_equal(check_lane(&world.lane[i]),
					 count_until(&world.lane[i], until_ticks));
		world_deinit(&world);
	}
}

/* Who begins to look later sees what is in open chunks, too. */
static void parts_begin_where_whole_chunks_end(void **state)
{
	struct world world;
	struct lane *lane = &world.lane[0];

	(void)state;
	world_init(&world, 1);
	while (lane->seq < 3 || lane->chunk->used < 2 * CAPTURE_CUT_BYTES_MIN) {
		assert_true(make_room(&world, lane, 0));
		world.ticks++;
		write_event(&world, lane);
		take_whole(&world, TAPE_CHUNK_SEALED);
	}
	assert_int_equal(lane->taken.count, 2);
	take_parts(&world, world.ticks);
	assert_int_equal(lane->taken.count, 3);
	assert_int_equal(check_lane(lane), lane->records.count);
	world_deinit(&world);
}

/* The lane's events from now on are seen as they are written. */
static void see_all(struct world *world, struct lane *lane, size_t count)
{
	while (lane->records.count < count) {
		assert_true(make_room(world, lane, 0));
		world->ticks++;
		write_event(world, lane);
		if (lane->chunk->used >= 64)
			take_parts(world, world->ticks);
	}
}

static void a_chunk_of_which_parts_have_all_leaves_no_gap(void **state)
{
	struct world world;
	struct lane *lane = &world.lane[0];
	unsigned empty_count = 0;

	(void)state;
	world_init(&world, 1);
	for (unsigned i = 0; i < 200; i++) {
		const size_t before = lane->taken.count;

		see_all(&world, lane, lane->records.count + 10 + i % 7);
		chunk_seal(lane);
		empty_count += lane->taken.count > before; /* parts were taken; is there a rest? */
		take_whole(&world, TAPE_CHUNK_SEALED);
	}
	assert_true(empty_count > 100);
	assert_int_equal(check_lane(lane), lane->records.count);
	world_deinit(&world);
}

/* What a thread that was idle writes after the end, whatever its clock says, is not on the tape. */
static void nothing_comes_after_the_end(void **state)
{
	struct world world;
	struct lane *lane = &world.lane[0];
	uint64_t until_ticks;
	size_t count;

	(void)state;
	world_init(&world, 1);
	for (unsigned i = 0; i < 30; i++) {
		assert_true(make_room(&world, lane, 0));
		write_event(&world, lane);
	}
	take_parts(&world, world.ticks);
	count = lane->records.count;
	until_ticks = world.ticks++;
	while (lane->seq < 3) {
		assert_true(make_room(&world, lane, TAPE_EXTENDED_BYTES + NOTE_BYTES_MAX));
		if (lane->chunk->used == 0)
			write_note(&world, lane);
		write_event(&world, lane);
		if (lane->seq == 2)
			world.ticks = until_ticks - 1;
	}
	take_last(&world, until_ticks);
	assert_int_equal(check_lane(lane), count);
	world_deinit(&world);
}

static void records_of_no_stream_are_kept_as_they_are(void **state)
{
	struct world world;
	struct lane *lane = &world.lane[0];

	(void)state;
	world_init(&world, 1);
	assert_true(make_room(&world, lane, 0));
	write_event(&world, lane);
	lane->chunk->stream = UINT32_MAX;
	lane->chunk->seq = 7;
	assert_false(parts_take(world.parts, 0, world.ticks, world.chunk));
	assert_true(parts_last(world.parts, 0, world.ticks, world.chunk));
	assert_int_equal(world.chunk->seq, 7);
	assert_true(spool_chunk_copy(&world.spool, 0, world.chunk));
	world_deinit(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_and_rests_are_the_whole),
		cmocka_unit_test(parts_begin_where_whole_chunks_end),
		cmocka_unit_test(the_last_parts_end_at_one_moment),
		cmocka_unit_test(a_chunk_of_which_parts_have_all_leaves_no_gap),
		cmocka_unit_test(nothing_comes_after_the_end),
		cmocka_unit_test(records_of_no_stream_are_kept_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
