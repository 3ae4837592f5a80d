/* Which files of a folder are tapes, and in which order. */
#include "made.h"

static void the_last_one_written_comes_first_and_other_files_are_not_there(void **state)
{
	char folder[] = MADE_FOLDER;
	CLEAN(folder_close) struct folder read = { .count = 0 };
	CLEAN(free) char *text = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	made_tape(folder, "old.mtape", 1, 9, sizeof(struct tape_header));
	made_tape(folder, "new.mtape", 2, 1, sizeof(struct tape_header));
	made_tape(folder, ".hidden.mtape", 3, 1, sizeof(struct tape_header));
	made_tape(folder, "other.tape", 3, 1, sizeof(struct tape_header));
	made_tape(folder, "empty.mtape", 3, 1, 0);
	text = made_path(folder, "folder.mtape");
	assert_int_equal(mkdir(text, 0700), 0);
	assert_null(folder_read(folder, &read));
	assert_int_equal(read.count, 2);
	assert_string_equal(read.tapes[0].file, "new.mtape");
	assert_string_equal(read.tapes[1].file, "old.mtape");
	assert_string_equal(read.tapes[1].id, "01000000000000000000000000000000");
	assert_int_equal(read.tapes[1].pid, 42);
	assert_false(read.tapes[0].is_live || read.tapes[0].is_link);
	made_remove(folder);
}

static void links_and_what_is_cut_off_are_marked(void **state)
{
	char folder[] = MADE_FOLDER;
	CLEAN(folder_close) struct folder read = { .count = 0 };
	CLEAN(free) char *link = NULL, *loop = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	made_tape(folder, "a.mtape", 1, 9, sizeof(struct tape_header));
	made_tape(folder, "b.mtape", 1, 8, 100);
	link = made_path(folder, "c.mtape");
	loop = made_path(folder, "d.mtape");
	assert_int_equal(symlink("a.mtape", link), 0);
	assert_int_equal(symlink("d.mtape", loop), 0);
	assert_null(folder_read(folder, &read));
	assert_int_equal(read.count, 3);
	for (size_t i = 0; i < read.count; i++) {
		const char name = read.tapes[i].file[0];

		assert_int_equal(read.tapes[i].is_link, name == 'c');
		assert_int_equal(read.tapes[i].kind, name == 'b' ? FOLDER_UNREADABLE : FOLDER_TAPE);
		assert_int_equal(read.tapes[i].trouble != NULL, name == 'b');
	}
	made_remove(folder);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
	CLEAN(folder_close) struct folder read = { .count = 0 };
	CLEAN(err_destroy) struct err *err = folder_read("/tmp/memtape-unit-nowhere", &read);

	(void)state;
	assert_non_null(err);
	assert_int_equal(read.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_one_written_comes_first_and_other_files_are_not_there),
		cmocka_unit_test(links_and_what_is_cut_off_are_marked),
		cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
