#include "../test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbol.h"

static void builder_fill(struct pack_builder *builder)
{
	pack_add_place(builder, 0x2000);
	pack_add_frame(builder, "inner", "a.c", 7, PACK_FRAME_KNOWN | PACK_FRAME_INLINED);
	pack_add_frame(builder, "outer", NULL, 0, PACK_FRAME_KNOWN);
	pack_add_place(builder, 0x1000);
	pack_add_frame(builder, "0x1000", "a.c", 9, 0);
}

static struct vec_u8 bytes_make(void)
{
	struct pack_builder builder = { 0 };
	struct vec_u8 bytes = { 0 };

	builder_fill(&builder);
	assert_true(pack_write(&builder, SYMBOL_LINES, 42, &bytes));
	pack_builder_deinit(&builder);
	return bytes;
}

static void what_was_added_is_found(void **state)
{
	struct vec_u8 bytes = bytes_make();
	const struct pack_place *place;
	struct pack pack;

	(void)state;
	assert_null(pack_view(bytes.items, bytes.count, &pack));
	assert_int_equal(pack.header->identity, 42);
	assert_int_equal(pack.header->state, SYMBOL_LINES);
	place = pack_find(&pack, 0x2000);
	assert_non_null(place);
	assert_int_equal(place->count, 2);
	assert_string_equal(pack.strings + pack.frames[place->first].function, "inner");
	assert_string_equal(pack.strings + pack.frames[place->first].file, "a.c");
	assert_int_equal(pack.frames[place->first].line, 7);
	assert_int_equal(pack.frames[place->first + 1].file, PACK_NO_TEXT);
	assert_non_null(pack_find(&pack, 0x1000));
	assert_null(pack_find(&pack, 0x1001));
	assert_null(pack_find(&pack, 0));
	vec_u8_deinit(&bytes);
}

static bool is_refused(const uint8_t *bytes, size_t size)
{
	struct pack pack;
	struct err *err = pack_view(bytes, size, &pack);
	const bool refused = err != NULL;

	err_destroy(err);
	return refused;
}

static void bytes_that_changed_are_refused(void **state)
{
	struct vec_u8 bytes = bytes_make();

	(void)state;
	for (size_t i = 0; i < bytes.count; i++) {
		/* What state and identity mean is for others to say. */
		if ((i >= 12 && i < 16) || (i >= 28 && i < 40))
			continue;
		bytes.items[i] ^= 0x41;
		assert_true(is_refused(bytes.items, bytes.count));
		bytes.items[i] ^= 0x41;
	}
	for (size_t size = 0; size < bytes.count; size++)
		assert_true(is_refused(bytes.items, size));
	vec_u8_deinit(&bytes);
}

static void checksum_set(struct vec_u8 *bytes)
{
	struct pack_header *header = (void *)bytes->items;

	header->checksum = hash_bytes(header + 1, bytes->count - sizeof(*header), 0);
}

/* A checksum is easily made right; nothing outside of the bytes is believed all the same. */
static void lies_with_a_right_checksum_are_refused(void **state)
{
	static const size_t offsets[] = {
		sizeof(struct pack_header) + offsetof(struct pack_place, address) + 1,
		sizeof(struct pack_header) + offsetof(struct pack_place, first),
		sizeof(struct pack_header) + offsetof(struct pack_place, count),
		sizeof(struct pack_header) + 2 * sizeof(struct pack_place) +
			offsetof(struct pack_frame, function),
		sizeof(struct pack_header) + 2 * sizeof(struct pack_place) +
			offsetof(struct pack_frame, file),
	};

	(void)state;
	for (size_t i = 0; i < array_size(offsets); i++) {
		struct vec_u8 bytes = bytes_make();

		bytes.items[offsets[i]] = 0xf0;
		checksum_set(&bytes);
		assert_true(is_refused(bytes.items, bytes.count));
		vec_u8_deinit(&bytes);
	}
	struct vec_u8 bytes = bytes_make();

	bytes.items[bytes.count - 1] = 'x'; /* the last text does not end */
	checksum_set(&bytes);
	assert_true(is_refused(bytes.items, bytes.count));
	vec_u8_deinit(&bytes);
}

static void objects_on_a_tape_are_found_by_path_and_build_id(void **state)
{
	struct pack_builder builder = { 0 };
	struct vec_u8 bytes = { 0 };
	struct embedded embedded;

	(void)state;
	builder_fill(&builder);
	assert_true(embedded_add(&bytes, "/usr/bin/a", (const uint8_t *)"id1", 3, SYMBOL_LINES,
				 &builder));
	assert_true(embedded_add(&bytes, "[jit]", NULL, 0, SYMBOL_NAMES, &builder));
	assert_null(embedded_view(bytes.items, bytes.count, &embedded));
	assert_non_null(embedded_find(&embedded, "/usr/bin/a", (const uint8_t *)"id1", 3));
	assert_null(embedded_find(&embedded, "/usr/bin/a", (const uint8_t *)"id2", 3));
	assert_null(embedded_find(&embedded, "/usr/bin/a", NULL, 0));
	assert_null(embedded_find(&embedded, "/usr/bin/ab", (const uint8_t *)"id1", 3));
	assert_non_null(pack_find(embedded_find(&embedded, "[jit]", NULL, 0), 0x1000));
	embedded_deinit(&embedded);
	for (size_t size = 1; size < bytes.count; size++) {
		struct err *err = embedded_view(bytes.items, size, &embedded);

		if (!err) /* between two objects */
			embedded_deinit(&embedded);
		err_destroy(err);
	}
	pack_builder_deinit(&builder);
	vec_u8_deinit(&bytes);
}

static const uint8_t ID[4] = { 0xab, 0xcd, 0xef, 0x01 };

static void cache_is_in(char *folder)
{
	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
}

/* When it was cleared; closes it. */
static void cache_is_gone(const char *folder, struct cache *cache)
{
	char path[4200];

	assert_int_equal(rmdir(cache_folder(cache)), 0);
	cache_close(cache);
	snprintf(path, sizeof(path), "%s/memtape", folder);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void what_was_stored_is_loaded_under_its_identity(void **state)
{
	char folder[] = "/tmp/memtape-unit-XXXXXX", path[4200];
	struct vec_u8 bytes = bytes_make();
	struct cache_facts facts;
	struct cache_file file;
	struct cache *cache;

	(void)state;
	cache_is_in(folder);
	assert_null(cache_open(&cache));
	assert_null(cache_facts_get(cache, &facts));
	assert_int_equal(facts.file_count, 0);
	assert_false(cache_load(cache, ID, sizeof(ID), 42, &file));
	assert_null(cache_store(cache, ID, sizeof(ID), 42, bytes.items, bytes.count));
	assert_true(cache_load(cache, ID, sizeof(ID), 42, &file));
	assert_non_null(pack_find(&file.pack, 0x2000));
	cache_unload(&file);
	assert_false(cache_load(cache, ID, sizeof(ID), 43, &file));
	/* The name says 44, the file says 42. */
	assert_null(cache_store(cache, ID, sizeof(ID), 44, bytes.items, bytes.count));
	assert_false(cache_load(cache, ID, sizeof(ID), 44, &file));
	snprintf(path, sizeof(path), "%s/abcdef01-000000000000002a.names", cache_folder(cache));
	assert_int_equal(truncate(path, 50), 0);
	assert_false(cache_load(cache, ID, sizeof(ID), 42, &file));
	assert_null(cache_clear(cache, &facts));
	assert_int_equal(facts.file_count, 2);
	assert_null(cache_facts_get(cache, &facts));
	assert_int_equal(facts.file_count, 0);
	cache_is_gone(folder, cache);
	vec_u8_deinit(&bytes);
}

/* One sparse file fills it; the file not used for longest goes first. */
static void a_cache_that_is_too_large_forgets_the_oldest(void **state)
{
	char folder[] = "/tmp/memtape-unit-XXXXXX", path[4200];
	const struct timespec past[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct vec_u8 bytes = bytes_make();
	struct cache_facts facts;
	struct cache_file file;
	struct cache *cache;
	int fd;

	(void)state;
	cache_is_in(folder);
	assert_null(cache_open(&cache));
	assert_null(cache_store(cache, ID, sizeof(ID), 42, bytes.items, bytes.count));
	snprintf(path, sizeof(path), "%s/large.names", cache_folder(cache));
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CACHE_BYTES_MAX), 0);
	assert_int_equal(futimens(fd, past), 0);
	close(fd);
	assert_null(cache_store(cache, NULL, 0, 42, bytes.items, bytes.count));
	assert_int_not_equal(access(path, F_OK), 0);
	assert_true(cache_load(cache, ID, sizeof(ID), 42, &file));
	cache_unload(&file);
	assert_true(cache_load(cache, NULL, 0, 42, &file));
	cache_unload(&file);
	assert_null(cache_clear(cache, &facts));
	cache_is_gone(folder, cache);
	vec_u8_deinit(&bytes);
}

static void paths_follow_the_first_rule_that_fits(void **state)
{
	struct arena arena = { 0 };
	struct path_map map = { 0 };
	const char *const *list;
	struct err *err;

	(void)state;
	assert_null(path_map_parse("/build/a=/src,/build/=/other/,/=/rest", &arena, &map));
	assert_int_equal(map.count, 3);
	assert_string_equal(path_map_apply(&map, "/build/a/x.c", &arena), "/src/x.c");
	assert_string_equal(path_map_apply(&map, "/build/a", &arena), "/src");
	assert_string_equal(path_map_apply(&map, "/build/ab", &arena), "/other/ab");
	assert_string_equal(path_map_apply(&map, "/x", &arena), "/rest/x");
	assert_string_equal(path_map_apply(&map, "x.c", &arena), "x.c");
	err = path_map_parse("/a", &arena, &map);
	assert_int_equal(err_code_of(err), ERR_USAGE);
	err_destroy(err);
	list = path_list_parse("/a/:/b", &arena);
	assert_string_equal(list[0], "/a");
	assert_string_equal(list[1], "/b");
	assert_null(list[2]);
	arena_deinit(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_found),
		cmocka_unit_test(bytes_that_changed_are_refused),
		cmocka_unit_test(lies_with_a_right_checksum_are_refused),
		cmocka_unit_test(objects_on_a_tape_are_found_by_path_and_build_id),
		cmocka_unit_test(what_was_stored_is_loaded_under_its_identity),
		cmocka_unit_test(a_cache_that_is_too_large_forgets_the_oldest),
		cmocka_unit_test(paths_follow_the_first_rule_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
