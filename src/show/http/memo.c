#include "http/memo.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 100 /* between checks of the limits */, MACHINE_PART = 16 };
static const uint64_t BYTES_MIN = UINT64_C(128) << 20, BYTES_MAX = UINT64_C(4) << 30;

struct memo {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct memo_item *items; /* most recently used first */
	size_t bytes_max;
};

size_t memo_bytes_usual(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	const uint64_t bytes =
		pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;

	return u64_min(u64_max(bytes / MACHINE_PART, BYTES_MIN), BYTES_MAX);
}

struct memo *memo_create(size_t bytes_max)
{
	struct memo *memo = calloc(1, sizeof(*memo));
	pthread_condattr_t attr;

	assert(bytes_max > 0);
	if (!memo)
		return NULL;
	memo->bytes_max = bytes_max;
	pthread_mutex_init(&memo->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&memo->changed, &attr);
	pthread_condattr_destroy(&attr);
	return memo;
}

static void item_destroy(struct memo_item *item)
{
	arena_deinit(&item->arena);
	free(item->key);
	free(item);
}

void memo_destroy(struct memo *memo)
{
	struct memo_item *next;

	if (!memo)
		return;
	for (struct memo_item *item = memo->items; item; item = next) {
		next = item->next;
		assert(item->refs == 0);
		item_destroy(item);
	}
	pthread_cond_destroy(&memo->changed);
	pthread_mutex_destroy(&memo->lock);
	free(memo);
}

/* --- under the lock ------------------------------------------------------------------------ */

/* Removes the key's item from the list; NULL: not found. */
static struct memo_item *take_out(struct memo *memo, const char *key)
{
	for (struct memo_item **at = &memo->items; *at; at = &(*at)->next) {
		struct memo_item *item = *at;

		if (strcmp(item->key, key) != 0)
			continue;
		*at = item->next;
		return item;
	}
	return NULL;
}

static void put_first(struct memo *memo, struct memo_item *item)
{
	item->next = memo->items;
	memo->items = item;
}

static struct memo_item *item_create(const char *key)
{
	struct memo_item *item = calloc(1, sizeof(*item));

	if (!item)
		return NULL;
	item->key = strdup(key);
	if (!item->key) {
		free(item);
		return NULL;
	}
	return item;
}

/* Drops items beyond the limit, unless held. */
static void shrink(struct memo *memo)
{
	size_t bytes = 0;

	for (struct memo_item **at = &memo->items; *at;) {
		struct memo_item *item = *at;
		/* An item being made belongs to its maker. */
		const size_t own = item->is_ready ? item->arena.total_bytes : 0;

		if (item->refs > 0 || bytes + own <= memo->bytes_max) {
			bytes += own;
			at = &item->next;
			continue;
		}
		*at = item->next;
		item_destroy(item);
	}
}

static void wait(struct memo *memo)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&memo->changed, &memo->lock, &until);
}

/* --- public functions ---------------------------------------------------------------------- */

struct err *memo_hold(struct memo *memo, const char *key, const struct sweep_limits *limits,
		      struct memo_item **item_ret, bool *is_new_ret)
{
	struct memo_item *item;
	struct err *err = NULL;

	assert(key && *key);
	pthread_mutex_lock(&memo->lock);
	while ((item = take_out(memo, key))) {
		put_first(memo, item);
		if (item->is_ready)
			break;
		wait(memo);
		err = sweep_check(limits);
		if (err)
			break;
	}
	*is_new_ret = !item;
	if (!item) {
		item = item_create(key);
		if (item)
			put_first(memo, item);
		else
			err = err_nomem();
	}
	if (!err) {
		item->refs++;
		*item_ret = item;
	}
	pthread_mutex_unlock(&memo->lock);
	return err;
}

void memo_done(struct memo *memo, struct memo_item *item, const void *value)
{
	pthread_mutex_lock(&memo->lock);
	assert(item->refs > 0);
	assert(!item->is_ready);
	item->value = value;
	item->is_ready = value != NULL;
	if (!value) /* can no longer be found; released by its holder */
		take_out(memo, item->key);
	shrink(memo);
	pthread_cond_broadcast(&memo->changed);
	pthread_mutex_unlock(&memo->lock);
}

void memo_release(struct memo *memo, struct memo_item *item)
{
	pthread_mutex_lock(&memo->lock);
	assert(item->refs > 0);
	item->refs--;
	if (item->refs == 0 && !item->is_ready)
		item_destroy(item);
	else
		shrink(memo);
	pthread_mutex_unlock(&memo->lock);
}
