#include "capture/ahead.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

enum { THREADS_MAX = 16, AHEAD_PER_THREAD = 3 };

struct ahead {
	const struct capture *capture;
	const struct ahead_chunk *order;
	size_t count;
	struct chunk_loader loader; /* of the consuming thread */
	pthread_t threads[THREADS_MAX];
	unsigned thread_count;
	size_t window; /* how far decoding may run ahead of the consumer */

	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t changed;
	size_t next;  /* first chunk whose decoding has not begun */
	size_t taken; /* chunks requested */
	bool is_ending;
	bool no_memory;
	struct decoded **ready; /* by position in the order; NULL: not yet */
	struct decoded *spare;
};

static struct decoded *spare_pop(struct ahead *ahead)
{
	struct decoded *decoded = ahead->spare;

	if (!decoded)
		return decoded_create(ahead->capture);
	ahead->spare = decoded->next;
	return decoded;
}

/* Decodes the next chunk of the order. Called with the lock held, which is released meanwhile. */
static void decode_next(struct ahead *ahead, struct chunk_loader *loader)
{
	size_t place = ahead->next++;
	const struct ahead_chunk *chunk = &ahead->order[place];
	struct decoded *decoded = spare_pop(ahead);

	if (!decoded) {
		ahead->no_memory = true;
		return;
	}
	pthread_mutex_unlock(&ahead->lock);
	chunk_decode(loader, capture_chunk_get(ahead->capture, chunk->chunk), chunk->stream,
		     decoded);
	pthread_mutex_lock(&ahead->lock);
	ahead->ready[place] = decoded;
}

static void *decode_thread(void *context)
{
	struct ahead *ahead = context;
	struct chunk_loader loader = { .capture = ahead->capture };

	pthread_mutex_lock(&ahead->lock);
	while (!ahead->is_ending && ahead->next < ahead->count && !ahead->no_memory) {
		if (ahead->next >= ahead->taken + ahead->window) {
			pthread_cond_wait(&ahead->changed, &ahead->lock);
			continue;
		}
		decode_next(ahead, &loader);
		pthread_cond_broadcast(&ahead->changed);
	}
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	chunk_loader_deinit(&loader);
	return NULL;
}

/* Fewer threads than requested is not an error: the consuming thread decodes as well. */
static void start_threads(struct ahead *ahead, unsigned thread_count)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals belong to the program's own threads */
	while (ahead->thread_count < u64_min(thread_count, THREADS_MAX) &&
	       pthread_create(&ahead->threads[ahead->thread_count], NULL, decode_thread, ahead) ==
		       0)
		ahead->thread_count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct err *ahead_create(const struct capture *capture, const struct ahead_chunk *order,
			 size_t count, unsigned thread_count, struct ahead **ahead_ret)
{
	struct ahead *ahead = calloc(1, sizeof(*ahead));

	assert(order || count == 0);
	if (!ahead)
		return err_nomem();
	ahead->capture = capture;
	ahead->order = order;
	ahead->count = count;
	ahead->loader.capture = capture;
	ahead->window = (size_t)thread_count * AHEAD_PER_THREAD + 1;
	ahead->ready = calloc(count + 1, sizeof(struct decoded *));
	if (!ahead->ready) {
		free(ahead);
		return err_nomem();
	}
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	start_threads(ahead, thread_count);
	*ahead_ret = ahead;
	return NULL;
}

void ahead_destroy(struct ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->is_ending = true;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	for (unsigned i = 0; i < ahead->thread_count; i++)
		pthread_join(ahead->threads[i], NULL);
	for (size_t i = 0; i < ahead->count; i++)
		decoded_destroy(ahead->ready[i]);
	while (ahead->spare) {
		struct decoded *next = ahead->spare->next;

		decoded_destroy(ahead->spare);
		ahead->spare = next;
	}
	chunk_loader_deinit(&ahead->loader);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead->ready);
	free(ahead);
}

struct decoded *ahead_take(struct ahead *ahead)
{
	struct decoded *decoded;
	size_t place;

	pthread_mutex_lock(&ahead->lock);
	assert(ahead->taken < ahead->count);
	place = ahead->taken++;
	pthread_cond_broadcast(&ahead->changed); /* the window has moved */
	while (!ahead->ready[place] && !ahead->no_memory) {
		/* Instead of waiting, decode: this chunk, or one needed soon. */
		if (ahead->next < ahead->count && ahead->next < ahead->taken + ahead->window)
			decode_next(ahead, &ahead->loader);
		else
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	}
	decoded = steal(ahead->ready[place]);
	pthread_mutex_unlock(&ahead->lock);
	return decoded;
}

void ahead_give(struct ahead *ahead, struct decoded *decoded)
{
	pthread_mutex_lock(&ahead->lock);
	decoded->next = ahead->spare;
	ahead->spare = decoded;
	pthread_mutex_unlock(&ahead->lock);
}
