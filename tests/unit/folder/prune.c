/* What goes, and what stays. */
#include "made.h"

#include <sys/file.h>

#include "folder/prune.h"
#include "folder/remove.h"

static const struct keep_rules one = { KEEP_ALL, KEEP_ALL, 1 };

static struct prune_counts prune(const char *folder, const struct keep_rules *rules, bool dry)
{
	CLEAN(folder_close) struct folder read = { .count = 0 };

	assert_null(folder_read(folder, &read));
	return folder_prune(&read, rules, MADE_NOW_S * NS_PER_S, dry, NULL, NULL);
}

static void three_make(char *folder)
{
	assert_non_null(mkdtemp(folder));
	made_tape(folder, "a.mtape", 1, 9, sizeof(struct tape_header));
	made_tape(folder, "b.mtape", 2, 5, sizeof(struct tape_header));
	made_tape(folder, "c.mtape", 3, 1, sizeof(struct tape_header));
}

static void the_oldest_go_and_the_last_one_stays(void **state)
{
	const struct keep_rules week = { KEEP_ALL, 7 * DAY_S * NS_PER_S, KEEP_ALL };
	const struct keep_rules nothing = { 0, 0, 0 };
	char folder[] = MADE_FOLDER;
	struct prune_counts counts;

	(void)state;
	three_make(folder);
	counts = prune(folder, &week, true);
	assert_int_equal(counts.removed_count, 1);
	assert_true(made_exists(folder, "a.mtape"));
	counts = prune(folder, &week, false);
	assert_int_equal(counts.removed_count, 1);
	assert_int_equal(counts.kept_count, 2);
	assert_false(made_exists(folder, "a.mtape"));
	counts = prune(folder, &nothing, false);
	assert_int_equal(counts.kept_count, 1);
	assert_true(made_exists(folder, "c.mtape"));
	made_remove(folder);
}

static void a_tape_that_is_locked_stays(void **state)
{
	char folder[] = MADE_FOLDER;
	CLEAN(free) char *path = NULL;
	CLEAN(close) int fd = -1;
	struct prune_counts counts;

	(void)state;
	three_make(folder);
	path = made_path(folder, "a.mtape");
	fd = open(path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	counts = prune(folder, &one, false);
	assert_int_equal(counts.removed_count, 1);
	assert_int_equal(counts.in_use_count, 1);
	assert_int_equal(counts.failed_count, 0);
	assert_true(made_exists(folder, "a.mtape"));
	made_remove(folder);
}

static void a_file_that_took_the_name_of_one_is_not_removed_for_it(void **state)
{
	char folder[] = MADE_FOLDER;
	CLEAN(folder_close) struct folder read = { .count = 0 };
	CLEAN(free) char *from = NULL, *path = NULL;
	struct prune_counts counts;

	(void)state;
	three_make(folder);
	assert_null(folder_read(folder, &read));
	made_tape(folder, "next", 4, 0, sizeof(struct tape_header));
	from = made_path(folder, "next");
	path = made_path(folder, "a.mtape");
	assert_int_equal(rename(from, path), 0);
	counts = folder_prune(&read, &one, MADE_NOW_S * NS_PER_S, false, NULL, NULL);
	assert_int_equal(counts.removed_count, 1); /* b */
	assert_true(made_exists(folder, "a.mtape"));
	made_remove(folder);
}

static void a_link_that_took_the_name_of_one_stays(void **state)
{
	char folder[] = MADE_FOLDER;
	CLEAN(folder_close) struct folder read = { .count = 0 };
	CLEAN(free) char *path = NULL;
	CLEAN(err_destroy) struct err *err = NULL;

	(void)state;
	three_make(folder);
	assert_null(folder_read(folder, &read));
	path = made_path(folder, "a.mtape");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("c.mtape", path), 0);
	err = folder_tape_remove(&read.tapes[2], false);
	assert_non_null(err);
	assert_true(made_exists(folder, "a.mtape") && made_exists(folder, "c.mtape"));
	made_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_go_and_the_last_one_stays),
		cmocka_unit_test(a_tape_that_is_locked_stays),
		cmocka_unit_test(a_file_that_took_the_name_of_one_is_not_removed_for_it),
		cmocka_unit_test(a_link_that_took_the_name_of_one_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
