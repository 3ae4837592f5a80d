#include "../test.h"

#include "../tape_writer.h"
#include "capture/capture.h"
#include "capture/pack.h"

enum { CHUNK_BYTES = TAPE_CHUNK_BYTES_MIN, PLAYED_MAX = 100000 };

struct played {
	struct capture_event *events;
	size_t count;
	struct capture_stacks stacks;
	struct capture_played facts;
};

static struct err *keep(void *context, const struct capture_event *events, size_t count)
{
	struct played *played = context;

	assert_true(played->count + count <= PLAYED_MAX);
	memcpy(played->events + played->count, events, count * sizeof(*events));
	played->count += count;
	return NULL;
}

/* Plays what was written; ends the writer. */
static void play(struct writer *writer, unsigned thread_count, struct played *played)
{
	struct capture *capture = NULL;
	char path[64];

	*played = (struct played) { .events = calloc(PLAYED_MAX, sizeof(struct capture_event)) };
	assert_true(capture_stacks_init(&played->stacks));
	writer_path(path);
	writer_save(writer, path);
	assert_null(capture_open(path, &capture));
	assert_null(capture_play(capture, &played->stacks,
				 &(struct capture_player) { keep, played, thread_count },
				 &played->facts));
	capture_destroy(capture);
	unlink(path);
	writer_deinit(writer);
}

static void played_deinit(struct played *played)
{
	capture_stacks_deinit(&played->stacks);
	free(played->events);
}

static void streams_are_merged_by_time(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads < 4; threads++) {
		uint64_t random = threads, ticks = WRITER_START_TICKS;
		struct played played;
		struct writer writer;

		writer_init(&writer, CHUNK_BYTES);
		for (uint64_t i = 0; i < 60000; i++) {
			uint64_t r = random_next(&random);
			/* bursts of one stream, then many at once */
			unsigned stream = 1 + (unsigned)(i % 4000 < 2000 ? i / 4000 % 5 : r % 5);

			ticks += r >> 60;
			writer_event(&writer, stream, TAPE_FN_MALLOC, ticks, 16 * (i + 1), i, 2);
		}
		play(&writer, threads, &played);
		assert_int_equal(played.count, 60000);
		assert_int_equal(played.facts.event_count, 60000);
		for (size_t i = 1; i < played.count; i++) {
			const struct capture_event *a = &played.events[i - 1], *b = a + 1;

			assert_true(a->ticks <= b->ticks);
			/* within a stream never out of order: sizes count up */
			assert_true(a->stream != b->stream || a->size < b->size);
		}
		played_deinit(&played);
	}
}

static void of_equal_times_frees_come_first(void **state)
{
	struct played played;
	struct writer writer;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 0x100, 1, 2);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 3000, 0x200, 2, 2);
	writer_event(&writer, 2, TAPE_FN_FREE, 3000, 0x100, 0, 2);
	play(&writer, 1, &played);
	assert_int_equal(played.count, 3);
	assert_int_equal(played.events[1].fn, TAPE_FN_FREE);
	assert_int_equal(played.events[2].fn, TAPE_FN_MALLOC);
	played_deinit(&played);
}

static void fields_come_back_as_they_were_written(void **state)
{
	struct played played;
	struct writer writer;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_CALLOC, 5000, 0x7ffff7a01230, 100001, 2);
	writer_event(&writer, 1, TAPE_FN_NEW, 5001, 0, 77, 2);
	play(&writer, 1, &played);
	assert_int_equal(played.events[0].fn, TAPE_FN_CALLOC);
	assert_int_equal(played.events[0].ticks, 5000);
	assert_int_equal(played.events[0].address, 0x7ffff7a01230);
	assert_int_equal(played.events[0].size, 100001);
	assert_int_equal(played.events[0].usable, 100001 + 100001 % 3);
	assert_int_equal(played.events[1].address, 0);
	played_deinit(&played);
}

static void equal_stacks_of_two_streams_have_one_id(void **state)
{
	struct played played;
	struct writer writer;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	for (unsigned stream = 1; stream <= 2; stream++) {
		uint32_t outer = writer_node(&writer, stream, TAPE_NODE_ROOT, 0x400100, 2000);
		uint32_t again = writer_node(&writer, stream, TAPE_NODE_ROOT, 0x400100, 2000);
		uint32_t inner =
			writer_node(&writer, stream, stream == 1 ? outer : again, 0x400200, 2000);

		writer_event(&writer, stream, TAPE_FN_MALLOC, 2000 + stream, 16 * stream, 1, inner);
	}
	play(&writer, 1, &played);
	assert_int_equal(played.stacks.nodes.count, CAPTURE_STACK_FIRST + 2);
	assert_int_equal(played.events[0].stack, played.events[1].stack);
	assert_int_equal(played.stacks.nodes.items[played.events[0].stack].pc, 0x400200);
	played_deinit(&played);
}

static void a_stack_used_in_a_later_chunk_is_found(void **state)
{
	struct played played;
	struct writer writer;
	uint32_t node;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	node = writer_node(&writer, 1, TAPE_NODE_ROOT, 0x400100, 2000);
	for (uint64_t i = 0; i < 10000; i++)
		writer_event(&writer, 1, TAPE_FN_MALLOC, 2000 + i, 16 * i + 16, i, node);
	play(&writer, 1, &played);
	for (size_t i = 0; i < played.count; i++)
		assert_int_equal(played.events[i].stack, CAPTURE_STACK_FIRST);
	played_deinit(&played);
}

static void a_stack_nobody_defined_is_no_stack(void **state)
{
	struct played played;
	struct writer writer;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 16, 1, 4000000000);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2001, 32, 1, TAPE_NODE_TRUNCATED);
	play(&writer, 1, &played);
	assert_int_equal(played.events[0].stack, CAPTURE_STACK_NONE);
	assert_int_equal(played.events[1].stack, CAPTURE_STACK_TRUNCATED);
	assert_int_equal(played.facts.unknown_node_count, 1);
	played_deinit(&played);
}

static void a_lost_chunk_takes_only_its_own_stacks(void **state)
{
	struct played played;
	struct writer writer;
	uint32_t lost, kept;
	size_t slot;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2000, 16, 1, TAPE_NODE_ROOT);
	writer_seal(&writer, 1);
	lost = writer_node(&writer, 1, TAPE_NODE_ROOT, 0x400100, 2001);
	slot = writer.streams[1].slot;
	writer_seal(&writer, 1);
	kept = writer_node(&writer, 1, lost, 0x400200, 2002);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2002, 32, 1, kept);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2003, 48, 1, lost);
	memset(writer.bytes + slot, 0, CHUNK_BYTES);
	play(&writer, 1, &played);
	assert_int_equal(played.count, 3);
	assert_int_equal(played.stacks.nodes.items[played.events[1].stack].pc, 0x400200);
	assert_int_equal(played.stacks.nodes.items[played.events[1].stack].parent,
			 CAPTURE_STACK_TRUNCATED);
	assert_int_equal(played.events[2].stack, CAPTURE_STACK_NONE);
	played_deinit(&played);
}

static void module_records_give_frames_their_module(void **state)
{
	const struct tape_module module = {
		.id = 3, .bias = 0x400000, .begin = 0x400000, .end = 0x500000
	};
	struct played played;
	struct writer writer;
	uint32_t node;

	(void)state;
	writer_init(&writer, CHUNK_BYTES);
	writer_extended(&writer, 1, TAPE_EXT_MODULE, 2000, &module, sizeof(module), "/bin/prog");
	node = writer_node(&writer, 1, TAPE_NODE_ROOT, 0x400100, 2001);
	writer_event(&writer, 1, TAPE_FN_MALLOC, 2001, 16, 1, node);
	play(&writer, 1, &played);
	assert_int_equal(played.stacks.modules.count, 1);
	assert_string_equal(played.stacks.modules.items[0].path, "/bin/prog");
	assert_int_equal(played.stacks.nodes.items[played.events[1].stack].module, 0);
	played_deinit(&played);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_merged_by_time),
		cmocka_unit_test(of_equal_times_frees_come_first),
		cmocka_unit_test(fields_come_back_as_they_were_written),
		cmocka_unit_test(equal_stacks_of_two_streams_have_one_id),
		cmocka_unit_test(a_stack_used_in_a_later_chunk_is_found),
		cmocka_unit_test(a_stack_nobody_defined_is_no_stack),
		cmocka_unit_test(a_lost_chunk_takes_only_its_own_stacks),
		cmocka_unit_test(module_records_give_frames_their_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
