#include "../test.h"

#include <sys/stat.h>

#include "../tape_writer.h"
#include "capture/capture.h"
#include "capture/pack.h"

enum { CHUNK_BYTES = TAPE_CHUNK_BYTES_MIN };

struct seen {
	uint64_t events;
	uint64_t last_ticks[WRITER_STREAMS];
};

static struct err *see(void *context, const struct capture_event *events, size_t count)
{
	struct seen *seen = context;

	for (size_t i = 0; i < count; i++) {
		assert_true(events[i].fn < TAPE_FN_COUNT || events[i].fn == TAPE_FN_EXTENDED);
		if (events[i].fn == TAPE_FN_EXTENDED)
			assert_non_null(capture_event_extended(&events[i]).payload);
		else
			seen->events++;
	}
	return NULL;
}

/* Opens, verifies and plays; events played, -1: it was refused. */
static int64_t events_of(const char *path)
{
	struct capture *capture = NULL;
	struct capture_stacks stacks;
	struct capture_played played;
	struct seen seen = { 0 };
	struct err *err = capture_open(path, &capture);

	if (err) {
		assert_true(strlen(err_message(err)) > 0);
		err_destroy(err);
		return -1;
	}
	assert_true(capture_stacks_init(&stacks));
	assert_null(capture_play(capture, &stacks, &(struct capture_player) { see, &seen, 0 },
				 &played));
	assert_int_equal(played.event_count, seen.events);
	capture_stacks_deinit(&stacks);
	capture_destroy(capture);
	return (int64_t)seen.events;
}

/* Two streams, several chunks, stacks and a few extended records. */
static uint64_t small_tape(struct writer *writer, size_t count)
{
	uint64_t random = 99, ticks = WRITER_START_TICKS;
	uint32_t node[3] = { 0, 0, 0 };

	writer_init(writer, CHUNK_BYTES);
	for (size_t i = 0; i < count; i++) {
		uint64_t r = random_next(&random);
		unsigned stream = 1 + r % 2;

		ticks += r % 1000;
		if (i % 5 == 0)
			node[stream] = writer_node(writer, stream, i % 25 ? node[stream] : 0,
						   0x400000 + r % 4096, ticks);
		if (i % 50 == 0)
			writer_extended(writer, stream, TAPE_EXT_MARK, ticks, &r, sizeof(r), "m");
		writer_event(writer, stream, r % 3 ? TAPE_FN_MALLOC : TAPE_FN_FREE, ticks,
			     0x1000 + (r >> 32) * 16, r % 4096, node[stream]);
	}
	return count;
}

static size_t file_read(const char *path, uint8_t **bytes_ret)
{
	struct stat status;
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	*bytes_ret = malloc((size_t)status.st_size);
	assert_int_equal(fread(*bytes_ret, 1, (size_t)status.st_size, file), status.st_size);
	fclose(file);
	return (size_t)status.st_size;
}

static void repack(const char *raw, char *packed)
{
	struct capture_repacked repacked;

	writer_path(packed);
	unlink(packed);
	assert_null(capture_repack(raw, packed, CAPTURE_PACK_LEVEL, &repacked));
}

static void raw_and_repacked_tapes_hold_the_same_events(void **state)
{
	char raw[64], packed[64];
	struct writer writer;
	uint64_t count = small_tape(&writer, 5000);

	(void)state;
	writer_path(raw);
	writer_save(&writer, raw);
	repack(raw, packed);
	assert_int_equal(events_of(raw), count);
	assert_int_equal(events_of(packed), count);
	unlink(raw);
	unlink(packed);
	writer_deinit(&writer);
}

static void repacking_overwrites_nothing(void **state)
{
	char raw[64], packed[64];
	struct capture_repacked repacked;
	struct writer writer;
	struct err *err;

	(void)state;
	small_tape(&writer, 10);
	writer_path(raw);
	writer_save(&writer, raw);
	writer_path(packed); /* exists */
	err = capture_repack(raw, packed, CAPTURE_PACK_LEVEL, &repacked);
	assert_non_null(err);
	assert_int_equal(err_errno_of(err), 17 /* EEXIST */);
	assert_int_equal(access(packed, F_OK), 0);
	err_destroy(err);
	unlink(raw);
	unlink(packed);
	writer_deinit(&writer);
}

static void a_packed_tape_cut_at_any_byte_keeps_what_is_before(void **state)
{
	char raw[64], packed[64], cut[64];
	int64_t count = 0, before = -1, all;
	struct writer writer;
	uint8_t *bytes;
	size_t len;

	(void)state;
	all = (int64_t)small_tape(&writer, 2500);
	writer_path(raw);
	writer_path(cut);
	writer_save(&writer, raw);
	repack(raw, packed);
	len = file_read(packed, &bytes);
	writer_save_bytes(cut, bytes, len);
	assert_int_equal(events_of(cut), all);
	for (size_t size = 0; size <= len; size++) {
		/* inside the header's padding and a chunk's middle every 23rd byte is enough */
		bool is_edge = size < 600 || size > len - 300 || size % 23 == 0;

		if (!is_edge)
			continue;
		writer_save_bytes(cut, bytes, size);
		count = events_of(cut);
		assert_true(count >= before);
		assert_true(size >= sizeof(struct tape_header) || count == -1);
		before = count;
	}
	assert_int_equal(count, all);
	free(bytes);
	unlink(raw);
	unlink(packed);
	unlink(cut);
	writer_deinit(&writer);
}

static void a_raw_tape_cut_at_any_byte_keeps_what_is_before(void **state)
{
	char cut[64];
	int64_t count = 0, all;
	struct writer writer;

	(void)state;
	all = (int64_t)small_tape(&writer, 300);
	writer_path(cut);
	writer_save(&writer, cut);
	assert_int_equal(events_of(cut), all);
	for (size_t size = 0; size <= writer.len; size++) {
		if (size > 600 && size < writer.len - 64 && size % 29 != 0)
			continue;
		writer_save_bytes(cut, writer.bytes, size);
		count = events_of(cut);
		assert_true(count <= all);
		assert_true(size >= sizeof(struct tape_header) || count == -1);
	}
	assert_int_equal(count, all);
	unlink(cut);
	writer_deinit(&writer);
}

static void damage_in_the_middle_costs_one_chunk(void **state)
{
	char raw[64], packed[64];
	struct capture *capture = NULL;
	struct writer writer;
	uint8_t *bytes;
	size_t len;
	int64_t all, rest;

	(void)state;
	all = (int64_t)small_tape(&writer, 20000);
	writer_path(raw);
	writer_save(&writer, raw);
	repack(raw, packed);
	len = file_read(packed, &bytes);
	/* the second chunk's length: the chain of chunks is broken, not only a payload */
	assert_null(capture_open(packed, &capture));
	assert_true(capture_chunk_count(capture) > 4);
	bytes[capture_chunk_get(capture, 1)->offset + offsetof(struct tape_chunk, stored_bytes)] ^=
		0x55;
	writer_save_bytes(packed, bytes, len);
	capture_destroy(capture);
	assert_null(capture_open(packed, &capture));
	assert_int_equal(capture_damage_count(capture), 1);
	assert_int_equal(capture_facts(capture)->missing_chunk_count, 1);
	capture_destroy(capture);
	rest = events_of(packed);
	assert_true(rest < all);
	assert_true(rest > all / 2);
	free(bytes);
	unlink(raw);
	unlink(packed);
	writer_deinit(&writer);
}

struct verified {
	size_t chunks;
	size_t bad;
};

static void count_verified(void *context, const struct capture_chunk *chunk, uint64_t event_count,
			   const char *error)
{
	struct verified *verified = context;

	verified->chunks++;
	verified->bad += error != NULL;
	assert_true(error || event_count == chunk->event_count);
}

static void verifying_finds_the_chunk_whose_payload_is_damaged(void **state)
{
	char raw[64], packed[64];
	struct verified verified = { 0 };
	struct capture *capture = NULL;
	struct writer writer;
	uint8_t *bytes;
	size_t len;

	(void)state;
	small_tape(&writer, 6000);
	writer_path(raw);
	writer_save(&writer, raw);
	repack(raw, packed);
	len = file_read(packed, &bytes);
	assert_null(capture_open(packed, &capture));
	assert_null(capture_verify(capture, count_verified, &verified));
	assert_int_equal(verified.bad, 0);
	assert_int_equal(verified.chunks, capture_chunk_count(capture));
	bytes[capture_chunk_get(capture, 0)->offset + 200] ^= 1;
	capture_destroy(capture);
	writer_save_bytes(packed, bytes, len);
	verified = (struct verified) { 0 };
	assert_null(capture_open(packed, &capture));
	assert_null(capture_verify(capture, count_verified, &verified));
	assert_int_equal(verified.bad, 1);
	capture_destroy(capture);
	free(bytes);
	unlink(raw);
	unlink(packed);
	writer_deinit(&writer);
}

static const struct {
	const char *what;
	size_t offset;
	uint32_t value;
	enum err_code code;
} lies[] = {
	{ "magic", offsetof(struct tape_header, magic), 0, ERR_FORMAT },
	{ "version", offsetof(struct tape_header, version), 2, ERR_UNSUPPORTED },
	{ "header size", offsetof(struct tape_header, header_bytes), 512, ERR_FORMAT },
	{ "kind", offsetof(struct tape_header, kind), 3, ERR_FORMAT },
	{ "chunk size 0", offsetof(struct tape_header, chunk_bytes), 0, ERR_FORMAT },
	{ "chunk size odd", offsetof(struct tape_header, chunk_bytes), 16385, ERR_FORMAT },
	{ "chunk size huge", offsetof(struct tape_header, chunk_bytes), UINT32_MAX, ERR_FORMAT },
	{ "shift", offsetof(struct tape_header, tick_shift), 64, ERR_FORMAT },
};

static void a_header_that_lies_is_refused(void **state)
{
	char path[64];

	(void)state;
	writer_path(path);
	for (size_t i = 0; i < array_size(lies); i++) {
		struct capture *capture = NULL;
		struct writer writer;
		struct err *err;

		small_tape(&writer, 10);
		store_u32(writer.bytes + lies[i].offset, lies[i].value);
		writer_save(&writer, path);
		err = capture_open(path, &capture);
		if (!err || err_code_of(err) != lies[i].code)
			fail_msg("%s", lies[i].what);
		assert_null(capture);
		err_destroy(err);
		writer_deinit(&writer);
	}
	unlink(path);
}

static void a_chunk_header_that_lies_is_damage_not_an_error(void **state)
{
	static const size_t fields[] = {
		offsetof(struct tape_chunk, magic),	 offsetof(struct tape_chunk, used),
		offsetof(struct tape_chunk, node_count), offsetof(struct tape_chunk, first_node),
		offsetof(struct tape_chunk, seq),	 offsetof(struct tape_chunk, stream),
	};
	char path[64];

	(void)state;
	writer_path(path);
	for (size_t i = 0; i < array_size(fields); i++) {
		struct writer writer;
		int64_t all = (int64_t)small_tape(&writer, 4000), count;

		store_u32(writer.bytes + TAPE_HEADER_BYTES + fields[i], 0xfffffff0);
		writer_save(&writer, path);
		count = events_of(path);
		assert_true(count >= 0);
		assert_true(count <= all);
		writer_deinit(&writer);
	}
	unlink(path);
}

static void what_is_no_tape_is_refused(void **state)
{
	(void)state;
	assert_int_equal(events_of("/etc/passwd"), -1);
	assert_int_equal(events_of("/dev/zero"), -1);
	assert_int_equal(events_of("/tmp"), -1);
	assert_int_equal(events_of("/nonexistent"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_and_repacked_tapes_hold_the_same_events),
		cmocka_unit_test(repacking_overwrites_nothing),
		cmocka_unit_test(a_packed_tape_cut_at_any_byte_keeps_what_is_before),
		cmocka_unit_test(a_raw_tape_cut_at_any_byte_keeps_what_is_before),
		cmocka_unit_test(damage_in_the_middle_costs_one_chunk),
		cmocka_unit_test(verifying_finds_the_chunk_whose_payload_is_damaged),
		cmocka_unit_test(a_header_that_lies_is_refused),
		cmocka_unit_test(a_chunk_header_that_lies_is_damage_not_an_error),
		cmocka_unit_test(what_is_no_tape_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
