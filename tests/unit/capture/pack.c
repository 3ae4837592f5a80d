#include "../test.h"

#include "../tape_writer.h"
#include "capture/columns.h"
#include "capture/pack.h"

enum { CHUNK_BYTES = 64 << 10 };

/* One full chunk of random but plausible events, nodes and extended records. */
static struct tape_chunk *random_chunk(struct writer *writer, uint64_t seed, size_t count)
{
	uint64_t random = seed, ticks = WRITER_START_TICKS;
	uint32_t node = 0;

	writer_init(writer, CHUNK_BYTES);
	for (size_t i = 0; i < count; i++) {
		uint64_t r = random_next(&random);

		ticks += r % 5 ? r % 300 : r % 100000000000;
		if (r % 7 == 0)
			node = writer_node(writer, 1, node, r >> 16, ticks);
		if (r % 41 == 0)
			writer_extended(writer, 1, TAPE_EXT_MARK, ticks, &r, sizeof(r), "a text");
		writer_event(writer, 1, (enum tape_fn)(r % TAPE_FN_COUNT), ticks,
			     r % 3 ? 0x7f0000000000 + (r >> 40) * 16 : r, r >> (r % 64), node);
		if (seed % 2 && r % 5) /* with latencies, mostly */
			writer_latency(writer, 1, r >> (r % 11 ? 50 : 1));
	}
	return writer_chunk(writer, 1);
}

static void assert_same_slot(const struct tape_chunk *a, const struct tape_chunk *b)
{
	size_t node_bytes = a->node_count * sizeof(struct tape_node);

	assert_int_equal(a->used, b->used);
	assert_int_equal(a->node_count, b->node_count);
	assert_memory_equal(a + 1, b + 1, a->used);
	assert_memory_equal((const uint8_t *)a + CHUNK_BYTES - node_bytes,
			    (const uint8_t *)b + CHUNK_BYTES - node_bytes, node_bytes);
}

static void packing_is_lossless(void **state)
{
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	uint8_t *packed = malloc(capture_pack_bound(CHUNK_BYTES));
	struct tape_chunk *back = calloc(1, CHUNK_BYTES);

	(void)state;
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct writer writer;
		struct tape_chunk *chunk = random_chunk(&writer, seed, seed * seed);
		const struct tape_chunk *header = (const void *)packed;
		size_t bytes;
		uint32_t lost;

		assert_null(capture_pack(packer, chunk, CHUNK_BYTES, packed, &bytes, &lost));
		assert_int_equal(lost, 0);
		assert_true(bytes <= capture_pack_bound(CHUNK_BYTES));
		assert_int_equal(header->event_count, chunk->event_count);
		assert_true(capture_checksum_ok(header));
		assert_null(capture_unpack(packer, header, back, CHUNK_BYTES));
		assert_same_slot(chunk, back);
		writer_deinit(&writer);
	}
	capture_packer_destroy(packer);
	free(packed);
	free(back);
}

/* Chains and branches of nodes with few pcs, and events that use the newest. */
static struct tape_chunk *deep_chunk(struct writer *writer, uint32_t first_node, size_t chain)
{
	uint64_t random = first_node + chain, ticks = WRITER_START_TICKS;
	uint32_t node = TAPE_NODE_ROOT;

	writer_init(writer, CHUNK_BYTES);
	writer->streams[1].next_node = first_node;
	for (size_t i = 0; i < 3000; i++) {
		uint64_t r = random_next(&random);

		if (i % chain == chain - 1)
			node = r % 3 ? (uint32_t)(r >> 32) % (first_node + 1) : first_node;
		node = writer_node(writer, 1, node, UINT64_C(0xffff00000000) + r % 5, ticks);
		if (r % 7 == 0)
			writer_event(writer, 1, TAPE_FN_MALLOC, ++ticks, r & 0xffff0, r % 99, node);
		if (r % 11 == 0)
			writer_event(writer, 1, TAPE_FN_FREE, ++ticks, r & 0xffff0, 0,
				     (uint32_t)(r >> 40));
	}
	return writer_chunk(writer, 1);
}

/* Node ids around the widths in which records name them: mirrored stacks come back as well. */
static void new_stacks_and_long_chains_come_back(void **state)
{
	static const uint32_t first_nodes[] = { TAPE_NODE_FIRST, 0xfff0,	   0xffff,
						0x10000,	 0xfffff0,	   0xffffff,
						0x1000000,	 UINT32_MAX - 4000 };
	static const size_t chains[] = { 1, 2, 40, 255, 256, 257, 5000 };
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	uint8_t *packed = malloc(capture_pack_bound(CHUNK_BYTES));
	struct tape_chunk *back = calloc(1, CHUNK_BYTES);

	(void)state;
	for (size_t i = 0; i < array_size(first_nodes) * array_size(chains); i++) {
		struct writer writer;
		struct tape_chunk *chunk = deep_chunk(&writer, first_nodes[i / array_size(chains)],
						      chains[i % array_size(chains)]);
		size_t bytes;

		assert_null(capture_pack(packer, chunk, CHUNK_BYTES, packed, &bytes, NULL));
		assert_null(capture_unpack(packer, (const void *)packed, back, CHUNK_BYTES));
		assert_same_slot(chunk, back);
		writer_deinit(&writer);
	}
	capture_packer_destroy(packer);
	free(packed);
	free(back);
}

/* Each control word that there is, each twice: most find no place among the 255. */
static void more_control_words_than_codes_come_back(void **state)
{
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	uint8_t *packed = malloc(capture_pack_bound(4 << 20));
	struct tape_chunk *chunk = calloc(1, 4 << 20), *back = calloc(1, 4 << 20);
	uint8_t *records = (uint8_t *)(chunk + 1), *at = records;
	uint64_t random = 1;
	size_t bytes;

	(void)state;
	for (uint32_t i = 0; i < 2 << 16; i++) {
		unsigned ctrl = i * 0x9e35 & 0xffff;

		if ((ctrl & 63) >= TAPE_FN_COUNT)
			continue;
		store_u16(at, (uint16_t)ctrl);
		at += 2;
		for (unsigned field = 0; field < TAPE_FIELD_COUNT; field++) {
			unsigned code = ctrl >> (6 + 2 * field) & 3;

			if (tape_fn_sizeless(ctrl & 63) &&
			    (field == TAPE_FIELD_SIZE || field == TAPE_FIELD_SLACK))
				continue;
			for (unsigned n = tape_field_bytes(field, code); n > 0; n--)
				*at++ = (uint8_t)(random_next(&random) >> 24);
		}
	}
	*chunk = (struct tape_chunk) { .magic = TAPE_CHUNK_MAGIC,
				       .header_bytes = sizeof(*chunk),
				       .first_node = TAPE_NODE_FIRST,
				       .used = (uint32_t)(at - records) };
	assert_null(capture_pack(packer, chunk, 4 << 20, packed, &bytes, NULL));
	assert_null(capture_unpack(packer, (const void *)packed, back, 4 << 20));
	assert_int_equal(back->used, chunk->used);
	assert_memory_equal(back + 1, records, back->used);
	assert_int_equal(back->event_count, (2 << 16) / 64 * TAPE_FN_COUNT);
	capture_packer_destroy(packer);
	free(packed);
	free(chunk);
	free(back);
}

static void another_form_of_columns_is_refused(void **state)
{
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	struct tape_chunk packed = { .magic = TAPE_CHUNK_MAGIC, .codec = 1 };
	struct tape_chunk *back = calloc(1, CHUNK_BYTES);
	struct err *err = capture_unpack(packer, &packed, back, CHUNK_BYTES);

	(void)state;
	assert_int_equal(err_code_of(err), ERR_UNSUPPORTED);
	err_destroy(err);
	capture_packer_destroy(packer);
	free(back);
}

static void a_torn_chunk_is_packed_up_to_its_last_whole_record(void **state)
{
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	uint8_t *packed = malloc(capture_pack_bound(CHUNK_BYTES));
	const struct tape_chunk *header = (const void *)packed;
	struct writer writer;
	struct tape_chunk *chunk = random_chunk(&writer, 5, 60);
	uint32_t used = chunk->used, before = UINT32_MAX;

	(void)state;
	for (uint32_t cut = used; cut > 0; cut--) {
		size_t bytes;
		uint32_t lost;

		chunk->used = cut;
		assert_null(capture_pack(packer, chunk, CHUNK_BYTES, packed, &bytes, &lost));
		assert_int_equal(header->used + lost, cut);
		assert_true(lost < TAPE_EXTENDED_BYTES + 64);
		assert_true(header->event_count <= before);
		before = (uint32_t)header->event_count;
	}
	assert_int_equal(before, 0);
	writer_deinit(&writer);
	capture_packer_destroy(packer);
	free(packed);
}

static void a_chunk_larger_than_its_slot_is_refused(void **state)
{
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	uint8_t *packed = malloc(capture_pack_bound(CHUNK_BYTES));
	struct writer writer;
	struct tape_chunk *chunk = random_chunk(&writer, 5, 60);
	struct err *err;
	size_t bytes;

	(void)state;
	chunk->node_count = CHUNK_BYTES;
	err = capture_pack(packer, chunk, CHUNK_BYTES, packed, &bytes, NULL);
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_FORMAT);
	err_destroy(err);
	writer_deinit(&writer);
	capture_packer_destroy(packer);
	free(packed);
}

static void bytes_that_lie_unpack_to_an_error_or_to_a_chunk_that_fits(void **state)
{
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	uint8_t *packed = malloc(capture_pack_bound(CHUNK_BYTES));
	struct tape_chunk *back = calloc(1, CHUNK_BYTES), *header = (void *)packed;
	struct writer writer;
	struct tape_chunk *chunk = random_chunk(&writer, 7, 300);
	size_t bytes, refused = 0;

	(void)state;
	assert_null(capture_pack(packer, chunk, CHUNK_BYTES, packed, &bytes, NULL));
	/* capture_unpack leaves the checksum to its caller: here nothing protects it */
	for (size_t at = offsetof(struct tape_chunk, used); at < bytes; at++) {
		uint8_t was = packed[at];
		struct err *err;

		packed[at] ^= (uint8_t)(1 + at % 255);
		if (header->stored_bytes + sizeof(*header) <= bytes) {
			err = capture_unpack(packer, header, back, CHUNK_BYTES);
			refused += err != NULL;
			assert_true(err || chunk_fits(back, CHUNK_BYTES));
			err_destroy(err);
		}
		packed[at] = was;
	}
	assert_true(refused > 0);
	assert_null(capture_unpack(packer, header, back, CHUNK_BYTES));
	assert_same_slot(chunk, back);
	writer_deinit(&writer);
	capture_packer_destroy(packer);
	free(packed);
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packing_is_lossless),
		cmocka_unit_test(new_stacks_and_long_chains_come_back),
		cmocka_unit_test(more_control_words_than_codes_come_back),
		cmocka_unit_test(another_form_of_columns_is_refused),
		cmocka_unit_test(a_torn_chunk_is_packed_up_to_its_last_whole_record),
		cmocka_unit_test(a_chunk_larger_than_its_slot_is_refused),
		cmocka_unit_test(bytes_that_lie_unpack_to_an_error_or_to_a_chunk_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
