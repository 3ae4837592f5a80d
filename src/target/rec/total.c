#include "rec/total.h"

#include "rec/calls.h"
#include "rec/moments.h"

#include "core/poison.h"

enum {
	CLAIMING_BITS = 13,    /* of `sum`: how many lanes claim more than they hold */
	PATIENCE_MIN = 16,     /* events a lane adds to the sum one by one before it claims */
	PATIENCE_MAX = 1 << 9, /* and in the worst case: claims are revoked at once */
	SHORT_TICKS = 1 << 15, /* a claim too short to be worth its start and end */
	SHARE_MIN = 1 << 10,   /* of several lanes; less is not worth a claim */
	RETURN_BYTES = 1 << 18 /* unused, by frees, before a lane returns them */
};

enum { MEMBARRIER_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER_EXPEDITED = 1 << 4 };

/* All atomic: written on slow paths of all threads. */
static struct {
	_Alignas(64) _Atomic int64_t sum; /* of claims, and below it the lanes that claim */
	_Alignas(64) _Atomic int64_t peak;
	_Atomic bool has_barrier;
	_Alignas(64) _Atomic uint64_t lock; /* to begin, change or end a claim */
} heap;

static int64_t sum_bytes(int64_t sum)
{
	return sum >> CLAIMING_BITS;
}

static int64_t sum_lanes(int64_t sum)
{
	return sum & ((1 << CLAIMING_BITS) - 1);
}

void rec_total_init(void)
{
	atomic_store(&heap.sum, 0);
	atomic_store(&heap.peak, 0);
	atomic_store(&heap.lock, 0);
	/* If each call's heap is needed nobody claims, and every event comes here. */
	atomic_store(&heap.has_barrier,
		     !rec.options.moments &&
			     SYS_CALL3(SYS_membarrier, MEMBARRIER_REGISTER_EXPEDITED, 0, 0) == 0);
}

/* The kernel never reports SIGKILL in it. */
static const uint64_t MASK_AS_IT_IS = UINT64_C(1) << 8;

static void mask_restore(const struct sys_signals *mask)
{
	if (mask->word[0] != MASK_AS_IT_IS) /* it was changed when it still might be */
		sys_signals_restore(mask);
}

/* A handler that runs while the lock is held could wait for a thread that waits for the lock. */
static bool lock(struct sys_signals *mask_ret)
{
	mask_ret->word[0] = MASK_AS_IT_IS;
	if (rec_may_call())
		sys_signals_block_all(mask_ret);
	if (rec_lock(&heap.lock))
		return true;
	mask_restore(mask_ret);
	return false;
}

static void unlock(const struct sys_signals *mask)
{
	rec_unlock(&heap.lock);
	mask_restore(mask);
}

/* Nobody claims: the sum is what is held. */
static void raise_peak(struct rec_lane *lane, int64_t bytes)
{
	int64_t peak = atomic_load(&heap.peak);

	while (bytes > peak && !atomic_compare_exchange_weak(&heap.peak, &peak, bytes))
		;
	rec_calls_peak(lane, (uint64_t)bytes);
}

/* With the lock: unused parts of the others' claims are returned. */
static void take_back(const struct rec_lane *lane)
{
	const uint32_t count = (uint32_t)u64_min(atomic_load(&rec.lane_count), REC_LANES_MAX);
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		struct rec_lane *other = atomic_load_explicit(&rec.lanes[i], memory_order_acquire);

		if (!other || other == lane || !atomic_load(&other->total.is_claiming))
			continue;
		atomic_store(&other->total.room, 0);
		any = true;
	}
	if (!any)
		return;
	if (rec_may_call()) /* else nobody claims any more */
		SYS_CALL3(SYS_membarrier, MEMBARRIER_EXPEDITED, 0, 0);
	for (uint32_t i = 0; i < count; i++) {
		struct rec_lane *other = atomic_load_explicit(&rec.lanes[i], memory_order_acquire);
		int64_t held;

		if (!other || other == lane || !atomic_load(&other->total.is_claiming))
			continue;
		held = atomic_load(&other->total.held);
		atomic_fetch_add(&heap.sum,
				 (held - atomic_load(&other->total.claim)) * (1 << CLAIMING_BITS) -
					 1);
		atomic_store(&other->total.claim, held);
		atomic_store(&other->total.is_claiming, false);
	}
}

/* A lane's possible share of what is left up to the peak. */
static int64_t share_of(int64_t left)
{
	const uint32_t lanes = atomic_load_explicit(&rec.lane_count, memory_order_relaxed);
	int64_t share;

	if (left <= 0 || !atomic_load_explicit(&heap.has_barrier, memory_order_relaxed))
		return 0;
	share = lanes > 1 ? left / (lanes < 8 ? lanes : 8) : left;
	return lanes > 1 && share < SHARE_MIN ? 0 : share;
}

/*
 * With the lock: the lane, whose own part of the sum is now `own`, claims a share beyond what it
 * holds. False: there is none; nothing has changed.
 */
static bool claim(struct rec_lane *lane, int64_t own)
{
	struct rec_total *total = &lane->total;
	const int64_t held = atomic_load(&total->held);
	const bool is_new = !atomic_load(&total->is_claiming);
	int64_t sum = atomic_load(&heap.sum);
	int64_t share;

	do {
		share = share_of(atomic_load(&heap.peak) - (sum_bytes(sum) - own + held));
		if (share == 0)
			return false;
	} while (!atomic_compare_exchange_weak(
		&heap.sum, &sum, sum + (held + share - own) * (1 << CLAIMING_BITS) + is_new));
	if (is_new)
		total->began = rec_ticks();
	atomic_store(&total->claim, held + share);
	atomic_store(&total->is_claiming, true);
	atomic_store(&total->room, (uint64_t)share + RETURN_BYTES);
	return true;
}

/* With the lock: reduces the lane's claim to what it holds. */
static int64_t claim_end(struct rec_lane *lane)
{
	struct rec_total *total = &lane->total;
	const int64_t held = atomic_load(&total->held);
	const int64_t change = (held - atomic_load(&total->claim)) * (1 << CLAIMING_BITS) - 1;

	atomic_store(&total->room, 0);
	atomic_store(&total->claim, held);
	atomic_store(&total->is_claiming, false);
	return atomic_fetch_add(&heap.sum, change) + change;
}

/* With the lock: the sum is above the peak, or was so. */
static void peak_settle(struct rec_lane *lane)
{
	if (sum_bytes(atomic_load(&heap.sum)) <= atomic_load(&heap.peak))
		return;
	take_back(lane);
	raise_peak(lane, sum_bytes(atomic_load(&heap.sum)));
}

static REC_COLD void settle_claiming(struct rec_lane *lane)
{
	struct rec_total *total = &lane->total;
	struct sys_signals mask;

	if (!lock(&mask))
		return;
	if (atomic_load(&total->is_claiming) && !claim(lane, atomic_load(&total->claim))) {
		if (rec_ticks() - total->began > SHORT_TICKS)
			total->patience = PATIENCE_MIN;
		else if (total->patience < PATIENCE_MAX)
			total->patience *= 2;
		total->since = 0;
		if (sum_bytes(claim_end(lane)) > atomic_load(&heap.peak))
			peak_settle(lane);
	}
	unlock(&mask);
}

static REC_COLD void begin_claiming(struct rec_lane *lane)
{
	struct rec_total *total = &lane->total;
	struct sys_signals mask;

	total->since = 0;
	if (share_of(atomic_load(&heap.peak) - sum_bytes(atomic_load(&heap.sum))) == 0 ||
	    !lock(&mask))
		return;
	claim(lane, atomic_load(&total->claim));
	unlock(&mask);
}

/* One by one. */
static void settle_each(struct rec_lane *lane)
{
	struct rec_total *total = &lane->total;
	const int64_t held = atomic_load_explicit(&total->held, memory_order_relaxed);
	const int64_t change = (held - atomic_load_explicit(&total->claim, memory_order_relaxed)) *
			       (1 << CLAIMING_BITS);
	const int64_t sum = atomic_fetch_add(&heap.sum, change) + change;
	struct sys_signals mask;

	atomic_store_explicit(&total->claim, held, memory_order_relaxed);
	if (unlikely(rec.options.moments))
		rec_moments_add(lane, (uint64_t)sum_bytes(sum));
	if (unlikely(sum_bytes(sum) > atomic_load(&heap.peak))) {
		total->since = 0;
		if (sum_lanes(sum) == 0) {
			raise_peak(lane, sum_bytes(sum));
		} else if (lock(&mask)) {
			peak_settle(lane);
			unlock(&mask);
		}
		return;
	}
	if (++total->since >= total->patience && !lane->nested)
		begin_claiming(lane);
}

void rec_total_settle(struct rec_lane *lane)
{
	struct rec_total *total = &lane->total;

	if (total->patience == 0)
		total->patience = PATIENCE_MIN;
	if (atomic_load_explicit(&total->is_claiming, memory_order_acquire))
		settle_claiming(lane);
	if (!atomic_load_explicit(&total->is_claiming, memory_order_acquire))
		settle_each(lane);
}

void rec_total_settle_all(void)
{
	struct sys_signals mask;

	if (!rec.options.counts)
		return;
	atomic_store(&heap.has_barrier, false);
	if (!lock(&mask))
		return;
	take_back(NULL);
	unlock(&mask);
}
