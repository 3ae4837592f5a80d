#include "base/monotonic.h"
#include "http/tapes_state.h"

#include <assert.h>
#include <sys/stat.h>
#include <time.h>

enum {
	WAIT_MS = 1000,	     /* for a tape being read */
	NAMES_WAIT_MS = 100, /* between checks of the limits while names are found */
	SETTLE_MS = 2000,    /* for rereading changed tapes */
	SETTLE_WAIT_MS = 10,
	READ_PART = 3 /* reading a live tape takes at most 1 / READ_PART of the time */
};
static const uint64_t HELD_NS = 600 * UINT64_C(1000000000); /* without being used */

bool tape_was_written_in(const struct tape *tape, int seconds)
{
	struct stat status;

	return stat(tape->source->path, &status) == 0 &&
	       time(NULL) - status.st_mtim.tv_sec < seconds;
}

uint64_t tape_file_size(const struct tape *tape)
{
	struct stat status;

	return stat(tape->source->path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

struct loaded *loaded_put_locked(struct loaded *loaded)
{
	assert(!loaded || loaded->refs > 0);
	return loaded && --loaded->refs == 0 ? loaded : NULL;
}

static void wait_ms(struct tapes *tapes, uint64_t ms)
{
	const uint64_t until = monotonic_ns() + ms * 1000000;
	const struct timespec time = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	pthread_cond_timedwait(&tapes->changed, &tapes->lock, &time);
}

static struct err *failure_copy(const struct err *err)
{
	return err_new(err_code_of(err) == ERR_USAGE ? ERR_FORMAT : err_code_of(err), "%s",
		       err_message(err));
}

static uint64_t period_ns(const struct tape *tape)
{
	return u64_max(tape->tapes->period_ns, READ_PART * tape->read_ns);
}

void tapes_set_period(struct tapes *tapes, uint64_t ns)
{
	pthread_mutex_lock(&tapes->lock);
	tapes->period_ns = ns;
	pthread_mutex_unlock(&tapes->lock);
}

static bool has_changed(const struct tape *tape)
{
	if (tape->state == TAPE_LOADING || tape->state == TAPE_COMPLETE)
		return false;
	return tape_file_size(tape) != tape->file_bytes ||
	       (tape->state == TAPE_LIVE && !tape_was_written_in(tape, TAPES_QUIET_S));
}

/* Rereads a tape being written, or one continued after a pause, if its reading is this old. */
static void refresh(struct tape *tape, uint64_t old_ns)
{
	if (monotonic_ns() - tape->read_begin_ns < old_ns || !has_changed(tape))
		return;
	tape->wants_load = true;
	pthread_cond_broadcast(&tape->tapes->changed);
}

/* Whether its reading is current; if not, requests one, unless reading would take all the time. */
static bool is_settled(struct tape *tape, uint64_t now_ns)
{
	if (!tape->loaded) /* the first reading may take long, and reports progress */
		return true;
	if (tape->wants_load || tape->is_read)
		return false;
	if (tape->read_begin_ns >= now_ns || !has_changed(tape))
		return true;
	refresh(tape, tape->model_ns);
	return false;
}

/* Returns what must be destroyed without holding the lock. */
static struct loaded *held_replace(struct tape *tape, struct loaded *loaded)
{
	struct loaded *old = tape->held;

	if (loaded)
		loaded->refs++;
	tape->held = loaded;
	tape->held_ns = monotonic_ns();
	return loaded_put_locked(old);
}

void tapes_hold(struct tape *tape, struct loaded *loaded)
{
	struct tapes *tapes = tape->tapes;
	struct loaded *old;

	assert(!loaded || loaded->tapes == tape->tapes);
	pthread_mutex_lock(&tapes->lock);
	old = held_replace(tape, loaded);
	pthread_mutex_unlock(&tapes->lock);
	loaded_destroy(old);
}

static bool held_take(struct tape *tape, uint64_t gen, struct loaded **loaded_ret)
{
	struct loaded *held = tape->held;

	if (gen == 0 || !held || held->gen != gen)
		return false;
	tape->held_ns = monotonic_ns();
	held->refs++;
	*loaded_ret = held;
	return true;
}

/* As held_replace: what is no longer used. */
static struct loaded *held_forget(struct tape *tape)
{
	if (!tape->held || monotonic_ns() - tape->held_ns < HELD_NS)
		return NULL;
	return held_replace(tape, NULL);
}

struct err *tapes_acquire(struct tape *tape, uint64_t gen, const struct sweep_limits *limits,
			  struct loaded **loaded_ret)
{
	const uint64_t end = monotonic_ns() + (uint64_t)WAIT_MS * 1000000;
	struct tapes *tapes = tape->tapes;
	struct err *err = NULL;

	assert(limits);
	pthread_mutex_lock(&tapes->lock);
	if (held_take(tape, gen, loaded_ret)) {
		pthread_mutex_unlock(&tapes->lock);
		return NULL;
	}
	refresh(tape, period_ns(tape));
	while (!err && (!tape->loaded || tape->wants_load) && tape->state != TAPE_FAILED &&
	       monotonic_ns() < end && !tapes->is_stopping) {
		wait_ms(tapes, NAMES_WAIT_MS);
		err = sweep_check(limits);
	}
	if (!err && tape->state == TAPE_FAILED)
		err = failure_copy(tape->err);
	else if (!err && !tape->loaded)
		err = err_new(ERR_STATE, "the tape is still being read");
	if (!err) {
		*loaded_ret = tape->loaded;
		tape->loaded->refs++;
	}
	pthread_mutex_unlock(&tapes->lock);
	return err;
}

void tapes_release(struct loaded *loaded)
{
	struct tapes *tapes;

	if (!loaded)
		return;
	tapes = loaded->tapes;
	pthread_mutex_lock(&tapes->lock);
	assert(loaded->refs > 0);
	loaded = loaded_put_locked(loaded);
	pthread_mutex_unlock(&tapes->lock);
	loaded_destroy(loaded);
}

bool tapes_settle(struct tapes *tapes, const struct sweep_limits *limits)
{
	const uint64_t begin = monotonic_ns();
	struct err *err = NULL;
	bool are_settled;

	pthread_mutex_lock(&tapes->lock);
	do {
		are_settled = true;
		for (struct tape *tape = tapes_first(tapes); tape; tape = tape->next)
			are_settled &= is_settled(tape, begin);
		if (!are_settled) {
			wait_ms(tapes, SETTLE_WAIT_MS);
			err = sweep_check(limits);
		}
	} while (!are_settled && !err && !tapes->is_stopping &&
		 monotonic_ns() - begin < (uint64_t)SETTLE_MS * 1000000);
	pthread_mutex_unlock(&tapes->lock);
	err_destroy(err); /* returns what is known */
	return are_settled;
}

void tapes_reread(struct tapes *tapes)
{
	pthread_mutex_lock(&tapes->lock);
	for (struct tape *tape = tapes_first(tapes); tape; tape = tape->next)
		tape->wants_load |= tape->state != TAPE_FAILED;
	pthread_cond_broadcast(&tapes->changed);
	pthread_mutex_unlock(&tapes->lock);
}

struct tape_look tapes_look(struct tape *tape)
{
	struct tapes *tapes = tape->tapes;
	struct tape_look look;
	struct loaded *old;

	pthread_mutex_lock(&tapes->lock);
	old = held_forget(tape);
	refresh(tape, period_ns(tape));
	look = (struct tape_look) {
		.state = tape->state,
		.loaded = tape->loaded,
		.error = tape->err ? strdup(err_message(tape->err)) : NULL,
		.file_bytes = tape->file_bytes,
		.is_read = tape->wants_load || tape->is_read,
		.refresh_ns = tape->state == TAPE_LIVE ? period_ns(tape) : 0,
	};
	if (tape->loaded)
		tape->loaded->refs++;
	pthread_mutex_unlock(&tapes->lock);
	loaded_destroy(old);
	return look;
}

struct err *tapes_wait_names(struct loaded *loaded, const struct sweep_limits *limits)
{
	struct tapes *tapes = loaded->tapes;
	struct err *err = NULL;

	pthread_mutex_lock(&tapes->lock);
	while (!err && !loaded->names_ready) {
		wait_ms(tapes, NAMES_WAIT_MS);
		err = sweep_check(limits);
	}
	if (err && err_code_of(err) == ERR_LIMIT) {
		err_destroy(err);
		err = err_new(ERR_STATE, "names of functions are still being found");
	}
	pthread_mutex_unlock(&tapes->lock);
	return err;
}

bool tapes_have_names(struct loaded *loaded)
{
	bool are_ready;

	pthread_mutex_lock(&loaded->tapes->lock);
	are_ready = loaded->names_ready;
	pthread_mutex_unlock(&loaded->tapes->lock);
	return are_ready;
}

struct names *tapes_names_unready(const struct loaded *loaded)
{
	assert(loaded->names);
	return loaded->names;
}
