/*
 * board: what a collector does for us from outside, so that we make no system calls for it that the
 * program does not make itself (stack_board.h; collect/threads.h). It finds which pages of stacks
 * were touched and the names of threads; and it checks whether a thread has a seccomp filter that
 * our hooks have not seen, made by system calls in the program's own assembly: then it says so in
 * tape_live, and from then on the rules of sandbox.c apply.
 */
#include "rec/rec.h"

#include <stdatomic.h>
#include <time.h>

#include "tape/stack_board.h"

#include "core/poison.h"

enum { FUTEX_WAIT = 0 }; /* of <linux/futex.h>, which musl installations lack */

static_assert((int)STACK_BOARD_PLACES == (int)REC_LANES_MAX, "a place a lane");

static struct stack_place places[STACK_BOARD_PLACES];

/* In a forked child rec.live points to unmapped memory, and the epoch is 0. */
static bool is_ours(void)
{
	return rec.shared && atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed) != 0;
}

bool rec_board_is_read(void)
{
	return rec.slots && !rec.is_alone;
}

void rec_board_init(void)
{
	CHECK(!rec.slots || rec.live);
	if (!rec.slots)
		return;
	rec_reserve_map();
	rec.live->filter_count = rec_sandbox_filter_count();
	rec.live->stack_board = (uint64_t)places;
}

void rec_board_put(const struct rec_lane *lane, uint32_t tid)
{
	struct stack_place *place = &places[lane->index];
	uint32_t count;

	CHECK(lane->index < STACK_BOARD_PLACES);
	if (!rec.slots)
		return;
	count = atomic_load(LIVE(stack_count));
	place->grows = lane->stack_use.grows;
	place->top = lane->stack_use.top;
	place->limit = lane->stack_use.limit;
	place->before = lane->stack_use.before;
	__atomic_store_n(&place->tid, tid, __ATOMIC_RELEASE);
	while (count <= lane->index &&
	       !atomic_compare_exchange_weak(LIVE(stack_count), &count, lane->index + 1))
		;
}

void rec_board_clear(const struct rec_lane *lane)
{
	CHECK(lane->index < STACK_BOARD_PLACES);
	if (rec.slots)
		__atomic_store_n(&places[lane->index].tid, 0, __ATOMIC_SEQ_CST);
}

REC_COLD bool rec_board_forbids(void)
{
	if (!rec.slots || !is_ours() || !atomic_load_explicit(LIVE(no_calls), memory_order_acquire))
		return false;
	atomic_store(&rec.sandbox, REC_SANDBOX_OWN);
	return true;
}

/* The collector checks all stacks one last time; we wait for it, but not for long. */
void rec_board_settle(void)
{
	enum { ROUNDS = 20, SPIN_ROUNDS = 2000, PAUSES = 200 };
	const struct timespec a_moment = { .tv_nsec = 1000000 };
	const int rounds = rec_may_call() ? ROUNDS : SPIN_ROUNDS;
	uint32_t wanted;

	if (!rec_board_is_read() || atomic_load(LIVE(collector_state)) != TAPE_COLLECTOR_RUNNING)
		return;
	wanted = atomic_fetch_add(LIVE(looks_wanted), 1) + 1;
	rec_collector_wake();
	for (int round = 0; round < rounds; round++) {
		const uint32_t done = atomic_load(LIVE(looks_done));

		if ((int32_t)(done - wanted) >= 0)
			return;
		if (rec_may_call())
			sys_call6(SYS_futex, (long)&rec.live->looks_done, FUTEX_WAIT, done,
				  (long)&a_moment, 0, 0);
		for (int i = 0; i < PAUSES && !rec_may_call(); i++)
			arch_pause();
	}
}
