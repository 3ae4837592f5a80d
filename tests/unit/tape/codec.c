#include "../test.h"

#include "tape/codec.h"

static const struct tape_event rows[] = {
	{ TAPE_FN_MALLOC, 3, 0, 0x1000, 24, 24 },
	{ TAPE_FN_MALLOC, 3, 255, 0x1020, 24, 24 },
	{ TAPE_FN_CALLOC, 65535, 256 + 255, 0x0ff0, 256, 264 },
	{ TAPE_FN_FREE, 65536, 66047, 0x1020, 0, 0 },
	{ TAPE_FN_FREE, 65536, 66048, 0x1020, 0, 0 },
	{ TAPE_FN_NEW_ARRAY, UINT32_MAX, UINT64_C(1) << 33, 0x7fffdeadbee1, 65536, 65544 },
	{ TAPE_FN_MALLOC, 1, UINT64_C(1) << 62, UINT64_MAX, UINT64_MAX, 0 },
	{ TAPE_FN_MALLOC, 2, UINT64_C(1) << 62, 0, UINT64_MAX / 2, 0 },
	{ TAPE_FN_REALLOC_OUT, 4, UINT64_C(1) << 62, UINT64_C(1) << 63, 0, 0 },
	{ TAPE_FN_REALLOC_IN, 5, (UINT64_C(1) << 62) + 1, 16, 0, 1 },
	{ TAPE_FN_MALLOC, 5, (UINT64_C(1) << 62) + 2, 0x10000010, 100, 100000 },
};

struct tape_bytes {
	uint8_t bytes[4096];
	size_t used;
};

static void put(struct tape_bytes *tape, struct tape_codec_state *codec,
		const struct tape_event *event)
{
	uint8_t *out = tape->bytes + tape->used;

	assert_true(sizeof(tape->bytes) - tape->used >= TAPE_EVENT_ROOM);
	out = tape_event_encode(codec, out, event->fn, event->ticks, event->address, event->size,
				event->usable, event->node);
	tape->used = (size_t)(out - tape->bytes);
}

static void put_rows(struct tape_bytes *tape)
{
	struct tape_codec_state codec;

	tape->used = 0;
	tape_codec_reset(&codec, 0);
	for (size_t i = 0; i < array_size(rows); i++)
		put(tape, &codec, &rows[i]);
}

static void assert_event_equal(const struct tape_event *got, const struct tape_event *want)
{
	assert_int_equal(got->fn, want->fn);
	assert_int_equal(got->node, want->node);
	assert_true(got->ticks == want->ticks);
	assert_true(got->address == want->address);
	assert_true(got->size == want->size);
	assert_true(got->usable == want->usable);
}

static void what_was_written_is_read(void **state)
{
	struct tape_bytes tape;
	struct tape_reader reader;

	(void)state;
	put_rows(&tape);
	tape_reader_init(&reader, tape.bytes, tape.used, 0);
	for (size_t i = 0; i < array_size(rows); i++) {
		assert_true(tape_reader_next(&reader));
		assert_false(reader.is_extended);
		assert_event_equal(&reader.event, &rows[i]);
	}
	assert_false(tape_reader_next(&reader));
	assert_false(reader.failed);
	assert_int_equal(tape_reader_offset(&reader), tape.used);
}

static void the_commonest_events_are_small(void **state)
{
	const struct tape_event first = { TAPE_FN_MALLOC, 9, 100, 0x55550010, 32, 40 };
	const struct tape_event again = { TAPE_FN_MALLOC, 9, 200, 0x55550040, 32, 40 };
	struct tape_codec_state codec;
	struct tape_bytes tape = { .used = 0 };
	size_t before;

	(void)state;
	tape_codec_reset(&codec, 0);
	put(&tape, &codec, &first);
	before = tape.used;
	put(&tape, &codec, &again);
	assert_int_equal(tape.used - before, 2 + 1 + 2); /* control, time, distance */
}

/* Reads all of it; returns how many records there were. */
static size_t read_all(const uint8_t *bytes, size_t used, bool *failed)
{
	struct tape_reader reader;
	size_t count = 0;

	tape_reader_init(&reader, bytes, used, 0);
	while (tape_reader_next(&reader))
		count++;
	*failed = reader.failed;
	assert_true(tape_reader_offset(&reader) <= used);
	return count;
}

static void a_tape_cut_anywhere_gives_its_whole_records_and_an_error(void **state)
{
	struct tape_bytes tape;
	uint8_t cut[sizeof(tape.bytes)];
	size_t last = 0;

	(void)state;
	put_rows(&tape);
	for (size_t used = 0; used <= tape.used; used++) {
		bool failed;
		size_t count;

		memset(cut, 0xff, sizeof(cut));
		memcpy(cut, tape.bytes, used);
		count = read_all(cut, used, &failed);
		assert_true(count >= last);
		assert_true(used == 0 || failed || count > last);
		last = count;
	}
	assert_int_equal(last, array_size(rows));
}

static void a_failed_reader_stays_failed(void **state)
{
	const uint8_t bytes[64] = { TAPE_FN_COUNT };
	struct tape_reader reader;

	(void)state;
	tape_reader_init(&reader, bytes, sizeof(bytes), 0);
	assert_false(tape_reader_next(&reader));
	assert_true(reader.failed);
	assert_false(tape_reader_next(&reader));
	assert_int_equal(tape_reader_offset(&reader), 0);
}

static void extended_records_pass_between_events(void **state)
{
	struct tape_bytes tape = { .used = 0 };
	struct tape_codec_state codec;
	struct tape_reader reader;
	uint8_t *end;

	(void)state;
	tape_codec_reset(&codec, 0);
	put(&tape, &codec, &rows[0]);
	end = tape_extended_encode(tape.bytes + tape.used, TAPE_EXT_MARK, 77, "12345678", 8, "text",
				   5);
	tape.used = (size_t)(end - tape.bytes);
	put(&tape, &codec, &rows[1]);

	tape_reader_init(&reader, tape.bytes, tape.used, 0);
	assert_true(tape_reader_next(&reader));
	assert_true(tape_reader_next(&reader));
	assert_true(reader.is_extended);
	assert_int_equal(reader.extended.type, TAPE_EXT_MARK);
	assert_int_equal(reader.extended.ticks, 77);
	assert_int_equal(reader.extended.payload_bytes, 13);
	assert_memory_equal(reader.extended.payload, "12345678text", 13);
	assert_true(tape_reader_next(&reader));
	assert_event_equal(&reader.event, &rows[1]);
}

static void latencies_pass_between_events(void **state)
{
	static const uint64_t latencies[] = { 0, 1, 0xffff, 0x10000, UINT64_MAX };
	static const size_t lengths[] = { 4, 4, 4, 10, 10 };
	struct tape_bytes tape = { .used = 0 };
	struct tape_codec_state codec;
	struct tape_reader reader;
	uint8_t *end;

	(void)state;
	tape_codec_reset(&codec, 0);
	put(&tape, &codec, &rows[0]);
	for (size_t i = 0; i < array_size(latencies); i++) {
		end = tape_latency_encode(tape.bytes + tape.used, latencies[i]);
		assert_int_equal(end - (tape.bytes + tape.used), lengths[i]);
		tape.used = (size_t)(end - tape.bytes);
	}
	put(&tape, &codec, &rows[1]);

	tape_reader_init(&reader, tape.bytes, tape.used, 0);
	assert_true(tape_reader_next(&reader));
	for (size_t i = 0; i < array_size(latencies); i++) {
		assert_true(tape_reader_next(&reader));
		assert_false(reader.is_extended);
		assert_int_equal(reader.event.fn, TAPE_FN_LATENCY);
		assert_int_equal(reader.event.ticks, rows[0].ticks);
		assert_true(reader.event.size == latencies[i]);
	}
	assert_true(tape_reader_next(&reader));
	assert_event_equal(&reader.event, &rows[1]);
}

static void a_latency_that_is_cut_is_an_error(void **state)
{
	uint8_t bytes[64];
	const size_t whole = (size_t)(tape_latency_encode(bytes, UINT64_MAX) - bytes);

	(void)state;
	for (size_t used = 1; used <= whole; used++) {
		bool failed;

		assert_int_equal(read_all(bytes, used, &failed), used == whole);
		assert_int_equal(failed, used < whole);
	}
}

static void a_latency_of_another_length_is_an_error(void **state)
{
	(void)state;
	for (unsigned rest = 0; rest < 1 << 10; rest++) {
		uint8_t bytes[64] = { 0 };
		const unsigned ctrl = TAPE_FN_LATENCY | rest << 6;
		bool failed;

		store_u16(bytes, (uint16_t)ctrl);
		read_all(bytes, 2 + 8, &failed);
		if (rest != 1 && rest != 3)
			assert_true(failed);
	}
}

static void an_extended_record_longer_than_the_chunk_is_an_error(void **state)
{
	uint8_t bytes[64];
	struct tape_reader reader;
	uint8_t *end = tape_extended_encode(bytes, TAPE_EXT_MARK, 1, "12345678", 8, NULL, 0);

	(void)state;
	store_u32(bytes + 4, UINT32_MAX);
	tape_reader_init(&reader, bytes, (size_t)(end - bytes), 0);
	assert_false(tape_reader_next(&reader));
	assert_true(reader.failed);
}

static void distances_fold_and_unfold(void **state)
{
	static const uint64_t ends[] = { 0, 1, 15, 16, 0xfff0, 0x7ffff000, UINT64_C(1) << 47 };

	(void)state;
	for (size_t i = 0; i < array_size(ends); i++)
		for (size_t j = 0; j < array_size(ends); j++) {
			uint64_t folded = tape_distance_fold(ends[i], ends[j]);

			assert_true(tape_distance_unfold(ends[i], folded) == ends[j]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(the_commonest_events_are_small),
		cmocka_unit_test(a_tape_cut_anywhere_gives_its_whole_records_and_an_error),
		cmocka_unit_test(a_failed_reader_stays_failed),
		cmocka_unit_test(extended_records_pass_between_events),
		cmocka_unit_test(latencies_pass_between_events),
		cmocka_unit_test(a_latency_that_is_cut_is_an_error),
		cmocka_unit_test(a_latency_of_another_length_is_an_error),
		cmocka_unit_test(an_extended_record_longer_than_the_chunk_is_an_error),
		cmocka_unit_test(distances_fold_and_unfold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
