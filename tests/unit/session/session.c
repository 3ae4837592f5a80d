/* Who is whose child, by headers of tapes alone. */
#include "../test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "session/session.h"

struct made {
	const char *file;
	uint32_t pid, parent_pid, flags;
	uint8_t uuid, parent_uuid;
	uint64_t begin_ns;
	size_t bytes;
};

static void file_write(const char *folder, const char *name, const void *bytes, size_t count,
		       size_t all)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(close) int fd = -1;

	str_printf(&path, "%s/%s", folder, name);
	fd = open(path.ptr, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	assert_int_equal(ftruncate(fd, (off_t)all), 0);
}

static void tape_write(const char *folder, const struct made *made)
{
	struct tape_header header = { .magic = { 'M', 'E', 'M', 'T', 'A', 'P', 'E', '\n' },
				      .version = TAPE_VERSION,
				      .header_bytes = TAPE_HEADER_BYTES,
				      .kind = TAPE_KIND_PACKED,
				      .pid = made->pid,
				      .parent_pid = made->parent_pid,
				      .flags = made->flags,
				      .start_monotonic_ns = made->begin_ns };

	header.uuid[0] = made->uuid;
	header.parent_uuid[0] = made->parent_uuid;
	file_write(folder, made->file, &header, sizeof(header),
		   made->bytes ? made->bytes : TAPE_HEADER_BYTES);
}

static void folder_remove(const char *folder)
{
	CLEAN(str_deinit) struct str command = { 0 };

	str_printf(&command, "rm -r '%s'", folder);
	assert_int_equal(system(command.ptr), 0);
}

static const char manifest[] = "{\"memtape_session\":1}\n{\"tape\":\"gone.9.mtape\"}\n";

static void parents_are_found_by_uuid_by_exec_and_by_number(void **state)
{
	/* In no order; 20 is a number that two processes had. */
	static const struct made rows[] = {
		{ "root.10.mtape", 10, 1, 0, 1, 0, 100, 0 },
		{ "fork.20.mtape", 20, 10, TAPE_FLAG_FORKED, 2, 1, 200, 0 },
		{ "exec.20.mtape", 20, 10, 0, 3, 0, 250, 0 },
		{ "child.30.mtape", 30, 20, 0, 4, 0, 300, 0 },
		{ "orphan.40.mtape", 40, 1, TAPE_FLAG_FORKED, 5, 3, 310, 0 },
		{ "stranger.50.mtape", 50, 99, 0, 6, 0, 320, 0 },
	};
	static const struct {
		size_t parent;
		enum tape_member_start start;
	} wanted[] = {
		{ SIZE_MAX, TAPE_MEMBER_STARTED }, { 0, TAPE_MEMBER_FORKED },
		{ 1, TAPE_MEMBER_EXEC },	   { 2, TAPE_MEMBER_STARTED },
		{ 2, TAPE_MEMBER_FORKED },	   { SIZE_MAX, TAPE_MEMBER_STARTED },
	};
	char folder[] = "/tmp/memtape-unit-XXXXXX";
	CLEAN(session_close) struct session session = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_false(session_is(folder));
	file_write(folder, TAPE_SESSION_MANIFEST, manifest, strlen(manifest), strlen(manifest));
	for (size_t i = array_size(rows); i-- > 0;)
		tape_write(folder, &rows[i]);
	file_write(folder, "no.mtape", "no", 2, 2);
	assert_true(session_is(folder));
	assert_null(session_open(folder, &session));
	assert_int_equal(session.count, array_size(rows));
	assert_int_equal(session.missing_count, 1);
	for (size_t i = 0; i < session.count; i++) {
		assert_string_equal(session.members[i].file, rows[i].file);
		assert_int_equal(session.members[i].parent, wanted[i].parent);
		assert_int_equal(session.members[i].start, wanted[i].start);
	}
	folder_remove(folder);
}

static void of_copies_of_a_tape_the_longest_counts(void **state)
{
	static const struct made rows[] = {
		{ "a.1.mtape", 1, 0, 0, 1, 0, 100, 9000 },
		{ "a.1-1.mtape", 1, 0, 0, 1, 0, 100, 5000 },
	};
	char folder[] = "/tmp/memtape-unit-XXXXXX";
	CLEAN(session_close) struct session session = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	file_write(folder, TAPE_SESSION_MANIFEST, manifest, strlen(manifest), strlen(manifest));
	for (size_t i = 0; i < array_size(rows); i++)
		tape_write(folder, &rows[i]);
	assert_null(session_open(folder, &session));
	assert_int_equal(session.count, 1);
	assert_string_equal(session.members[0].file, "a.1.mtape");
	folder_remove(folder);
}

static void a_folder_without_tapes_is_an_error(void **state)
{
	char folder[] = "/tmp/memtape-unit-XXXXXX";
	CLEAN(session_close) struct session session = { 0 };
	CLEAN(err_destroy) struct err *err = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	file_write(folder, TAPE_SESSION_MANIFEST, manifest, strlen(manifest), strlen(manifest));
	err = session_open(folder, &session);
	assert_non_null(err);
	assert_non_null(strstr(err_message(err), "has no tapes"));
	folder_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parents_are_found_by_uuid_by_exec_and_by_number),
		cmocka_unit_test(of_copies_of_a_tape_the_longest_counts),
		cmocka_unit_test(a_folder_without_tapes_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
