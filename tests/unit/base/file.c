#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

static char folder[] = "/tmp/memtape-file-XXXXXX";
static const struct file_trust us = { .owner = 0, .bytes_max = 100 };

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static unsigned mode_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_mode & 0777;
}

static void what_is_made_is_for_its_owner_alone(void **state)
{
	CLEAN(free) char *name = NULL;
	const mode_t mask = umask(0);
	int fds[3] = { file_create(path_of("new")), file_replace(path_of("other")), -1 };

	(void)state;
	assert_null(file_create_temporary(path_of("stem"), &name, &fds[2]));
	umask(mask);
	for (size_t i = 0; i < 3; i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(mode_of(fds[i]), 0600);
		close(fds[i]);
	}
	assert_int_equal(file_create(path_of("new")), -1);
	assert_int_equal(errno, EEXIST);
	unlink(name);
}

static void what_has_no_name_is_in_no_folder(void **state)
{
	const int fds[2] = { file_create_unnamed(folder), file_create_in_memory("memory") };
	struct stat status;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(fstat(fds[i], &status), 0);
		assert_int_equal(status.st_nlink, 0);
		assert_int_equal(write(fds[i], "text", 4), 4);
		assert_int_equal(ftruncate(fds[i], 4096), 0);
		close(fds[i]);
	}
	assert_int_equal(file_create_unnamed(path_of("missing")), -1);
	assert_int_equal(errno, ENOENT);
}

static void nothing_is_made_where_a_link_leads(void **state)
{
	char target[64];

	(void)state;
	snprintf(target, sizeof(target), "%s/elsewhere", folder);
	assert_int_equal(symlink(target, path_of("link")), 0);
	assert_int_equal(file_create(path_of("link")), -1);
	assert_int_equal(access(target, F_OK), -1);
}

static enum err_code refusal(const char *name, const struct file_trust *trust)
{
	uint64_t bytes;
	int fd = -1;
	struct err *err = file_open_trusted(path_of(name), trust, &fd, &bytes);
	const enum err_code code = err ? err_code_of(err) : 0;

	if (fd >= 0)
		close(fd);
	err_destroy(err);
	return code;
}

static void what_is_looked_for_is_plain_small_and_young(void **state)
{
	struct file_trust trust = us;
	const int fd = file_create(path_of("plain"));

	(void)state;
	assert_int_equal(write(fd, "0123456789", 10), 10);
	close(fd);
	assert_int_equal(refusal("plain", &trust), 0);
	trust.bytes_max = 9;
	assert_int_equal(refusal("plain", &trust), ERR_LIMIT);
	trust = us;
	trust.since_s = UINT64_C(1) << 40;
	assert_int_equal(refusal("plain", &trust), ERR_STATE);
	assert_int_equal(symlink("plain", path_of("to-plain")), 0);
	assert_int_equal(refusal("to-plain", &us), ERR_SYSTEM);
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_int_equal(refusal("pipe", &us), ERR_FORMAT);
	assert_int_equal(refusal("none", &us), ERR_SYSTEM);
}

/* Only root can give a file away. */
static void what_is_another_users_is_not_believed(void **state)
{
	struct file_trust trust = us;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	fd = file_create(path_of("theirs"));
	assert_int_equal(fchown(fd, 12345, 12345), 0);
	close(fd);
	assert_int_equal(refusal("theirs", &trust), ERR_STATE);
	trust.owner = 12345;
	assert_int_equal(refusal("theirs", &trust), 0);
}

static void a_file_that_shrinks_is_read_as_far_as_it_goes(void **state)
{
	const int fd = file_create(path_of("shrinks"));
	char buf[10];

	(void)state;
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(file_read_at(fd, buf, 10, 0), 10);
	assert_int_equal(ftruncate(fd, 3), 0);
	assert_int_equal(file_read_at(fd, buf, 10, 0), 3);
	assert_int_equal(file_read_at(fd, buf, 10, 5), 0);
	close(fd);
}

static void a_file_is_mapped_to_be_read(void **state)
{
	const uint64_t high = UINT64_C(1) << 32;
	const int fd = file_create(path_of("mapped"));
	const char *map;

	(void)state;
	assert_int_equal(pwrite(fd, "seven", 5, 0), 5);
	map = file_map(fd, 5, MAP_PRIVATE);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_memory_equal(map, "seven", 5);
	munmap((void *)(uintptr_t)map, 5);
	assert_int_equal(ftruncate(fd, (off_t)(high + 5)),
			 0); /* with a hole, which takes no room */
	map = file_map(fd, high + 5, MAP_PRIVATE);
	if (SIZE_MAX < high) {
		assert_ptr_equal(map, MAP_FAILED);
		assert_int_equal(errno, EFBIG);
	} else {
		assert_ptr_not_equal(map, MAP_FAILED);
		assert_int_equal(map[high], 0);
		munmap((void *)(uintptr_t)map, (size_t)(high + 5));
	}
	close(fd);
}

static void who_looks_whether_it_is_locked_keeps_nobody_from_locking(void **state)
{
	const int fd = file_create(path_of("locked")), other = open(path_of("locked"), O_RDWR);
	const struct timespec while_looked = { .tv_nsec = 30 * 1000000 };
	pid_t child;

	(void)state;
	assert_false(file_is_locked(other));
	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
	child = fork();
	if (child == 0) {
		nanosleep(&while_looked, NULL);
		flock(other, LOCK_UN); /* the lock is of the open file, which both have */
		_exit(0);
	}
	assert_true(file_lock(fd));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(file_is_locked(other));
	assert_false(file_lock(other));
	close(fd);
	assert_false(file_is_locked(other));
	assert_true(file_lock(other));
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_made_is_for_its_owner_alone),
		cmocka_unit_test(what_has_no_name_is_in_no_folder),
		cmocka_unit_test(nothing_is_made_where_a_link_leads),
		cmocka_unit_test(what_is_looked_for_is_plain_small_and_young),
		cmocka_unit_test(what_is_another_users_is_not_believed),
		cmocka_unit_test(a_file_that_shrinks_is_read_as_far_as_it_goes),
		cmocka_unit_test(a_file_is_mapped_to_be_read),
		cmocka_unit_test(who_looks_whether_it_is_locked_keeps_nobody_from_locking),
	};
	char command[64];
	int rc;

	if (!mkdtemp(folder))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) == 0 ? rc : 1;
}
