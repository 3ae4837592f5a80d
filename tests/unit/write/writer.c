#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "write/writer.h"

struct place {
	char directory[32];
	char path[64];
};

static void place_make(struct place *place)
{
	*place = (struct place) { .directory = "/tmp/memtape-writer-XXXXXX" };
	assert_non_null(mkdtemp(place->directory));
	str_format(place->path, sizeof(place->path), "%s/tape", place->directory);
}

static void place_remove(const struct place *place)
{
	unlink(place->path);
	assert_int_equal(rmdir(place->directory), 0);
}

static off_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static const struct tape_header header = { .magic = { 'M' } };

static void a_tape_never_published_is_removed(void **state)
{
	struct writer writer;
	struct place place;

	(void)state;
	place_make(&place);
	assert_null(writer_open(&writer, place.path, false));
	assert_null(writer_header(&writer, &header));
	writer_close(&writer);
	assert_int_equal(file_bytes(place.path), -1);
	place_remove(&place);
}

static void a_published_tape_ends_after_its_last_chunk(void **state)
{
	uint8_t chunk[1000] = { 1 };
	struct writer writer;
	struct place place;

	(void)state;
	place_make(&place);
	assert_null(writer_open(&writer, place.path, false));
	assert_null(writer_header(&writer, &header));
	assert_null(writer_append(&writer, chunk, sizeof(chunk), WRITER_NORMAL));
	assert_null(writer_append(&writer, chunk, sizeof(chunk), WRITER_CLOSING));
	assert_null(writer_publish(&writer));
	writer_close(&writer);
	assert_int_equal(file_bytes(place.path), TAPE_HEADER_BYTES + 2000);
	place_remove(&place);
}

static void the_old_tape_stays_until_the_new_one_is_published(void **state)
{
	struct writer writer;
	struct place place;
	int fd;

	(void)state;
	place_make(&place);
	fd = open(place.path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);
	assert_null(writer_open(&writer, place.path, true));
	assert_null(writer_header(&writer, &header));
	assert_int_equal(file_bytes(place.path), 3);
	writer_close(&writer);
	assert_int_equal(file_bytes(place.path), 3);
	assert_null(writer_open(&writer, place.path, true));
	assert_null(writer_header(&writer, &header));
	assert_null(writer_publish(&writer));
	writer_close(&writer);
	assert_int_equal(file_bytes(place.path), TAPE_HEADER_BYTES);
	place_remove(&place);
}

static void only_what_would_be_replaced_is_removed(void **state)
{
	struct writer writer;
	struct place place;

	(void)state;
	place_make(&place);
	for (int is_there = 0; is_there < 2; is_there++) {
		assert_null(writer_open(&writer, place.path, true));
		assert_null(writer_remove_old(&writer));
		assert_int_equal(file_bytes(place.path) < 0, is_there);
		assert_null(writer_header(&writer, &header));
		assert_null(writer_publish(&writer));
		assert_null(writer_remove_old(&writer));
		writer_close(&writer);
		assert_int_equal(file_bytes(place.path), TAPE_HEADER_BYTES);
	}
	place_remove(&place);
}

static void an_existing_file_is_not_opened_without_being_told_to(void **state)
{
	CLEAN(err_destroy) struct err *err = NULL;
	struct writer writer;
	struct place place;

	(void)state;
	place_make(&place);
	close(open(place.path, O_CREAT | O_WRONLY, 0600));
	err = writer_open(&writer, place.path, false);
	assert_non_null(err);
	assert_int_equal(err_errno_of(err), EEXIST);
	assert_int_equal(file_bytes(place.path), 0);
	place_remove(&place);
}

static void a_device_is_never_replaced(void **state)
{
	CLEAN(err_destroy) struct err *err = NULL;
	struct writer writer;

	(void)state;
	err = writer_open(&writer, "/dev/null", true);
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_STATE);
}

static void the_reserve_is_kept_for_closing(void **state)
{
	const struct rlimit limit = { .rlim_cur = TAPE_HEADER_BYTES + WRITER_RESERVE_BYTES + 1000,
				      .rlim_max = RLIM_INFINITY };
	CLEAN(err_destroy) struct err *err = NULL;
	uint8_t chunk[1000] = { 1 };
	struct writer writer;
	struct rlimit before;
	struct place place;

	(void)state;
	place_make(&place);
	getrlimit(RLIMIT_FSIZE, &before);
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_null(writer_open(&writer, place.path, false));
	assert_null(writer_append(&writer, chunk, sizeof(chunk), WRITER_NORMAL));
	err = writer_append(&writer, chunk, 1, WRITER_NORMAL);
	assert_non_null(err);
	assert_int_equal(err_errno_of(err), EFBIG);
	assert_null(writer_append(&writer, chunk, sizeof(chunk), WRITER_CLOSING));
	setrlimit(RLIMIT_FSIZE, &before);
	assert_null(writer_publish(&writer));
	writer_close(&writer);
	assert_int_equal(file_bytes(place.path), TAPE_HEADER_BYTES + 2000);
	place_remove(&place);
}

static void the_last_chunk_is_given_up_only_once(void **state)
{
	uint8_t chunk[1000] = { 1 };
	struct writer writer;
	struct place place;

	(void)state;
	place_make(&place);
	assert_null(writer_open(&writer, place.path, false));
	assert_false(writer_drop_last(&writer));
	assert_null(writer_append(&writer, chunk, sizeof(chunk), WRITER_NORMAL));
	assert_true(writer_drop_last(&writer));
	assert_false(writer_drop_last(&writer));
	assert_int_equal(writer.end, TAPE_HEADER_BYTES);
	writer_close(&writer);
	place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tape_never_published_is_removed),
		cmocka_unit_test(a_published_tape_ends_after_its_last_chunk),
		cmocka_unit_test(the_old_tape_stays_until_the_new_one_is_published),
		cmocka_unit_test(only_what_would_be_replaced_is_removed),
		cmocka_unit_test(an_existing_file_is_not_opened_without_being_told_to),
		cmocka_unit_test(a_device_is_never_replaced),
		cmocka_unit_test(the_reserve_is_kept_for_closing),
		cmocka_unit_test(the_last_chunk_is_given_up_only_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
