#include "../test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/feed.h"

enum { SLOT_BYTES = 64 << 10, USED = 24 };

/* A raw tape of which the recorder has counted `slots`, and of which the file has none yet. */
static int tape_make(uint32_t slots)
{
	struct tape_header header = { .magic = TAPE_MAGIC,
				      .header_bytes = TAPE_HEADER_BYTES,
				      .pid = 1 };
	struct tape_live live = { .next_slot = slots };
	const int fd = memfd_create("tape", MFD_CLOEXEC);

	header.chunk_bytes = SLOT_BYTES;
	memcpy(header.live, &live, sizeof(live));
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(ftruncate(fd, TAPE_HEADER_BYTES), 0);
	return fd;
}

static void slot_seal(int fd, uint32_t slot)
{
	const uint64_t at = TAPE_HEADER_BYTES + (uint64_t)slot * SLOT_BYTES;
	const struct tape_chunk head = { .magic = TAPE_CHUNK_MAGIC,
					 .header_bytes = sizeof(head),
					 .state = TAPE_CHUNK_SEALED,
					 .stream = slot + 1,
					 .used = USED };

	assert_int_equal(ftruncate(fd, (off_t)(at + SLOT_BYTES)), 0);
	assert_int_equal(pwrite(fd, &head, sizeof(head), (off_t)at), sizeof(head));
}

static struct feed *feed_make(int fd)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	assert_non_null(feed);
	assert_true(feed_init(feed, fd, NULL, 0));
	return feed;
}

static void feed_end(struct feed *feed)
{
	if (feed->chunks)
		munmap(feed->chunks, feed->chunk_room * sizeof(*feed->chunks));
	close(feed->fd);
	free(feed);
}

static void a_slot_without_a_place_in_the_file_is_none_yet(void **state)
{
	struct feed *feed = feed_make(tape_make(2));

	(void)state;
	assert_true(feed_look(feed, false));
	assert_int_equal(feed->chunk_count, 0);
	slot_seal(feed->fd, 0);
	assert_true(feed_look(feed, false));
	assert_int_equal(feed->chunk_count, 1);
	slot_seal(feed->fd, 1);
	assert_true(feed_look(feed, false));
	assert_int_equal(feed->chunk_count, 2);
	feed_end(feed);
}

static void the_end_is_sent_where_the_disk_had_no_room_for_a_slot(void **state)
{
	struct feed *feed = feed_make(tape_make(2));

	(void)state;
	slot_seal(feed->fd, 0);
	assert_true(feed_look(feed, true));
	assert_int_equal(feed->chunk_count, 2); /* and the losses */
	assert_int_equal(feed->chunks[1].slot, (uint32_t)FEED_SLOT_CLOSING);
	feed_end(feed);
}

static void what_cannot_be_read_is_said(void **state)
{
	struct feed *feed = feed_make(tape_make(1));

	(void)state;
	assert_int_equal(ftruncate(feed->fd, 0), 0);
	assert_false(feed_look(feed, false));
	feed_end(feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_without_a_place_in_the_file_is_none_yet),
		cmocka_unit_test(the_end_is_sent_where_the_disk_had_no_room_for_a_slot),
		cmocka_unit_test(what_cannot_be_read_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
