#include "folder/gists.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>

#include "base/map.h"
#include "base/monotonic.h"
#include "base/vec.h"

enum { LIST_PART = 5, READ_PART = 10 };
static const uint64_t LIST_NS = 500 * UINT64_C(1000000);  /* a list is as new as this */
static const uint64_t LIVE_NS = 2000 * UINT64_C(1000000); /* between gists of a growing tape */

/* What was read of a tape; immutable. */
struct known {
	unsigned refs; /* atomic */
	struct gist gist;
	char *trouble;
};

/* A list; immutable. */
struct listing {
	unsigned refs; /* atomic */
	struct folder folder;
};

/* By the place of the tape in the list. */
struct entry {
	struct known *known;	    /* NULL: none yet */
	enum gist_depth depth;	    /* that was read, or tried, of the file as it is */
	enum gist_depth depth_ever; /* the same of the file as it is or was */
	uint64_t next_ns;	    /* not before */
};

struct gists {
	char *path;
	pthread_mutex_t list_lock; /* held by who makes a list */
	pthread_mutex_t lock;	   /* of what follows */
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, is_stopping, is_idle;
	struct listing *listing; /* NULL: none yet */
	struct entry *entries;	 /* listing->folder.count */
	uint64_t listed_ns, list_cost_ns;
};

/* --- counted ---------------------------------------------------------------------------------- */

static void known_put(struct known *known)
{
	if (!known || __atomic_sub_fetch(&known->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	gist_deinit(&known->gist);
	free(known->trouble);
	free(known);
}

static struct known *known_get(struct known *known)
{
	if (known)
		__atomic_add_fetch(&known->refs, 1, __ATOMIC_RELAXED);
	return known;
}

static void listing_put(struct listing *listing)
{
	if (!listing || __atomic_sub_fetch(&listing->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	folder_close(&listing->folder);
	free(listing);
}
CLEAN_DEFINE(listing_put, struct listing *);

static struct listing *listing_get(struct listing *listing)
{
	if (listing)
		__atomic_add_fetch(&listing->refs, 1, __ATOMIC_RELAXED);
	return listing;
}

static void entries_free(struct entry *entries, size_t count)
{
	for (size_t i = 0; entries && i < count; i++)
		known_put(entries[i].known);
	free(entries);
}

/* --- the list --------------------------------------------------------------------------------- */

static bool is_unchanged(const struct folder_tape *a, const struct folder_tape *b)
{
	return a->inode == b->inode && a->device == b->device && a->written_ns == b->written_ns &&
	       a->file_bytes == b->file_bytes && a->kind == b->kind && a->is_live == b->is_live;
}

/* Takes over what is known. Of another recording in the same place nothing is. */
static void entry_take(struct entry *entry, const struct folder_tape *tape, const struct entry *old,
		       const struct folder_tape *old_tape)
{
	if (strcmp(tape->id, old_tape->id) != 0 || strcmp(tape->path, old_tape->path) != 0)
		return;
	entry->known = known_get(old->known);
	entry->next_ns = old->next_ns;
	entry->depth_ever = old->depth_ever;
	if (is_unchanged(tape, old_tape)) {
		entry->depth = old->depth;
	} else if (entry->known && !entry->known->trouble) {
		entry->depth = tape->kind == FOLDER_SESSION ? GIST_NONE : GIST_TITLE;
	}
}

static struct entry *entries_make(struct gists *gists, const struct folder *folder)
{
	CLEAN(map_deinit) struct map old = { 0 };
	struct entry *entries = calloc(folder->count + 1, sizeof(*entries));
	const struct folder *before = gists->listing ? &gists->listing->folder : NULL;

	for (size_t i = 0; entries && before && i < before->count; i++) {
		uint64_t *place = map_put(
			&old, hash_bytes(before->tapes[i].path, strlen(before->tapes[i].path), 0),
			NULL);

		if (place)
			*place = i;
	}
	for (size_t i = 0; entries && before && i < folder->count; i++) {
		const char *path = folder->tapes[i].path;
		const uint64_t *place = map_find(&old, hash_bytes(path, strlen(path), 0));

		if (place)
			entry_take(&entries[i], &folder->tapes[i], &gists->entries[*place],
				   &before->tapes[*place]);
	}
	return entries;
}

static struct err *list_replace(struct gists *gists, struct listing *own, uint64_t cost_ns)
{
	CLEAN(listing_put) struct listing *listing = own;
	struct entry *entries, *old;
	size_t old_count;

	pthread_mutex_lock(&gists->lock);
	entries = entries_make(gists, &listing->folder);
	if (!entries) {
		pthread_mutex_unlock(&gists->lock);
		return err_nomem();
	}
	old = gists->entries;
	old_count = gists->listing ? gists->listing->folder.count : 0;
	gists->entries = entries;
	listing = gists->listing;
	gists->listing = own;
	gists->listed_ns = monotonic_ns();
	gists->list_cost_ns = cost_ns;
	pthread_cond_broadcast(&gists->changed);
	pthread_mutex_unlock(&gists->lock);
	entries_free(old, old_count);
	return NULL;
}

/* The caller holds list_lock. */
static struct err *list_make(struct gists *gists)
{
	const uint64_t begin_ns = monotonic_ns();
	struct listing *listing = calloc(1, sizeof(*listing));
	struct err *err = listing ? folder_read(gists->path, &listing->folder) : err_nomem();

	if (err) {
		free(listing);
		return err;
	}
	listing->refs = 1;
	return list_replace(gists, listing, monotonic_ns() - begin_ns);
}

static bool list_is_new(struct gists *gists)
{
	bool is_new;

	pthread_mutex_lock(&gists->lock);
	is_new = gists->listing && monotonic_ns() - gists->listed_ns <
					   u64_max(LIST_NS, LIST_PART * gists->list_cost_ns);
	pthread_mutex_unlock(&gists->lock);
	return is_new;
}

/* --- the gists -------------------------------------------------------------------------------- */

/* What a tape is to be read for next; GIST_NONE: nothing, at this time. *waits_ret: later. */
static enum gist_depth entry_wants(const struct folder_tape *tape, const struct entry *entry,
				   uint64_t now_ns, bool *waits_ret)
{
	const bool has_whole = tape->kind == FOLDER_TAPE;

	if (tape->kind == FOLDER_UNREADABLE ||
	    (entry->known && entry->known->trouble && entry->depth == GIST_WHOLE))
		return GIST_NONE;
	if (entry->depth == GIST_NONE)
		return GIST_TITLE;
	if (!has_whole || entry->depth == GIST_WHOLE)
		return GIST_NONE;
	if (now_ns >= entry->next_ns)
		return GIST_WHOLE;
	*waits_ret = true;
	return GIST_NONE;
}

/* The place of the next one, titles first; SIZE_MAX: none. */
static size_t next_find(const struct gists *gists, enum gist_depth *depth_ret, bool *waits_ret)
{
	const struct folder *folder = &gists->listing->folder;
	const size_t count = u64_min(folder->count, GISTS_MAX);
	const uint64_t now_ns = monotonic_ns();
	size_t whole = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		const enum gist_depth depth =
			entry_wants(&folder->tapes[i], &gists->entries[i], now_ns, waits_ret);

		if (depth == GIST_TITLE) {
			*depth_ret = depth;
			return i;
		}
		if (depth == GIST_WHOLE && whole == SIZE_MAX)
			whole = i;
	}
	*depth_ret = GIST_WHOLE;
	return whole;
}

static struct known *known_read(const struct folder_tape *tape, enum gist_depth depth)
{
	struct known *known = calloc(1, sizeof(*known));
	struct err *err = known ? gist_read(tape, depth, &known->gist) : NULL;

	if (!known)
		return NULL;
	known->refs = 1;
	if (err)
		known->trouble = strdup(err_message(err));
	err_destroy(err);
	return known;
}

/* The list may be another one by now. Of a changed file nothing is taken: it is read again. */
static struct entry *entry_find(struct gists *gists, const struct folder_tape *tape)
{
	const struct folder *folder = &gists->listing->folder;

	for (size_t i = 0; i < folder->count; i++)
		if (strcmp(folder->tapes[i].path, tape->path) == 0)
			return strcmp(folder->tapes[i].id, tape->id) == 0 ? &gists->entries[i]
									  : NULL;
	return NULL;
}

/* Trouble with what it is of is trouble with all of it. */
static void known_take(struct gists *gists, const struct folder_tape *tape, struct known *known,
		       enum gist_depth depth, uint64_t cost_ns)
{
	struct entry *entry = entry_find(gists, tape);

	if (!entry || !known) {
		if (entry)
			entry->depth = depth;
		known_put(known);
		return;
	}
	entry->depth = known->trouble ? GIST_WHOLE : depth;
	entry->depth_ever = entry->depth > entry->depth_ever ? entry->depth : entry->depth_ever;
	entry->next_ns =
		depth == GIST_WHOLE ? monotonic_ns() + u64_max(LIVE_NS, READ_PART * cost_ns) : 0;
	known_put(entry->known);
	entry->known = known;
}

/* The lock is held on entry and return, and not in between. */
static void entry_read(struct gists *gists, size_t at, enum gist_depth depth)
{
	struct listing *listing = listing_get(gists->listing);
	const struct folder_tape *tape = &listing->folder.tapes[at];
	const uint64_t begin_ns = monotonic_ns();
	struct known *known;

	pthread_mutex_unlock(&gists->lock);
	known = known_read(tape, depth);
	pthread_mutex_lock(&gists->lock);
	known_take(gists, tape, known, depth, monotonic_ns() - begin_ns);
	listing_put(listing);
}

static void *gists_run(void *context)
{
	struct gists *gists = context;

	pthread_mutex_lock(&gists->lock);
	while (!gists->is_stopping) {
		enum gist_depth depth = GIST_NONE;
		bool waits = false;
		const size_t at = next_find(gists, &depth, &waits);

		if (at != SIZE_MAX) {
			entry_read(gists, at, depth);
			continue;
		}
		/* Those that wait are asked about by the next list. */
		gists->is_idle = true;
		pthread_cond_wait(&gists->changed, &gists->lock);
		gists->is_idle = false;
	}
	gists->is_idle = true;
	pthread_cond_broadcast(&gists->changed);
	pthread_mutex_unlock(&gists->lock);
	return NULL;
}

/* --- the view --------------------------------------------------------------------------------- */

struct holder {
	struct listing *listing;
	struct known **known; /* by row; NULL items: none */
};

static struct err *view_fill(struct gists *gists, struct holder *holder, struct gists_view *view)
{
	const struct folder *folder = &gists->listing->folder;
	const uint64_t now_ns = monotonic_ns();

	view->rows = calloc(folder->count + 1, sizeof(*view->rows));
	holder->known = calloc(folder->count + 1, sizeof(*holder->known));
	if (!view->rows || !holder->known)
		return err_nomem();
	holder->listing = listing_get(gists->listing);
	view->path = folder->path;
	view->count = folder->count;
	for (size_t i = 0; i < folder->count; i++) {
		const struct entry *entry = &gists->entries[i];
		struct gists_row *row = &view->rows[i];
		bool waits = false;

		holder->known[i] = known_get(entry->known);
		row->tape = &folder->tapes[i];
		row->trouble = folder->tapes[i].trouble;
		if (entry->known && entry->known->trouble)
			row->trouble = entry->known->trouble;
		else if (entry->known)
			row->gist = &entry->known->gist;
		if (i < GISTS_MAX && entry->depth_ever < GIST_WHOLE &&
		    (entry_wants(row->tape, entry, now_ns, &waits) || waits))
			view->waiting_count++;
	}
	return NULL;
}

static void thread_begin(struct gists *gists)
{
	if (!gists->has_thread)
		gists->has_thread = pthread_create(&gists->thread, NULL, gists_run, gists) == 0;
	pthread_cond_broadcast(&gists->changed);
}

/* may_be_kept: a list that was made just now will do. */
static struct err *look(struct gists *gists, bool may_be_kept, struct gists_view *view)
{
	struct holder *holder = calloc(1, sizeof(*holder));
	struct err *err = holder ? NULL : err_nomem();

	*view = (struct gists_view) { .holder = holder };
	if (!err && !(may_be_kept && list_is_new(gists))) {
		pthread_mutex_lock(&gists->list_lock);
		err = may_be_kept && list_is_new(gists) ? NULL : list_make(gists);
		pthread_mutex_unlock(&gists->list_lock);
	}
	if (!err) {
		pthread_mutex_lock(&gists->lock);
		err = view_fill(gists, holder, view);
		thread_begin(gists);
		pthread_mutex_unlock(&gists->lock);
	}
	if (err)
		gists_release(view);
	return err;
}

struct err *gists_look(struct gists *gists, struct gists_view *view)
{
	return look(gists, true, view);
}

struct err *gists_look_anew(struct gists *gists, struct gists_view *view)
{
	return look(gists, false, view);
}

void gists_release(struct gists_view *view)
{
	struct holder *holder = view->holder;

	for (size_t i = 0; holder && holder->known && i < view->count; i++)
		known_put(holder->known[i]);
	if (holder) {
		listing_put(holder->listing);
		free(holder->known);
	}
	free(holder);
	free(view->rows);
	*view = (struct gists_view) { .count = 0 };
}

struct err *gists_create(const char *path, struct gists **gists_ret)
{
	struct gists *gists = calloc(1, sizeof(*gists));

	assert(path);
	if (!gists)
		return err_nomem();
	gists->path = strdup(path);
	if (!gists->path) {
		free(gists);
		return err_nomem();
	}
	pthread_mutex_init(&gists->list_lock, NULL);
	pthread_mutex_init(&gists->lock, NULL);
	pthread_cond_init(&gists->changed, NULL);
	*gists_ret = gists;
	return NULL;
}

/* The lock is held. Whether the thread has nothing to do any more. */
static bool idle_await(struct gists *gists)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	while (gists->has_thread && !gists->is_idle && rc == 0)
		rc = pthread_cond_timedwait(&gists->changed, &gists->lock, &until);
	return gists->is_idle || !gists->has_thread;
}

bool gists_destroy(struct gists *gists)
{
	bool is_idle;

	if (!gists)
		return true;
	pthread_mutex_lock(&gists->lock);
	gists->is_stopping = true;
	pthread_cond_broadcast(&gists->changed);
	is_idle = idle_await(gists);
	pthread_mutex_unlock(&gists->lock);
	if (!is_idle) {
		pthread_detach(gists->thread);
		return false;
	}
	if (gists->has_thread)
		pthread_join(gists->thread, NULL);
	entries_free(gists->entries, gists->listing ? gists->listing->folder.count : 0);
	listing_put(gists->listing);
	pthread_cond_destroy(&gists->changed);
	pthread_mutex_destroy(&gists->lock);
	pthread_mutex_destroy(&gists->list_lock);
	free(gists->path);
	free(gists);
	return true;
}
