#include "../test.h"

#include "base/vec.h"
#include "symbol/jitdump.h"

static void add(struct vec_u8 *out, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_true(vec_u8_push(out, ((const uint8_t *)bytes)[i]));
}

static void add_u32(struct vec_u8 *out, uint32_t value)
{
	add(out, &value, sizeof(value));
}

static void add_u64(struct vec_u8 *out, uint64_t value)
{
	add(out, &value, sizeof(value));
}

static struct vec_u8 dump_begin(uint64_t flags)
{
	struct vec_u8 out = { 0 };

	add_u32(&out, 0x4a695444);
	add_u32(&out, 1);
	add_u32(&out, 40);
	add_u32(&out, 62);
	add_u32(&out, 0);
	add_u32(&out, 1234);
	add_u64(&out, 5);
	add_u64(&out, flags);
	return out;
}

static void add_record(struct vec_u8 *out, uint32_t id, uint64_t ns, struct vec_u8 *payload)
{
	add_u32(out, id);
	add_u32(out, (uint32_t)payload->count + 16);
	add_u64(out, ns);
	add(out, payload->items, payload->count);
	vec_u8_deinit(payload);
}

static void add_load(struct vec_u8 *out, uint64_t ns, uint64_t address, uint64_t bytes,
		     const char *name)
{
	struct vec_u8 payload = { 0 };

	add_u64(&payload, 1234);
	add_u64(&payload, address);
	add_u64(&payload, address);
	add_u64(&payload, bytes);
	add_u64(&payload, 0);
	add(&payload, name, strlen(name) + 1);
	for (uint64_t i = 0; i < bytes; i++) /* the code itself */
		add(&payload, "\xcc", 1);
	add_record(out, 0, ns, &payload);
}

static void add_move(struct vec_u8 *out, uint64_t ns, uint64_t from, uint64_t to, uint64_t bytes)
{
	struct vec_u8 payload = { 0 };

	add_u64(&payload, 1234);
	add_u64(&payload, to);
	add_u64(&payload, from);
	add_u64(&payload, to);
	add_u64(&payload, bytes);
	add_u64(&payload, 0);
	add_record(out, 1, ns, &payload);
}

static void add_lines(struct vec_u8 *out, uint64_t code, uint64_t shift)
{
	struct vec_u8 payload = { 0 };

	add_u64(&payload, code);
	add_u64(&payload, 2);
	add_u64(&payload, code + shift);
	add_u32(&payload, 7);
	add_u32(&payload, 0);
	add(&payload, "a.js", 5);
	add_u64(&payload, code + shift + 0x18);
	add_u32(&payload, 9);
	add_u32(&payload, 0);
	add(&payload, "\xff", 2);
	add_record(out, 2, 0, &payload);
}

static struct jitdump *view(const struct vec_u8 *bytes)
{
	struct jitdump *dump = NULL;

	assert_null(jitdump_view(bytes->items, bytes->count, &dump));
	return dump;
}

static const char *name_at(const struct jitdump *dump, uint64_t address, uint64_t ns)
{
	struct jit_place place;

	return jitdump_find(dump, address, ns, &place) ? place.function : NULL;
}

static void an_address_has_the_name_it_had_at_the_time(void **state)
{
	struct vec_u8 bytes = dump_begin(0);
	struct jitdump *dump;

	(void)state;
	add_load(&bytes, 100, 0x1000, 0x20, "first");
	add_load(&bytes, 200, 0x1010, 0x40, "second");
	add_load(&bytes, 300, 0x1000, 0x20, "third");
	dump = view(&bytes);
	assert_int_equal(jitdump_pid(dump), 1234);
	assert_true(jitdump_has_times(dump));
	assert_string_equal(name_at(dump, 0x1010, 150), "first");
	assert_string_equal(name_at(dump, 0x1010, 200), "second");
	assert_string_equal(name_at(dump, 0x1010, 299), "second");
	assert_string_equal(name_at(dump, 0x1010, 300), "third");
	assert_string_equal(name_at(dump, 0x104f, 999), "second");
	assert_string_equal(name_at(dump, 0x1000, 0), "first"); /* none had come: the next */
	assert_null(name_at(dump, 0x1050, 999));
	assert_null(name_at(dump, 0xfff, 999));
	jitdump_close(dump);
	vec_u8_deinit(&bytes);
}

static void code_that_moved_keeps_its_name_and_lines(void **state)
{
	struct vec_u8 bytes = dump_begin(0);
	struct jit_place place;
	struct jitdump *dump;

	(void)state;
	add_lines(&bytes, 0x1000, 0);
	add_load(&bytes, 100, 0x1000, 0x20, "f");
	add_move(&bytes, 200, 0x1000, 0x5000, 0x20);
	add_load(&bytes, 300, 0x1000, 0x20, "g");
	dump = view(&bytes);
	assert_true(jitdump_find(dump, 0x5019, 400, &place));
	assert_string_equal(place.function, "f");
	assert_string_equal(place.file, "a.js");
	assert_int_equal(place.line, 9);
	assert_true(jitdump_find(dump, 0x1003, 100, &place));
	assert_int_equal(place.line, 7);
	assert_true(jitdump_find(dump, 0x1003, 400, &place));
	assert_string_equal(place.function, "g");
	assert_null(place.file);
	jitdump_close(dump);
	vec_u8_deinit(&bytes);
}

static void lines_shifted_by_a_header_are_shifted_back(void **state)
{
	struct vec_u8 bytes = dump_begin(0);
	struct jit_place place;
	struct jitdump *dump;

	(void)state;
	add_lines(&bytes, 0x1000, 0x40);
	add_load(&bytes, 100, 0x1000, 0x20, "f");
	dump = view(&bytes);
	assert_true(jitdump_find(dump, 0x1018, 400, &place));
	assert_int_equal(place.line, 9);
	assert_true(jitdump_find(dump, 0x1017, 400, &place));
	assert_int_equal(place.line, 7);
	jitdump_close(dump);
	vec_u8_deinit(&bytes);
}

static void a_dump_cut_anywhere_has_what_came_before(void **state)
{
	struct vec_u8 bytes = dump_begin(1);

	(void)state;
	add_load(&bytes, 100, 0x1000, 0x20, "f");
	add_lines(&bytes, 0x2000, 0);
	add_load(&bytes, 100, 0x2000, 0x20, "g");
	for (size_t size = 0; size <= bytes.count; size++) {
		struct jitdump *dump = NULL;
		uint8_t *copy = malloc(size + 1); /* of its very size, for the sanitizers */
		struct err *err;

		memcpy(copy, bytes.items, size);
		err = jitdump_view(copy, size, &dump);
		assert_true((err != NULL) == (size < 40));
		if (dump) {
			assert_false(jitdump_has_times(dump));
			assert_true((name_at(dump, 0x2000, 0) != NULL) == (size == bytes.count));
		}
		jitdump_close(dump);
		err_destroy(err);
		free(copy);
	}
	vec_u8_deinit(&bytes);
}

static const struct file_trust any = { .bytes_max = 1 << 20 };

static void what_is_no_dump_is_an_error(void **state)
{
	struct jitdump *dump = NULL;
	struct err *err = jitdump_open("/etc/passwd", &any, &dump);

	(void)state;
	assert_int_equal(err_code_of(err), ERR_FORMAT);
	err_destroy(err);
	err = jitdump_open("/nonexistent/jit-1.dump", &any, &dump);
	assert_int_equal(err_code_of(err), ERR_SYSTEM);
	err_destroy(err);
	assert_null(dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_the_name_it_had_at_the_time),
		cmocka_unit_test(code_that_moved_keeps_its_name_and_lines),
		cmocka_unit_test(lines_shifted_by_a_header_are_shifted_back),
		cmocka_unit_test(a_dump_cut_anywhere_has_what_came_before),
		cmocka_unit_test(what_is_no_dump_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
