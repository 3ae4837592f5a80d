/*
 * A tape played while it is written is played like the whole: the same events in the same order,
 * with the same stacks. If what was believed about streams was wrong, it is an error and nothing
 * else.
 */
#include "../test.h"

#include "../tape_writer.h"
#include "capture/pack.h"
#include "capture/playing.h"

enum {
	CHUNK_BYTES = TAPE_CHUNK_BYTES_MIN,
	STREAMS = 6,
	STEPS = 12000,
	CHUNKS_MAX = 4096,
	PAYLOAD_MAX = 64
};

/* What a player was given, and what extended records had in them. */
struct seen_event {
	struct capture_event event;
	uint8_t payload[PAYLOAD_MAX];
};

struct seen {
	struct seen_event *items;
	size_t count;
	size_t room;
	struct capture_stacks stacks;
	struct capture_played facts;
};

static struct err *see(void *context, const struct capture_event *events, size_t count)
{
	struct seen *seen = context;

	while (seen->count + count > seen->room) {
		seen->room = seen->room ? seen->room * 2 : 1 << 14;
		seen->items = realloc(seen->items, seen->room * sizeof(*seen->items));
		assert_non_null(seen->items);
	}
	for (size_t i = 0; i < count; i++) {
		struct seen_event *item = &seen->items[seen->count++];

		memset(item, 0, sizeof(*item));
		item->event = events[i];
		if (events[i].fn != TAPE_FN_EXTENDED)
			continue;
		assert_true(events[i].size <= PAYLOAD_MAX);
		memcpy(item->payload, capture_event_extended(&events[i]).payload, events[i].size);
		item->event.address = 0;
	}
	return NULL;
}

static void seen_deinit(struct seen *seen)
{
	capture_stacks_deinit(&seen->stacks);
	free(seen->items);
}

/* A program of several threads: each reads the clock, and writes its record some time after. */
struct thread {
	uint64_t ticks; /* of the record being made; 0: none */
	uint64_t write_at;
	uint32_t nodes[8];
	size_t node_count;
	bool has_begun;
};

struct program {
	struct writer writer;
	struct thread threads[STREAMS];
	uint64_t random;
	uint64_t now;
	uint64_t delay_max; /* ticks from clock to record */
	unsigned module_count;
	bool has_ties; /* of times */
};

static uint64_t below(struct program *program, uint64_t limit)
{
	return (random_next(&program->random) >> 11) % limit;
}

static void program_init(struct program *program, uint64_t seed, uint64_t delay_max, bool has_ties)
{
	*program = (struct program) { .random = seed,
				      .now = WRITER_START_TICKS + 1,
				      .delay_max = delay_max,
				      .has_ties = has_ties };
	writer_init(&program->writer, CHUNK_BYTES);
}

/* A library is loaded at one of a few places, or unloaded: what addresses mean changes. */
static void write_module(struct program *program, unsigned stream, uint64_t ticks)
{
	const uint64_t begin = 0x400000 + below(program, 3) * 0x10000;
	const struct tape_module module = { .id = program->module_count + 1,
					    .begin = begin,
					    .end = begin + 0x10000 };
	const struct tape_module_end end = { .id = 1 + (uint32_t)below(program,
								       1 + program->module_count) };

	if (below(program, 2)) {
		writer_extended(&program->writer, stream, TAPE_EXT_MODULE_END, ticks, &end,
				sizeof(end), NULL);
		return;
	}
	writer_extended(&program->writer, stream, TAPE_EXT_MODULE, ticks, &module, sizeof(module),
			"/x.so");
	program->module_count++;
}

static void write_record(struct program *program, unsigned stream)
{
	struct thread *thread = &program->threads[stream];
	struct writer *writer = &program->writer;
	const uint64_t ticks = thread->ticks, kind = below(program, 200);
	uint32_t node = TAPE_NODE_NONE;

	for (uint64_t i = below(program, 8); i > 6 || (i > 4 && thread->node_count == 0); i--) {
		const uint32_t parent = thread->node_count
						? thread->nodes[below(program, thread->node_count)]
						: (uint32_t)TAPE_NODE_ROOT;
		const uint32_t made = writer_node(writer, stream, parent,
						  0x400000 + below(program, 40) * 0x1000, ticks);

		if (thread->node_count < 8)
			thread->nodes[thread->node_count++] = made;
		else
			thread->nodes[below(program, 8)] = made;
	}
	if (thread->node_count && below(program, 4))
		node = thread->nodes[below(program, thread->node_count)];
	if (kind == 0)
		write_module(program, stream, ticks);
	/* What goes with a new chunk is of now, and comes before the record that needed the chunk. */
	writer_room(writer, stream, TAPE_EVENT_ROOM + TAPE_EXTENDED_BYTES + 8, ticks);
	if (kind == 1)
		writer_extended(writer, stream, TAPE_EXT_STACK_DEPTH, program->now, &ticks,
				sizeof(ticks), NULL);
	writer_event(writer, stream, kind % 2 ? TAPE_FN_MALLOC : TAPE_FN_FREE, ticks,
		     0x1000 + 16 * below(program, 1000), kind % 2 ? kind : 0, node);
}

/* One step of time. */
static void program_step(struct program *program)
{
	/* Few threads run for a while, then others. */
	const unsigned stream =
		(unsigned)((program->now / 3000 + below(program, 2 + program->now / 9000 % 4)) %
			   STREAMS);
	struct thread *thread = &program->threads[stream];

	program->now += below(program, 4) + !program->has_ties;
	if (!thread->ticks) {
		const bool is_interrupted = below(program, 100) == 0;

		thread->ticks = program->now;
		thread->write_at =
			program->now + below(program, is_interrupted ? program->delay_max : 4);
		thread->has_begun = true;
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		if (!program->threads[i].ticks || program->threads[i].write_at > program->now)
			continue;
		write_record(program, i);
		program->threads[i].ticks = 0;
	}
}

static void program_end(struct program *program)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		program->threads[i].write_at = 0;
		if (!program->threads[i].has_begun) /* every stream is on the tape */
			program->threads[i].ticks = program->now;
		if (program->threads[i].ticks)
			write_record(program, i);
		writer_seal(&program->writer, i);
	}
}

/* Who plays it meanwhile. */
struct watcher {
	struct program *program;
	struct capture_playing *playing;
	struct capture_growing growing[CHUNKS_MAX];
	bool is_given[CHUNKS_MAX];
	size_t released_count;
	bool believes_too_much;
	bool is_blind; /* sees no change any more */
};

static void count_released(void *context, struct capture_growing *growing)
{
	struct watcher *watcher = context;

	watcher->released_count++;
	free(growing->image);
	growing->image = NULL;
}

static void copy_chunk(struct watcher *watcher, size_t index, const struct tape_chunk *slot)
{
	struct capture_growing *growing = &watcher->growing[index];
	uint8_t *image = (uint8_t *)growing->image;

	memcpy(image + sizeof(*slot), slot + 1, slot->used);
	memcpy(image + CHUNK_BYTES - slot->node_count * sizeof(struct tape_node),
	       (const uint8_t *)slot + CHUNK_BYTES - slot->node_count * sizeof(struct tape_node),
	       slot->node_count * sizeof(struct tape_node));
	growing->node_count = slot->node_count;
	growing->used = slot->used;
	growing->is_complete = slot->state == TAPE_CHUNK_SEALED;
}

static struct err *look_at_chunks(struct watcher *watcher)
{
	const struct writer *writer = &watcher->program->writer;
	struct err *err = NULL;
	size_t index = 0;

	for (size_t at = TAPE_HEADER_BYTES; at < writer->len && !err && !watcher->is_blind;
	     at += CHUNK_BYTES, index++) {
		const struct tape_chunk *slot = (const void *)(writer->bytes + at);
		struct capture_growing *growing = &watcher->growing[index];

		assert_true(index < CHUNKS_MAX);
		if ((slot->used == 0 && slot->state == TAPE_CHUNK_OPEN) || growing->is_complete)
			continue;
		if (!watcher->is_given[index]) {
			growing->image = calloc(1, CHUNK_BYTES + CAPTURE_GROWING_PAD);
			memcpy(growing->image, slot, sizeof(*slot));
		}
		copy_chunk(watcher, index, slot);
		if (!watcher->is_given[index]) {
			watcher->is_given[index] = true;
			err = capture_playing_give(watcher->playing, growing);
		}
	}
	return err;
}

static struct err *look(struct watcher *watcher)
{
	const struct program *program = watcher->program;
	const uint32_t never = 0;
	struct err *err = NULL;

	for (uint32_t i = 0; i < STREAMS && !err; i++) {
		const struct thread *thread = &program->threads[i];
		const uint64_t bound =
			thread->ticks && !watcher->believes_too_much ? thread->ticks : program->now;

		err = capture_playing_bound(watcher->playing, i, bound);
	}
	capture_playing_bound_all(watcher->playing, program->now);
	if (!err)
		err = look_at_chunks(watcher);
	return err ? err : capture_playing_go(watcher->playing, &never);
}

static void play_whole(const struct capture *capture, struct seen *seen)
{
	*seen = (struct seen) { .count = 0 };
	assert_true(capture_stacks_init(&seen->stacks));
	assert_null(capture_play(capture, &seen->stacks, &(struct capture_player) { see, seen, 2 },
				 &seen->facts));
}

static void assert_same(const struct seen *a, const struct seen *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		assert_memory_equal(&a->items[i], &b->items[i], sizeof(a->items[i]));
	assert_int_equal(a->stacks.nodes.count, b->stacks.nodes.count);
	assert_memory_equal(a->stacks.nodes.items, b->stacks.nodes.items,
			    a->stacks.nodes.count * sizeof(*a->stacks.nodes.items));
	assert_int_equal(a->stacks.modules.count, b->stacks.modules.count);
	assert_int_equal(a->stacks.sightings.count, b->stacks.sightings.count);
	assert_memory_equal(a->stacks.sightings.items, b->stacks.sightings.items,
			    a->stacks.sightings.count * sizeof(*a->stacks.sightings.items));
	assert_memory_equal(&a->facts, &b->facts, sizeof(a->facts));
}

/* As a collector packs it: with the numbers of events in it. */
static void pack(const struct writer *writer, const char *path)
{
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	uint8_t *bytes = calloc(1, writer->len * 2 + capture_pack_bound(CHUNK_BYTES));
	struct tape_header header;
	size_t len = TAPE_HEADER_BYTES, chunk_bytes;

	memcpy(&header, writer->bytes, sizeof(header));
	header.kind = TAPE_KIND_PACKED;
	memcpy(bytes, &header, sizeof(header));
	for (size_t at = TAPE_HEADER_BYTES; at < writer->len; at += CHUNK_BYTES) {
		struct err *err = capture_pack(packer, (const void *)(writer->bytes + at),
					       CHUNK_BYTES, bytes + len, &chunk_bytes, NULL);

		assert_null(err);
		len += chunk_bytes;
	}
	writer_save_bytes(path, bytes, len);
	capture_packer_destroy(packer);
	free(bytes);
}

static struct capture *save_and_open(struct writer *writer)
{
	struct capture *capture = NULL;
	char path[64];

	writer_path(path);
	for (unsigned i = 0; i < WRITER_STREAMS; i++)
		writer_seal(writer, i);
	pack(writer, path);
	assert_null(capture_open(path, &capture));
	unlink(path);
	return capture;
}

/* False: what was believed turned out to be wrong. */
static bool play_along(uint64_t seed, uint64_t delay_max, uint64_t look_every, bool has_ties,
		       bool believes_too_much)
{
	struct program program;
	struct watcher *watcher = calloc(1, sizeof(*watcher));
	struct seen along = { 0 }, whole;
	struct capture *capture;
	struct err *err;

	program_init(&program, seed, delay_max, has_ties);
	watcher->program = &program;
	watcher->believes_too_much = believes_too_much;
	assert_true(capture_stacks_init(&along.stacks));
	err = capture_playing_create(writer_header(&program.writer), &along.stacks,
				     &(struct capture_player) { see, &along, 0 }, count_released,
				     watcher, &watcher->playing);
	assert_null(err);
	for (size_t i = 0; i < STEPS; i++) {
		program_step(&program);
		if (!err && below(&program, look_every) == 0)
			err = look(watcher);
	}
	program_end(&program);
	if (!err)
		err = look_at_chunks(watcher);
	capture = save_and_open(&program.writer);
	if (!err)
		err = capture_playing_finish(watcher->playing, capture, &along.facts);
	if (!err) {
		play_whole(capture, &whole);
		assert_same(&along, &whole);
		seen_deinit(&whole);
	} else {
		assert_int_equal(err_code_of(err), ERR_STATE);
	}
	capture_playing_destroy(watcher->playing);
	for (size_t i = 0; i < CHUNKS_MAX; i++)
		assert_null(watcher->growing[i].image);
	capture_destroy(capture);
	seen_deinit(&along);
	writer_deinit(&program.writer);
	free(watcher);
	err_destroy(err);
	return err == NULL;
}

static void a_tape_played_meanwhile_is_played_like_the_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++)
		assert_true(play_along(seed, 400, 1 + seed * seed, false, false));
}

/* Where times are equal, caution may see a late event in one that is not. */
static void events_of_equal_times_are_in_the_same_order(void **state)
{
	unsigned done_count = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++)
		done_count += play_along(seed, 400, 1 + seed * seed, true, false);
	assert_true(done_count > 12);
}

static void chunks_may_all_come_at_the_end(void **state)
{
	(void)state;
	assert_true(play_along(77, 400, UINT64_C(1) << 40, true, false));
}

static void a_late_event_is_an_error_or_makes_no_difference(void **state)
{
	unsigned error_count = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++)
		error_count += !play_along(seed, 8 + seed, 1 + 40 * seed * seed, false, true);
	assert_true(error_count > 0);
	assert_true(error_count < 24);
}

/* --- what cannot be played this way ----------------------------------------------------------- */

struct one {
	struct writer writer;
	struct watcher *watcher;
	struct program program;
	struct seen seen;
};

static void one_init(struct one *one)
{
	*one = (struct one) { .watcher = calloc(1, sizeof(*one->watcher)) };
	writer_init(&one->program.writer, CHUNK_BYTES);
	one->watcher->program = &one->program;
	assert_true(capture_stacks_init(&one->seen.stacks));
}

static void one_create(struct one *one)
{
	assert_null(capture_playing_create(writer_header(&one->program.writer), &one->seen.stacks,
					   &(struct capture_player) { see, &one->seen, 0 },
					   count_released, one->watcher, &one->watcher->playing));
}

static void one_deinit(struct one *one)
{
	capture_playing_destroy(one->watcher->playing);
	writer_deinit(&one->program.writer);
	seen_deinit(&one->seen);
	free(one->watcher);
}

static void assert_refused(struct one *one)
{
	struct capture *capture = save_and_open(&one->program.writer);
	struct capture_played played;
	struct err *err = look_at_chunks(one->watcher);

	if (!err)
		err = capture_playing_finish(one->watcher->playing, capture, &played);
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_STATE);
	err_destroy(err);
	capture_destroy(capture);
	one_deinit(one);
}

static void a_tape_with_another_chunk_is_refused(void **state)
{
	struct one one;

	(void)state;
	one_init(&one);
	writer_event(&one.program.writer, 0, TAPE_FN_MALLOC, 2000, 0x100, 1, 2);
	writer_seal(&one.program.writer, 0);
	one_create(&one);
	assert_null(look_at_chunks(one.watcher));
	writer_event(&one.program.writer, 0, TAPE_FN_MALLOC, 2001, 0x200, 1, 2);
	one.watcher->growing[1].is_complete = 1; /* nobody gives it */
	assert_refused(&one);
}

static void a_tape_of_another_process_is_refused(void **state)
{
	struct one one;

	(void)state;
	one_init(&one);
	writer_event(&one.program.writer, 0, TAPE_FN_MALLOC, 2000, 0x100, 1, 2);
	one_create(&one);
	writer_header(&one.program.writer)->uuid[0]++;
	assert_refused(&one);
}

static void a_missing_chunk_is_refused(void **state)
{
	struct one one;

	(void)state;
	one_init(&one);
	one.program.writer.streams[0].seq = 1;
	writer_event(&one.program.writer, 0, TAPE_FN_MALLOC, 2000, 0x100, 1, 2);
	one_create(&one);
	assert_refused(&one);
}

static void missing_nodes_are_refused(void **state)
{
	struct one one;

	(void)state;
	one_init(&one);
	one.program.writer.streams[0].next_node += 5;
	writer_event(&one.program.writer, 0, TAPE_FN_MALLOC, 2000, 0x100, 1, 2);
	one_create(&one);
	assert_refused(&one);
}

static void a_broken_record_is_refused(void **state)
{
	struct one one;

	(void)state;
	one_init(&one);
	writer_event(&one.program.writer, 0, TAPE_FN_MALLOC, 2000, 0x100, 1, 2);
	writer_chunk(&one.program.writer, 0)->used--;
	one_create(&one);
	assert_refused(&one);
}

static void an_incomplete_chunk_is_refused(void **state)
{
	struct one one;

	(void)state;
	one_init(&one);
	writer_event(&one.program.writer, 0, TAPE_FN_MALLOC, 2000, 0x100, 1, 2);
	one_create(&one);
	assert_null(look_at_chunks(one.watcher));
	writer_seal(&one.program.writer, 0);
	one.watcher->is_blind = true;
	assert_refused(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tape_played_meanwhile_is_played_like_the_whole),
		cmocka_unit_test(events_of_equal_times_are_in_the_same_order),
		cmocka_unit_test(chunks_may_all_come_at_the_end),
		cmocka_unit_test(a_late_event_is_an_error_or_makes_no_difference),
		cmocka_unit_test(a_tape_with_another_chunk_is_refused),
		cmocka_unit_test(a_tape_of_another_process_is_refused),
		cmocka_unit_test(a_missing_chunk_is_refused),
		cmocka_unit_test(missing_nodes_are_refused),
		cmocka_unit_test(a_broken_record_is_refused),
		cmocka_unit_test(an_incomplete_chunk_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
