/*
 * The thread that plays, and who has what plays. It runs where a processor has nothing else to do,
 * so it may stop anywhere for long: the collector never waits for it but at the end, and then not
 * long.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/companion_state.h"

enum {
	PLAYER_BYTES_LEAST = 40 << 20,
	PLAYER_PART = 16, /* of what is free */
	TAKE_NS = 20 * 1000 * 1000,
	TAKE_ROUNDS = 100,
	JOIN_NS = 2 * 1000 * 1000
};

static void release(void *context, struct capture_growing *growing)
{
	struct companion *companion = context;

	static_assert(offsetof(struct companion_chunk, growing) == 0, "the same address");
	queue_put(&companion->released, (struct companion_chunk *)(void *)growing);
}

/* What is believed is read first: what it is about is in the chunks then. */
static struct err *pass_on(struct companion *companion, struct capture_playing *playing)
{
	const uint64_t all = __atomic_load_n(&companion->bound_all, __ATOMIC_ACQUIRE);
	const uint32_t count = __atomic_load_n(&companion->bound_count, __ATOMIC_ACQUIRE);
	struct companion_chunk *chunk;
	struct err *err = NULL;

	capture_playing_bound_all(playing, all);
	for (uint32_t i = 0; i < count && !err; i++)
		err = capture_playing_bound(
			playing, i, __atomic_load_n(&companion->bounds[i], __ATOMIC_ACQUIRE));
	while (!err && (chunk = queue_take(&companion->given)))
		err = capture_playing_give(playing, &chunk->growing);
	return err;
}

static struct err *step(struct companion *companion)
{
	const struct companion_player *ops = companion->ops;
	struct err *err = NULL;

	if (!companion->player)
		err = ops->create(&companion->header, release, companion, &companion->player);
	if (!err)
		err = pass_on(companion, ops->playing(companion->player));
	if (!err)
		err = ops->go(companion->player, &companion->stop);
	if (!err && ops->bytes(companion->player) >
			    __atomic_load_n(&companion->bytes_max, __ATOMIC_RELAXED))
		err = err_new(ERR_LIMIT, "it needs much memory");
	return err;
}

/* Only where a processor has nothing else to do; false: that cannot be had. */
static bool priority_lower(void)
{
	const struct sched_param none = { 0 };

	return pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0 ||
	       setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19) == 0;
}

/* The thread has ended. */
static void player_discard(struct companion *companion)
{
	if (companion->player)
		companion->ops->destroy(companion->player);
	companion->player = NULL;
	for (size_t i = 0; i < companion->chunk_count; i++)
		munmap(companion->chunks[i].growing.image,
		       (size_t)companion->header.chunk_bytes + CAPTURE_GROWING_PAD);
	companion->chunk_count = 0;
}

static void companion_free(struct companion *companion)
{
	player_discard(companion);
	err_destroy(companion->err);
	free(companion->pairs);
	sem_destroy(&companion->wake);
	free(companion);
}

static bool own(struct companion *companion, uint32_t owner)
{
	uint32_t none = OWNER_NONE;

	return __atomic_compare_exchange_n(&companion->owner, &none, owner, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void *play_thread(void *context)
{
	struct companion *companion = context;
	const bool is_low = priority_lower();
	bool goes_on = true;

	while (goes_on) {
		while (sem_wait(&companion->wake) < 0 && errno == EINTR)
			;
		if (__atomic_load_n(&companion->stop, __ATOMIC_ACQUIRE) ||
		    !own(companion, OWNER_THREAD))
			break;
		companion->err = is_low ? step(companion)
					: err_new(ERR_UNSUPPORTED, "no low priority can be had");
		goes_on = !companion->err;
		__atomic_store_n(&companion->has_failed, companion->err != NULL, __ATOMIC_RELEASE);
		__atomic_store_n(&companion->owner, OWNER_NONE, __ATOMIC_RELEASE);
	}
	if (__atomic_exchange_n(&companion->is_left, 1, __ATOMIC_ACQ_REL))
		companion_free(companion);
	return NULL;
}

bool companion_thread_start(struct companion *companion)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the collector's */
	companion->has_thread =
		pthread_create(&companion->thread, NULL, play_thread, companion) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return companion->has_thread;
}

struct companion *companion_create(const struct companion_player *player,
				   const struct tape_header *header)
{
	struct companion *companion = calloc(1, sizeof(*companion)); /* mostly never touched */

	assert(player && header);
	if (!companion)
		return NULL;
	companion->ops = player;
	companion->header = *header;
	companion->bytes_max = PLAYER_BYTES_LEAST;
	sem_init(&companion->wake, 0, 0);
	return companion;
}

void companion_allow(struct companion *companion, uint64_t free_bytes)
{
	const uint64_t part = free_bytes == UINT64_MAX ? 0 : free_bytes / PLAYER_PART;

	__atomic_store_n(&companion->bytes_max, u64_max(part, PLAYER_BYTES_LEAST),
			 __ATOMIC_RELAXED);
}

void companion_stop(struct companion *companion)
{
	__atomic_store_n(&companion->stop, 1, __ATOMIC_RELEASE);
	if (companion->has_thread)
		sem_post(&companion->wake);
}

/* Waits for the thread's end, but not long: it may not get a processor. */
static bool join(struct companion *companion, long wait_ns)
{
	struct timespec until;

	if (!companion->has_thread)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += wait_ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	companion->has_thread = pthread_timedjoin_np(companion->thread, NULL, &until) != 0;
	return !companion->has_thread;
}

/* The same for what plays, which the thread has while it plays. */
static bool take_over(struct companion *companion)
{
	const struct timespec interval = { .tv_nsec = TAKE_NS / TAKE_ROUNDS };

	for (int i = 0; i < TAKE_ROUNDS; i++) {
		if (own(companion, OWNER_COLLECTOR))
			return true;
		nanosleep(&interval, NULL);
	}
	return false;
}

void companion_destroy(struct companion *companion)
{
	if (!companion)
		return;
	companion_stop(companion);
	if (!join(companion, JOIN_NS)) {
		pthread_detach(companion->thread);
		if (!__atomic_exchange_n(&companion->is_left, 1, __ATOMIC_ACQ_REL))
			return; /* the thread frees it */
	}
	companion_free(companion);
}

bool companion_has_ended(struct companion *companion)
{
	return join(companion, 0);
}

const char *companion_dropped(const struct companion *companion)
{
	return companion->dropped;
}

void *companion_player_get(struct companion *companion)
{
	companion_stop(companion);
	if (!companion->dropped && !take_over(companion))
		companion->dropped = "no processor was idle";
	if (companion->dropped)
		return NULL;
	__atomic_store_n(&companion->stop, 0, __ATOMIC_RELEASE);
	if (!companion->err)
		companion->err = step(companion);
	if (companion->err)
		companion->dropped = err_message(companion->err);
	return companion->dropped ? NULL : companion->player;
}

void companion_thread_move(const struct companion *companion)
{
	const int here = sched_getcpu();
	cpu_set_t all, one;

	assert(companion->has_thread);
	if (here < 0 || here >= CPU_SETSIZE ||
	    pthread_getaffinity_np(pthread_self(), sizeof(all), &all) != 0)
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)here, &one);
	pthread_setaffinity_np(companion->thread, sizeof(one), &one);
	pthread_setaffinity_np(companion->thread, sizeof(all), &all);
}

bool companion_discard(struct companion *companion)
{
	if (!join(companion, 0))
		return false;
	player_discard(companion);
	return true;
}
