/* A folder that is looked at again and again. */
#include "made.h"

#include <time.h>

#include "folder/gists.h"

enum { PATIENCE_MS = 60000, PAUSE_MS = 20 };

static void pause_ms(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	nanosleep(&pause, NULL);
}

/* Until the only tape has been read; whether that failed. */
static bool has_trouble(struct gists *gists)
{
	for (int ms = 0; ms < PATIENCE_MS; ms += PAUSE_MS, pause_ms()) {
		CLEAN(gists_release) struct gists_view view = { .count = 0 };

		assert_null(gists_look(gists, &view));
		assert_int_equal(view.count, 1);
		if (view.rows[0].trouble)
			return true;
		if (view.rows[0].gist && view.rows[0].gist->depth == GIST_WHOLE)
			return false;
	}
	fail();
	return true;
}

static void a_gist_that_failed_is_tried_again_when_the_file_changed(void **state)
{
	char folder[] = MADE_FOLDER;
	struct gists *gists = NULL;
	int ms = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	made_tape(folder, "a.mtape", 1, 9, 100);
	assert_null(gists_create(folder, &gists));
	assert_true(has_trouble(gists));
	made_tape(folder, "a.mtape", 1, 8, sizeof(struct tape_header));
	for (; ms < PATIENCE_MS && has_trouble(gists); ms += PAUSE_MS)
		pause_ms();
	assert_true(ms < PATIENCE_MS);
	assert_true(gists_destroy(gists));
	made_remove(folder);
}

static void a_view_is_valid_whatever_becomes_of_the_folder(void **state)
{
	char folder[] = MADE_FOLDER;
	CLEAN(gists_release) struct gists_view view = { .count = 0 }, later = { .count = 0 };
	struct gists *gists = NULL;
	int ms = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	made_tape(folder, "a.mtape", 1, 9, 100);
	assert_null(gists_create(folder, &gists));
	assert_null(gists_look(gists, &view));
	made_tape(folder, "b.mtape", 1, 8, 100);
	for (; ms < PATIENCE_MS && later.count < 2; ms += PAUSE_MS) {
		gists_release(&later);
		assert_null(gists_look(gists, &later));
		pause_ms();
	}
	assert_int_equal(later.count, 2);
	assert_int_equal(view.count, 1);
	assert_string_equal(view.rows[0].tape->file, "a.mtape");
	gists_release(&view);
	gists_release(&later);
	assert_true(gists_destroy(gists));
	made_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gist_that_failed_is_tried_again_when_the_file_changed),
		cmocka_unit_test(a_view_is_valid_whatever_becomes_of_the_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
