/* Events of several threads come a little out of their order: what a rotation leaves is whole anyway. */
#include "../test.h"

#include <sys/mman.h>
#include <unistd.h>

#include "../tape_writer.h"
#include "capture/pack.h"
#include "capture/rotate.h"

enum {
	CHUNK_BYTES = 16 << 10,
	FILLERS = 20000, /* of a stream: several chunks, of which nearly nothing is left */
	BEGIN = WRITER_START_TICKS + FILLERS * 10,
	ADDRESS = 0x7000
};

struct fixture {
	struct writer writer;
	struct rotated rotated;
	unsigned alloc_count, free_count; /* of the address, that are left */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	writer_init(&fixture->writer, CHUNK_BYTES);
	for (uint64_t i = 0; i < FILLERS; i++)
		for (unsigned stream = 1; stream < 3; stream++)
			writer_event(&fixture->writer, stream,
				     i % 2 ? TAPE_FN_FREE : TAPE_FN_MALLOC,
				     WRITER_START_TICKS + i * 10, 0x1000 * stream, 10, 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	writer_deinit(&fixture->writer);
	free(fixture);
	return 0;
}

static struct err *count(void *context, const struct capture_event *events, size_t event_count)
{
	struct fixture *fixture = context;

	for (size_t i = 0; i < event_count; i++) {
		fixture->alloc_count +=
			events[i].fn == TAPE_FN_MALLOC && events[i].address == ADDRESS;
		fixture->free_count += events[i].fn == TAPE_FN_FREE && events[i].address == ADDRESS;
	}
	return NULL;
}

/* All of it is old. */
static void rotate(struct fixture *fixture, uint64_t settled_ticks)
{
	const struct rotate_settings settings = { .kept_from = UINT64_MAX,
						  .settled_ticks = settled_ticks,
						  .bytes_max = UINT64_MAX,
						  .level = 1 };
	const struct capture_player player = { count, fixture, 1 };
	const int fd = memfd_create("rotated", MFD_CLOEXEC);
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks = { 0 };
	struct capture *capture = NULL;
	struct capture_repacked repacked;
	struct capture_played played;
	char raw[64], path[80];

	writer_path(raw);
	writer_save(&fixture->writer, raw);
	snprintf(path, sizeof(path), "%s.packed", raw);
	assert_null(capture_repack(raw, path, 1, &repacked));
	unlink(raw);
	assert_null(capture_open(path, &capture));
	assert_null(rotate_tape(capture, fd, &settings, &fixture->rotated));
	capture_destroy(capture);
	unlink(path);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_null(capture_open(path, &capture));
	assert_true(capture_stacks_init(&stacks));
	assert_null(capture_play(capture, &stacks, &player, &played));
	assert_int_equal(fixture->rotated.event_count, played.event_count);
	assert_in_range(fixture->rotated.sums.allocated_count, FILLERS - 10, FILLERS + 10);
	capture_destroy(capture);
	close(fd);
}

static void event(struct fixture *fixture, unsigned stream, enum tape_fn fn, uint64_t ticks)
{
	writer_event(&fixture->writer, stream, fn, BEGIN + ticks, ADDRESS, 100, 0);
}

/* Its allocation may still come when it is played, so the free is kept; then the block is, too. */
static void a_free_before_its_allocation(void **state)
{
	struct fixture *fixture = *state;

	event(fixture, 2, TAPE_FN_FREE, 100);
	event(fixture, 1, TAPE_FN_MALLOC, 105);
	rotate(fixture, 0);
	assert_int_equal(fixture->alloc_count, 1);
	assert_int_equal(fixture->free_count, 1);
	assert_int_equal(fixture->rotated.sums.unknown_free_count, 0);
}

static void the_same_of_a_time_that_is_settled(void **state)
{
	struct fixture *fixture = *state;

	event(fixture, 2, TAPE_FN_FREE, 100);
	event(fixture, 1, TAPE_FN_MALLOC, 105);
	rotate(fixture, UINT64_MAX);
	assert_int_equal(fixture->alloc_count, 0);
	assert_int_equal(fixture->free_count, 0);
	assert_int_equal(fixture->rotated.sums.unknown_free_count, 0);
}

/* The free between them may be where the rotation does not see it yet. */
static void an_address_that_is_used_again(void **state)
{
	struct fixture *fixture = *state;

	event(fixture, 1, TAPE_FN_MALLOC, 100);
	event(fixture, 2, TAPE_FN_MALLOC, 50000);
	rotate(fixture, 0);
	assert_int_equal(fixture->alloc_count, 2);
	assert_int_equal(fixture->rotated.sums.lost_free_count, 0);
}

static void the_same_where_no_free_can_come(void **state)
{
	struct fixture *fixture = *state;

	event(fixture, 1, TAPE_FN_MALLOC, 100);
	event(fixture, 2, TAPE_FN_MALLOC, 50000);
	rotate(fixture, UINT64_MAX);
	assert_int_equal(fixture->alloc_count, 1);
	assert_int_equal(fixture->rotated.sums.lost_free_count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_free_before_its_allocation),
		TEST(the_same_of_a_time_that_is_settled),
		TEST(an_address_that_is_used_again),
		TEST(the_same_where_no_free_can_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
