/* What a served tape is: recorded still, or cut off. */
#include "../test.h"

#include <sys/stat.h>

#include "../tape_writer.h"
#include "http/tapes_state.h"

enum { CHUNK_BYTES = TAPE_CHUNK_BYTES_MIN };

static void make_old(const char *path)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

/* A reading asks whose functions are: in the middle of it, another chunk comes. */
static struct err *grow(const void *context, const char *path, struct arena *arena,
			struct role_rules *rules)
{
	const bool *grows = context;

	(void)arena;
	(void)rules;
	if (!*grows)
		return NULL;
	assert_int_equal(truncate(path, 3 * CHUNK_BYTES), 0);
	make_old(path);
	return NULL;
}

/* Only what rests can be freed. */
static void wait_idle(struct tapes *tapes)
{
	bool is_idle = false;

	for (tapes_stop(tapes); !is_idle; usleep(1000)) {
		pthread_mutex_lock(&tapes->lock);
		is_idle = tapes->is_idle;
		pthread_mutex_unlock(&tapes->lock);
	}
}

/* Whether a tape without an end is live after a reading during which it grew, or did not. */
static bool is_live(bool grows)
{
	const struct sweep_limits limits = { 0 };
	char path[64];
	struct tape_source source = {
		.path = path, .leaves_no_index = true, .rules = grow, .rules_context = &grows
	};
	struct loaded *loaded = NULL;
	struct tapes *tapes = NULL;
	struct writer writer;
	bool live;

	writer_path(path);
	writer_init(&writer, CHUNK_BYTES);
	writer_event(&writer, 0, TAPE_FN_MALLOC, WRITER_START_TICKS + 1, 0x1000, 16, 0);
	writer_save(&writer, path);
	writer_deinit(&writer);
	make_old(path);
	assert_null(tapes_create(&source, 1, &tapes));
	assert_null(tapes_acquire(tapes_first(tapes), 0, &limits, &loaded));
	live = loaded->gen != 0;
	tapes_release(loaded);
	wait_idle(tapes);
	assert_true(tapes_destroy(tapes));
	unlink(path);
	return live;
}

static void what_has_no_end_is_cut_off(void **state)
{
	(void)state;
	assert_false(is_live(false));
}

static void what_grows_while_it_is_read_is_live(void **state)
{
	(void)state;
	assert_true(is_live(true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_end_is_cut_off),
		cmocka_unit_test(what_grows_while_it_is_read_is_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
