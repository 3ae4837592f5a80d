#include "base/monotonic.h"
#include "http/tapes_state.h"

#include <assert.h>

#include "base/str.h"
#include "core/hash.h"
#include "http/memo.h"
#include "http/text_counts.h"
#include "model/import.h"

/* --- reading ------------------------------------------------------------------------------- */

/* Its pools may be in use longer. */
static void pools_drop(struct loaded *loaded)
{
	struct loaded *pools;

	pthread_mutex_destroy(&loaded->pools_lock);
	if (!loaded->pools)
		return;
	pthread_mutex_lock(&loaded->tapes->lock);
	pools = loaded_put_locked(loaded->pools);
	pthread_mutex_unlock(&loaded->tapes->lock);
	loaded_destroy(pools);
}

void loaded_destroy(struct loaded *loaded)
{
	if (!loaded)
		return;
	pools_drop(loaded);
	for (size_t i = 0; loaded->text_counts && i < field_count; i++)
		text_counts_destroy(loaded->text_counts[i]);
	free(loaded->text_counts);
	memo_destroy(loaded->memo);
	suppressor_deinit(&loaded->suppressor);
	names_destroy(loaded->names);
	model_destroy(loaded->model);
	arena_deinit(&loaded->arena);
	free(loaded);
}

static void progress_keep(void *context, uint64_t done, uint64_t total)
{
	struct tape *tape = context;

	__atomic_store_n(&tape->done, done, __ATOMIC_RELAXED);
	__atomic_store_n(&tape->total, total, __ATOMIC_RELAXED);
}

/* Whether the process has become another program, whose tape replaced the previous one. */
static bool is_next_program(const struct tape *tape, const struct model_process *process)
{
	static const uint8_t none[TAPE_UUID_BYTES];

	return process->pid == tape->pid && !(process->flags & TAPE_FLAG_FORKED) &&
	       memcmp(process->parent_uuid, none, sizeof(none)) != 0;
}

/* A file that is wrong now was right when the server began, or it would not serve. */
static void symbols_choose(const struct tape_source *source, struct loaded *loaded)
{
	if (source->symbols)
		loaded->symbols = *source->symbols;
	if (!source->rules)
		return;
	struct err *err =
		source->rules(source->rules_context, source->path, &loaded->arena, &loaded->rules);
	if (!err)
		loaded->symbols.roles = &loaded->rules;
	err_destroy(err);
}

static struct err *loaded_create(struct tape *tape, enum model_subject subject,
				 struct loaded **loaded_ret)
{
	const struct model_settings settings = {
		.subject = subject,
		.announce = tape->source->announce,
		.announce_context = tape->source->announce_context,
		/* The index of a growing tape would be outdated at once. */
		.index = tape_was_written_in(tape, 2) && !tape->is_whole ? MODEL_INDEX_NONE
			 : tape->source->leaves_no_index		 ? MODEL_INDEX_USE
									 : MODEL_INDEX_AUTO,
		.progress = subject == MODEL_OF_HEAP ? progress_keep : NULL,
		.progress_context = tape,
		.cancel = &tape->tapes->is_stopping,
	};
	CLEAN(loaded_destroy) struct loaded *loaded = calloc(1, sizeof(*loaded));
	struct err *err;

	if (!loaded)
		return err_nomem();
	loaded->refs = 1;
	loaded->tapes = tape->tapes;
	pthread_mutex_init(&loaded->pools_lock, NULL);
	loaded->text_counts = calloc(field_count, sizeof(*loaded->text_counts));
	loaded->memo = memo_create(memo_bytes_usual());
	if (!loaded->text_counts || !loaded->memo)
		return err_nomem();
	err = model_load_with(tape->source->path, MODEL_FULL, &settings, &loaded->model);
	if (err)
		return err;
	if (memcmp(model_process(loaded->model)->uuid, tape->uuid, TAPE_UUID_BYTES) != 0 &&
	    !is_next_program(tape, model_process(loaded->model)))
		return err_new(ERR_STATE,
			       "%s was replaced by another recording; restart the server",
			       tape->source->path);
	symbols_choose(tape->source, loaded);
	loaded->names = names_create(loaded->model, &loaded->symbols);
	if (!loaded->names)
		return err_nomem();
	suppressor_init(&loaded->suppressor, loaded->model, loaded->names,
			tape->source->suppressions);
	*loaded_ret = steal(loaded);
	return NULL;
}

struct err *tapes_acquire_pools(struct tape *tape, struct loaded *loaded, struct loaded **pools_ret)
{
	struct err *err = NULL;

	assert(loaded->tapes == tape->tapes);
	pthread_mutex_lock(&loaded->pools_lock);
	if (!loaded->pools) {
		err = loaded_create(tape, MODEL_OF_POOLS, &loaded->pools);
		if (!err) {
			names_settle(loaded->pools->names);
			loaded->pools->names_ready = true;
			loaded->pools->gen = loaded->gen;
			loaded->pools->number = loaded->number;
		}
	}
	pthread_mutex_lock(&tape->tapes->lock);
	*pools_ret = loaded->pools;
	if (loaded->pools)
		loaded->pools->refs++;
	pthread_mutex_unlock(&tape->tapes->lock);
	pthread_mutex_unlock(&loaded->pools_lock);
	return err;
}

/*
 * A tape without an end record may still be written to, or was while it was read, unless it
 * was converted. After an exec the next program's tape may replace it.
 */
static enum tape_state state_of(const struct tape *tape, const struct model *model)
{
	const enum tape_end_kind end = model_process(model)->end_kind;

	if (end == TAPE_END_EXEC)
		return tape_was_written_in(tape, TAPES_QUIET_S) ? TAPE_LIVE : TAPE_COMPLETE;
	if (end != TAPE_END_UNKNOWN)
		return TAPE_COMPLETE;
	if (model_missing(model))
		return TAPE_TRUNCATED;
	return tape_was_written_in(tape, TAPES_QUIET_S) || tape_file_size(tape) != tape->file_bytes
		       ? TAPE_LIVE
		       : TAPE_TRUNCATED;
}

/* A failed reading keeps the previous one, if any. Returns what can be destroyed. */
static struct loaded *reading_take(struct tape *tape, struct loaded *loaded, struct err *err)
{
	struct loaded *old = tape->loaded;

	/* The file is gone, or another one: the previous reading is final. */
	if (err && old) {
		if (tape->state != TAPE_COMPLETE)
			tape->state = TAPE_TRUNCATED;
		err_destroy(err);
		return NULL;
	}
	err_destroy(tape->err);
	tape->err = err;
	if (err) {
		tape->state = TAPE_FAILED;
		return NULL;
	}
	memcpy(tape->uuid, model_process(loaded->model)->uuid, sizeof(tape->uuid));
	tape->state = state_of(tape, loaded->model);
	loaded->number = ++tape->load_count;
	loaded->gen = tape->state == TAPE_LIVE ? loaded->number : 0;
	tape->loaded = loaded;
	loaded->refs++; /* reference of the reader, while names are found */
	return loaded_put_locked(old);
}

/* The lock is held on entry and return, and not in between. */
static void tape_load(struct tapes *tapes, struct tape *tape)
{
	struct loaded *loaded = NULL, *old;
	struct err *err;

	tape->wants_load = false;
	tape->is_read = true;
	tape->file_bytes = tape_file_size(tape);
	tape->read_begin_ns = monotonic_ns();
	pthread_mutex_unlock(&tapes->lock);
	err = loaded_create(tape, MODEL_OF_HEAP, &loaded);
	pthread_mutex_lock(&tapes->lock);
	old = reading_take(tape, loaded, err);
	tape->is_read = false;
	tape->model_ns = monotonic_ns() - tape->read_begin_ns;
	tape->read_ns = monotonic_ns() - tape->read_begin_ns;
	pthread_cond_broadcast(&tapes->changed);
	pthread_mutex_unlock(&tapes->lock);
	loaded_destroy(old);
	if (loaded)
		names_settle(loaded->names);
	pthread_mutex_lock(&tapes->lock);
	if (!loaded)
		return;
	loaded->names_ready = true;
	tape->read_ns = monotonic_ns() - tape->read_begin_ns;
	pthread_cond_broadcast(&tapes->changed);
	old = loaded_put_locked(loaded);
	pthread_mutex_unlock(&tapes->lock);
	loaded_destroy(old);
	pthread_mutex_lock(&tapes->lock);
}

static struct tape *tape_next(struct tapes *tapes)
{
	struct tape *next = NULL;

	for (struct tape *tape = tapes_first(tapes); tape; tape = tape->next) {
		if (tape->wants_load)
			next = tape; /* "last" first */
	}
	return next;
}

static void *tapes_run(void *context)
{
	struct tapes *tapes = context;

	pthread_mutex_lock(&tapes->lock);
	while (!tapes->is_stopping) {
		struct tape *tape = tape_next(tapes);

		if (tape) {
			tape_load(tapes, tape);
			continue;
		}
		tapes->is_idle = true;
		pthread_cond_wait(&tapes->changed, &tapes->lock);
		tapes->is_idle = false;
	}
	tapes->is_idle = true;
	pthread_mutex_unlock(&tapes->lock);
	return NULL;
}

/* --- all of them --------------------------------------------------------------------------- */

static struct err *tape_open(struct tapes *tapes, const struct tape_source *source,
			     struct tape *tape)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct err *err = capture_open(source->path, &capture);

	if (err)
		return err;
	*tape = (struct tape) { .source = source, .tapes = tapes, .wants_load = true };
	tape->file_bytes = capture_facts(capture)->file_bytes;
	memcpy(tape->uuid, capture_header(capture)->uuid, TAPE_UUID_BYTES);
	tape->pid = capture_header(capture)->pid;
	for (size_t i = 0; i < TAPE_UUID_BYTES; i++)
		str_format(tape->id + 2 * i, 3, "%02x", capture_header(capture)->uuid[i]);
	return NULL;
}

/*
 * Copies of one recording have the same id on their tapes. The first one named keeps it; later ones
 * get the first half of it and a hash of the id and their position.
 */
static void id_make_own(struct tapes *tapes, struct tape *tape)
{
	const uint64_t whole = hash_bytes(tape->id, strlen(tape->id), 0);
	const size_t half = strlen(tape->id) / 2;

	for (uint64_t copy = 1; tapes_find(tapes, tape->id, strlen(tape->id)); copy++)
		str_format(tape->id + half, half + 1, "%016llx",
			   (unsigned long long)hash_mix(whole + copy));
}

/* A tape added later. */
struct added {
	struct tape tape; /* first */
	struct tape_source source;
};

static void added_free(struct tape *tape)
{
	free((char *)tape->source->path);
	free((struct added *)tape);
}

static void tapes_free(struct tapes *tapes)
{
	for (struct tape *tape = tapes->first, *next; tape; tape = next) {
		next = tape->next;
		err_destroy(tape->err);
		loaded_destroy(loaded_put_locked(tape->held));
		assert(!tape->loaded || tape->loaded->refs == 1);
		loaded_destroy(tape->loaded);
		if (tape->is_added)
			added_free(tape);
	}
	pthread_cond_destroy(&tapes->changed);
	pthread_mutex_destroy(&tapes->lock);
	free(tapes->items);
	free(tapes);
}

struct err *tapes_create(const struct tape_source *sources, size_t count, struct tapes **tapes_ret)
{
	struct tapes *tapes = calloc(1, sizeof(*tapes));
	pthread_condattr_t attr;
	struct err *err = NULL;
	int rc;

	assert(sources || count == 0);
	if (!tapes)
		return err_nomem();
	tapes->period_ns = TAPES_PERIOD_NS;
	pthread_mutex_init(&tapes->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&tapes->changed, &attr);
	pthread_condattr_destroy(&attr);
	tapes->items = calloc(count + 1, sizeof(*tapes->items));
	if (!tapes->items)
		err = err_nomem();
	for (size_t i = 0; !err && i < count; i++) {
		struct tape *tape = &tapes->items[i];

		err = tape_open(tapes, &sources[i], tape);
		if (err)
			break;
		id_make_own(tapes, tape);
		*(i ? &tapes->items[i - 1].next : &tapes->first) = tape;
		tapes->count++;
	}
	if (!err) {
		rc = pthread_create(&tapes->thread, NULL, tapes_run, tapes);
		err = rc ? err_errno_new(rc, "start a thread") : NULL;
	}
	if (err) {
		tapes_free(tapes);
		return err;
	}
	*tapes_ret = tapes;
	return NULL;
}

void tapes_stop(struct tapes *tapes)
{
	pthread_mutex_lock(&tapes->lock);
	__atomic_store_n(&tapes->is_stopping, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&tapes->changed);
	pthread_mutex_unlock(&tapes->lock);
}

bool tapes_destroy(struct tapes *tapes)
{
	bool is_idle;

	if (!tapes)
		return true;
	pthread_mutex_lock(&tapes->lock);
	is_idle = tapes->is_idle;
	__atomic_store_n(&tapes->is_stopping, true, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&tapes->changed);
	pthread_mutex_unlock(&tapes->lock);
	if (!is_idle) {
		pthread_detach(tapes->thread);
		return false;
	}
	pthread_join(tapes->thread, NULL);
	tapes_free(tapes);
	return true;
}

struct tape *tapes_first(struct tapes *tapes)
{
	return __atomic_load_n(&tapes->first, __ATOMIC_ACQUIRE);
}

bool tapes_have_room(struct tapes *tapes)
{
	bool has_room;

	pthread_mutex_lock(&tapes->lock);
	has_room = tapes->added_count < TAPES_ADDED_MAX;
	pthread_mutex_unlock(&tapes->lock);
	return has_room;
}

struct err *tapes_add(struct tapes *tapes, const char *path, const struct tape_source *like,
		      bool is_whole, struct tape **tape_ret)
{
	struct added *added = calloc(1, sizeof(*added));
	char *own = strdup(path);
	struct err *err = added && own ? NULL : err_nomem();

	if (!err) {
		added->source = *like;
		added->source.path = own;
		err = tape_open(tapes, &added->source, &added->tape);
	}
	pthread_mutex_lock(&tapes->lock);
	if (!err && tapes->added_count == TAPES_ADDED_MAX)
		err = err_new(ERR_LIMIT, "already %d more tapes", TAPES_ADDED_MAX);
	if (!err) {
		tapes->added_count++;
		added->tape.is_added = true;
		added->tape.is_whole = is_whole;
		id_make_own(tapes, &added->tape);
		added->tape.next = tapes->first;
		__atomic_store_n(&tapes->first, &added->tape, __ATOMIC_RELEASE);
		pthread_cond_broadcast(&tapes->changed);
	}
	pthread_mutex_unlock(&tapes->lock);
	if (err) {
		free(added);
		free(own);
		return err;
	}
	*tape_ret = &added->tape;
	return NULL;
}

struct tape *tapes_find_file(struct tapes *tapes, const char *path, const uint8_t *uuid)
{
	struct tape *found = NULL;

	pthread_mutex_lock(&tapes->lock);
	for (struct tape *tape = tapes->first; tape && !found; tape = tape->next) {
		if (strcmp(tape->source->path, path) == 0 &&
		    (!uuid || memcmp(tape->uuid, uuid, TAPE_UUID_BYTES) == 0))
			found = tape;
	}
	pthread_mutex_unlock(&tapes->lock);
	return found;
}

struct tape *tapes_find(struct tapes *tapes, const char *id, size_t len)
{
	const bool is_last = len == 4 && memcmp(id, "last", 4) == 0;

	assert(id);
	for (struct tape *tape = tapes_first(tapes); tape; tape = tape->next) {
		if (is_last ? !tape->next
			    : strlen(tape->id) == len && memcmp(tape->id, id, len) == 0)
			return tape;
	}
	return NULL;
}
