/*
 * board: what a collector does for us from outside, so that we make no system calls for it that the
 * program does not make itself (stack_board.h; collect/threads.h). It finds which pages of stacks
 * were touched and the names of threads; and it checks whether a thread has a seccomp filter that
 * our hooks have not seen, made by system calls in the program's own assembly: then it says so in
 * tape_live, and from then on the rules of sandbox.c apply.
 */
#include "rec/spool.h"

#include <stdatomic.h>
#include <time.h>

#include "tape/stack_board.h"
#include "tape/tape_scan.h"

#include "core/poison.h"

enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 }; /* of <linux/futex.h>, which musl installations lack */

static_assert((int)STACK_BOARD_PLACES == (int)REC_LANES_MAX, "a place a lane");

static struct stack_place places[STACK_BOARD_PLACES];

/* In a forked child rec.live points to unmapped memory, and the epoch is 0. */
static bool is_ours(void)
{
	return rec.shared && atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed) != 0;
}

static bool is_collected(void)
{
	return rec.slots && !rec.is_streamed;
}

bool rec_board_is_read(void)
{
	return is_collected() && !rec.is_alone;
}

void rec_board_init(void)
{
	CHECK(!rec.slots || rec.live);
	if (!is_collected())
		return;
	rec_reserve_map();
	rec.live->filter_count = rec_sandbox_filter_count();
	rec.live->stack_board = (uintptr_t)places;
}

void rec_board_put(const struct rec_lane *lane, uint32_t tid)
{
	struct stack_place *place = &places[lane->index];
	uint32_t count;

	CHECK(lane->index < STACK_BOARD_PLACES);
	if (!is_collected())
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
	if (is_collected())
		__atomic_store_n(&places[lane->index].tid, 0, __ATOMIC_SEQ_CST);
}

REC_COLD bool rec_board_forbids(void)
{
	if (!is_collected() || !is_ours() ||
	    !atomic_load_explicit(LIVE(no_calls), memory_order_acquire))
		return false;
	atomic_store(&rec.sandbox, REC_SANDBOX_OWN);
	return true;
}

/*
 * Waits for the collector to do what we want of it, at most so many times a millisecond, and not for one
 * that was killed meanwhile. False: in vain.
 */
static bool settle(uint32_t *wanted_count, uint32_t *done_count, int rounds, int spin_rounds)
{
	enum { PAUSES = 200, ASK_ROUNDS = 100 };
	const struct sys_timeout a_moment = { .nanoseconds = 1000000 };
	const uint32_t wanted = __atomic_add_fetch(wanted_count, 1, __ATOMIC_SEQ_CST);

	rec_collector_wake();
	for (int round = 0; round < (rec_may_call() ? rounds : spin_rounds); round++) {
		const uint32_t done = __atomic_load_n(done_count, __ATOMIC_SEQ_CST);

		if ((int32_t)(done - wanted) >= 0)
			return true;
		if (rec_may_call() && round % ASK_ROUNDS == ASK_ROUNDS - 1 &&
		    rec_collector_is_gone())
			return false;
		if (rec_may_call())
			sys_call6(SYS_futex, (long)done_count, FUTEX_WAIT, done, (long)&a_moment, 0,
				  0);
		for (int i = 0; i < PAUSES && !rec_may_call(); i++)
			arch_pause();
	}
	return false;
}

static bool has_collector(void)
{
	return rec_board_is_read() && atomic_load(LIVE(collector_state)) == TAPE_COLLECTOR_RUNNING;
}

/* The collector checks all stacks one last time; we wait for it, but not for long. */
void rec_board_settle(void)
{
	enum { ROUNDS = 20, SPIN_ROUNDS = 2000 };

	if (has_collector())
		settle(&rec.live->looks_wanted, &rec.live->looks_done, ROUNDS, SPIN_ROUNDS);
}

/* --- a followed process: another one's collector ---------------------------------------------- */

static void rest(uint32_t *word, uint32_t value)
{
	const struct sys_timeout a_moment = { .nanoseconds = 1000000 };

	sys_call6(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&a_moment, 0, 0);
}

/* Our number in the first process's page; then the collector says in ours that it has seen it. */
static bool is_taken(const struct rec_first *first)
{
	enum { ROUNDS = 1000 };
	_Atomic uint32_t *child = (_Atomic uint32_t *)&first->live->scan_child;
	bool is_asked = false;

	for (int round = 0; round < ROUNDS && !atomic_load(LIVE(scan_asks)); round++) {
		uint32_t nobody = 0;

		if (!is_asked && atomic_compare_exchange_strong(child, &nobody, rec.pid)) {
			is_asked = true;
			atomic_fetch_add((_Atomic uint32_t *)&first->live->sealed_count, 1);
			sys_call6(SYS_futex, (long)&first->live->sealed_count, FUTEX_WAKE, 1, 0, 0,
				  0);
		}
		rest(&rec.live->scan_asks, 0);
	}
	return atomic_load(LIVE(scan_asks));
}

/* Others may be before us; the time for which we are stopped does not count. */
static bool is_scanned(const struct rec_first *first)
{
	enum { ROUNDS = 30000, ASK_ROUNDS = 100 };
	const uint32_t wanted = atomic_load(LIVE(scans_wanted));

	for (int round = 0; round < ROUNDS; round++) {
		const uint32_t done = atomic_load(LIVE(scans_done));

		if (done == wanted)
			return true;
		if (round % ASK_ROUNDS == ASK_ROUNDS - 1 && !rec_follow_is_collected(first))
			break;
		rest(&rec.live->scans_done, done);
	}
	/* Whoever comes now leaves it at that. */
	atomic_store(LIVE(scans_done), wanted);
	return false;
}

static void note_nobody(arch_word sp)
{
	const struct tape_scan_begin begin = { .id = 1, .reason = TAPE_SCAN_NOBODY };
	const struct rec_frame here = { .sp = sp,
					.pc = (uintptr_t)__builtin_return_address(0),
					.ret = ARCH_RETURN() };
	struct rec_tls *tls = &rec_tls;
	uint32_t phase;
	struct rec_lane *lane = rec_other_enter(tls, &here, &phase);

	if (!lane)
		return;
	rec_note(lane, TAPE_EXT_SCAN_BEGIN, &begin, sizeof(begin), NULL, 0);
	rec_lane_leave(tls, lane, phase);
}

static void scan_followed(uint64_t sp)
{
	struct rec_first first;
	bool is_done;

	if (!rec.options.follow || !rec.session || !rec_may_call() || atomic_load(LIVE(scan_asks)))
		return;
	rec.live->scan_sp = sp;
	rec.live->scan_tid = (uint32_t)sys_gettid();
	is_done = rec_follow_join(&first);
	if (is_done) {
		atomic_fetch_add(LIVE(scans_wanted), 1);
		is_done = is_taken(&first) && is_scanned(&first);
		rec_follow_leave(&first);
	}
	if (!is_done)
		note_nobody((arch_word)sp);
}

/*
 * The collector looks for leaks. It stops all threads for that, us too, so the time that it takes
 * does not count: we wait until it begins.
 */
void rec_board_scan(uint64_t sp)
{
	enum { ROUNDS = 5000, SPIN_ROUNDS = 500000 };

	if (!rec.options.leaks || atomic_load(&rec.state) != REC_ON || !is_ours() ||
	    !rec_is_own_process())
		return;
	if (!rec.slots)
		scan_followed(sp);
	if (!has_collector())
		return;
	rec.live->scan_sp = sp;
	rec.live->scan_tid = rec_may_call() ? (uint32_t)sys_gettid() : rec_tid(0);
	settle(&rec.live->scans_wanted, &rec.live->scans_done, ROUNDS, SPIN_ROUNDS);
}

/* Waits for a collector that lives, some seconds at most. */
static bool ask(uint32_t *wanted_count, uint32_t *done_count)
{
	enum { ROUNDS = 5000, SPIN_ROUNDS = 500000 };

	if (atomic_load(&rec.state) != REC_ON || !is_ours() || !rec_is_own_process() ||
	    !has_collector() || (rec_may_call() && rec_collector_is_gone()))
		return false;
	return settle(wanted_count, done_count, ROUNDS, SPIN_ROUNDS);
}

void rec_board_snapshot(void)
{
	ask(&rec.live->snapshots_wanted, &rec.live->snapshots_done);
}

/* Until the scan has begun: the search goes on while we do. */
bool rec_board_ask_scan(void)
{
	return ask(&rec.live->asked_scans, &rec.live->asked_done) &&
	       !atomic_load(LIVE(asked_failed));
}
