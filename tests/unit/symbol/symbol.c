/*
 * The program symbolizes itself: it is built with -g, and knows where its own functions are.
 */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <link.h>

#include "symbol/elf_file.h"
#include "symbol/symbol.h"

static uint64_t sink;

struct place {
	uint64_t pc;
	uint32_t line;
};

static __attribute__((noinline)) uint64_t return_address(void)
{
	__asm__ volatile("" ::: "memory");
	return (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) void inlined_leaf(struct place *place)
{
	place->pc = return_address();
	place->line = __LINE__ - 1;
	sink++;
}

static inline __attribute__((always_inline)) void inlined_middle(struct place *place)
{
	inlined_leaf(place);
	sink++;
}

static __attribute__((noinline)) void outer_function(struct place *place)
{
	inlined_middle(place);
	sink++;
}

static uint64_t own_bias;

static int bias_take(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	own_bias = info->dlpi_addr; /* the first is the program itself */
	return 1;
}

struct fixture {
	struct symbolizer *symbolizer;
	struct place place;
	char path[4096];
	struct elf_file *file;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	ssize_t len;

	assert_non_null(fixture);
	fixture->symbolizer = symbolizer_create(NULL);
	assert_non_null(fixture->symbolizer);
	len = readlink("/proc/self/exe", fixture->path, sizeof(fixture->path) - 1);
	assert_true(len > 0);
	assert_null(elf_file_open(fixture->path, &fixture->file));
	dl_iterate_phdr(bias_take, NULL);
	outer_function(&fixture->place);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	elf_file_close(fixture->file);
	symbolizer_destroy(fixture->symbolizer);
	free(fixture);
	return 0;
}

static struct symbol_frames frames_of(struct fixture *fixture, const uint8_t *id, size_t bytes,
				      uint32_t *object_ret)
{
	*object_ret = symbolizer_object(fixture->symbolizer, fixture->path, NULL, id, bytes);
	return symbolizer_frames(fixture->symbolizer, *object_ret,
				 fixture->place.pc - 1 - own_bias);
}

static void inlined_calls_are_frames_of_their_own(void **state)
{
	struct fixture *fixture = *state;
	uint32_t object;
	struct symbol_frames found =
		frames_of(fixture, fixture->file->build_id, fixture->file->build_id_bytes, &object);

	assert_int_equal(found.count, 3);
	assert_string_equal(found.frames[0].function, "inlined_leaf");
	assert_string_equal(found.frames[1].function, "inlined_middle");
	assert_string_equal(found.frames[2].function, "outer_function");
	assert_true(found.frames[0].is_inlined);
	assert_true(found.frames[1].is_inlined);
	assert_false(found.frames[2].is_inlined);
	assert_int_equal(found.frames[0].line, fixture->place.line);
	assert_non_null(strstr(found.frames[0].file, "symbol.c"));
	assert_true(found.frames[1].line > found.frames[0].line);
	assert_true(found.frames[2].line > found.frames[1].line);
	assert_string_equal(found.frames[0].module, fixture->path);
	assert_int_equal(symbolizer_object_state(fixture->symbolizer, object), SYMBOL_LINES);
}

static void one_address_is_looked_up_once(void **state)
{
	struct fixture *fixture = *state;
	uint32_t object, again;
	struct symbol_frames first = frames_of(fixture, NULL, 0, &object);
	struct symbol_frames second = frames_of(fixture, NULL, 0, &again);

	assert_int_equal(object, again);
	assert_ptr_equal(first.frames, second.frames);
}

static void a_file_that_changed_since_names_nothing(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t other[20] = { 1, 2, 3 };
	uint32_t object;
	struct symbol_frames found = frames_of(fixture, other, sizeof(other), &object);
	char expected[128];

	assert_int_equal(symbolizer_object_state(fixture->symbolizer, object), SYMBOL_STALE);
	assert_int_equal(found.count, 1);
	assert_false(found.frames[0].is_known);
	assert_null(found.frames[0].file);
	snprintf(expected, sizeof(expected), "0x%llx [%s+0x%llx]",
		 (unsigned long long)(fixture->place.pc - 1 - own_bias),
		 strrchr(fixture->path, '/') + 1,
		 (unsigned long long)(fixture->place.pc - 1 - own_bias));
	assert_string_equal(found.frames[0].function, expected);
}

static void a_file_that_is_gone_is_said_to_be(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t id[20] = { 9 };
	uint32_t object = symbolizer_object(fixture->symbolizer, "/nonexistent/libx.so.1", NULL, id,
					    sizeof(id));
	struct symbol_frames found = symbolizer_frames(fixture->symbolizer, object, 0x1234);

	assert_string_equal(found.frames[0].function, "0x1234 [libx.so.1+0x1234]");
	assert_int_equal(symbolizer_object_state(fixture->symbolizer, object), SYMBOL_MISSING);
}

static void what_is_no_file_is_not_looked_for(void **state)
{
	struct fixture *fixture = *state;
	uint32_t object = symbolizer_object(fixture->symbolizer, "[vdso]", NULL, NULL, 0);
	struct symbol_frames found = symbolizer_frames(fixture->symbolizer, object, 0x10);

	assert_false(found.frames[0].is_known);
	assert_int_equal(symbolizer_object_state(fixture->symbolizer, object), SYMBOL_VIRTUAL);
}

static void a_text_file_is_no_object(void **state)
{
	struct elf_file *file = NULL;
	struct err *err = elf_file_open("/etc/passwd", &file);

	(void)state;
	assert_int_equal(err_code_of(err), ERR_FORMAT);
	err_destroy(err);
	assert_null(file);
}

/* Torn anywhere in its head or its tables an object gives an error or fewer names, no crash. */
static void a_torn_object_is_survived(void **state)
{
	struct fixture *fixture = *state;
	char path[] = "/tmp/memtape-unit-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, fixture->file->bytes, fixture->file->size), fixture->file->size);
	for (size_t step = 0; step < 64; step++) {
		const size_t size =
			step < 32 ? 96 - step * 3 : fixture->file->size - (step - 32) * 997;
		struct symbolizer *symbolizer = symbolizer_create(NULL);
		uint32_t object;

		if (step == 32)
			assert_int_equal(pwrite(fd, fixture->file->bytes, fixture->file->size, 0),
					 fixture->file->size);
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		object = symbolizer_object(symbolizer, path, NULL, NULL, 0);
		assert_non_null(symbolizer_frames(symbolizer, object, 0x1234).frames);
		symbolizer_destroy(symbolizer);
	}
	close(fd);
	unlink(path);
}

enum { LOADED_MAX = 16, ADDRESSES = 200 };

struct loaded {
	char paths[LOADED_MAX][256];
	size_t count;
};

static int path_take(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *loaded = context;

	(void)size;
	if (info->dlpi_name[0] == '/' && loaded->count < LOADED_MAX)
		snprintf(loaded->paths[loaded->count++], sizeof(loaded->paths[0]), "%s",
			 info->dlpi_name);
	return 0;
}

static struct symbolizer *with_all_loaded(const struct loaded *loaded)
{
	/* More than there may be processors: so that they meet. */
	struct symbolizer *symbolizer =
		symbolizer_create(&(struct symbol_options) { .thread_count = 8 });

	assert_non_null(symbolizer);
	for (size_t i = 0; i < loaded->count; i++)
		assert_int_equal(symbolizer_object(symbolizer, loaded->paths[i], NULL, NULL, 0), i);
	return symbolizer;
}

static void assert_same_frames(struct symbol_frames a, struct symbol_frames b)
{
	assert_int_equal(a.count, b.count);
	for (size_t i = 0; i < a.count; i++) {
		assert_string_equal(a.frames[i].function, b.frames[i].function);
		assert_int_equal(a.frames[i].line, b.frames[i].line);
		assert_int_equal(a.frames[i].is_known, b.frames[i].is_known);
	}
}

static void objects_side_by_side_are_as_one_after_the_other(void **state)
{
	struct loaded loaded = { .count = 0 };
	struct symbolizer *many, *one;
	struct symbol_request *requests;
	size_t count = 0;

	(void)state;
	dl_iterate_phdr(path_take, &loaded);
	assert_true(loaded.count >= 2);
	many = with_all_loaded(&loaded);
	one = with_all_loaded(&loaded);
	requests = calloc(loaded.count * ADDRESSES, sizeof(*requests));
	assert_non_null(requests);
	for (uint64_t at = 0; at < ADDRESSES; at++) {
		for (uint32_t object = 0; object < loaded.count; object++)
			requests[count++] = (struct symbol_request) { 0x1000 + at * 0x321, object };
	}
	symbolizer_resolve(many, requests, count);
	for (size_t i = 0; i < count; i++)
		assert_same_frames(symbolizer_frames(many, requests[i].object, requests[i].address),
				   symbolizer_frames(one, requests[i].object, requests[i].address));
	free(requests);
	symbolizer_destroy(many);
	symbolizer_destroy(one);
}

static void what_is_in_the_cache_is_as_it_was(void **state)
{
	struct fixture *fixture = *state;
	char folder[] = "/tmp/memtape-unit-XXXXXX", path[64];
	struct symbol_frames first, again;
	struct symbolizer *later;
	struct cache *cache;
	struct cache_facts facts;
	uint32_t object;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
	assert_null(cache_open(&cache));
	first = frames_of(fixture, NULL, 0, &object);
	for (int round = 0; round < 3; round++) {
		later = symbolizer_create(&(struct symbol_options) { .cache = cache });
		assert_non_null(later);
		object = symbolizer_object(later, fixture->path, NULL, NULL, 0);
		assert_int_equal(symbolizer_source(later, object).cached_count, round > 0);
		again = symbolizer_frames(later, object, fixture->place.pc - 1 - own_bias);
		assert_same_frames(first, again);
		assert_string_equal(first.frames[0].file, again.frames[0].file);
		assert_int_equal(symbolizer_object_state(later, object), SYMBOL_LINES);
		symbolizer_destroy(later);
	}
	assert_null(cache_clear(cache, &facts));
	assert_int_equal(facts.file_count, 1);
	assert_int_equal(rmdir(cache_folder(cache)), 0);
	cache_close(cache);
	snprintf(path, sizeof(path), "%s/memtape", folder);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

struct shelf {
	int unused;
};
struct shelf own_shelf, *own_shelves[3];
const char *const *own_words;
int (*own_function)(void);

static void a_variable_has_its_type_and_line(void **state)
{
	static struct shelf **inner;
	const struct {
		const void *address;
		const char *type;
	} cases[] = {
		{ &own_shelf, "struct shelf" },
		{ own_shelves, "struct shelf *[3]" },
		{ &own_words, "char const * const *" },
		{ &own_function, "(function) *" },
		{ &sink, "uint64_t" },
		{ &inner, "struct shelf **" },
	};
	struct fixture *fixture = *state;
	const uint32_t object =
		symbolizer_object(fixture->symbolizer, fixture->path, NULL, NULL, 0);
	struct symbol_variable found;

	sink += inner != NULL;
	for (size_t i = 0; i < array_size(cases); i++) {
		found = symbolizer_variable(fixture->symbolizer, object,
					    (uintptr_t)cases[i].address - own_bias);
		assert_string_equal(found.type, cases[i].type);
		assert_non_null(strstr(found.file, "symbol.c"));
		assert_true(found.line > 0 && found.line < __LINE__);
	}
	found = symbolizer_variable(fixture->symbolizer, object,
				    (uintptr_t)&own_shelves[1] - own_bias);
	assert_null(found.type); /* not where it begins */
	assert_null(symbolizer_variable(fixture->symbolizer, object + 1, 0).type);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inlined_calls_are_frames_of_their_own),
		TEST(one_address_is_looked_up_once),
		TEST(a_file_that_changed_since_names_nothing),
		TEST(a_file_that_is_gone_is_said_to_be),
		TEST(what_is_no_file_is_not_looked_for),
		TEST(a_text_file_is_no_object),
		TEST(a_torn_object_is_survived),
		TEST(objects_side_by_side_are_as_one_after_the_other),
		TEST(what_is_in_the_cache_is_as_it_was),
		TEST(a_variable_has_its_type_and_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
