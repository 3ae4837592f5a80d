/*
 * lane: which stream a thread records to. A lane outlives its thread and serves the next one, so a
 * program that starts a thousand threads a second needs as many lanes as run at once.
 *
 * A hook comes here when tls->lane is NULL. The phase says why:
 *	NEW     the thread's first event: it gets a lane for good
 *	REAL    inside the real function; what an allocator calls itself is not an event. Or the
 *		hook's frame is gone (an exception, longjmp): then the lane is taken back
 *	RECORD  a signal handler interrupted the recorder: its events go to a second lane
 *	NESTED  the same once more: counted as lost
 *	DEAD    thread-local destructors and what follows them: a lane is borrowed for each event
 */
#include "rec/attach.h"
#include "rec/tables.h"
#include "rec/symbols.h"
#include "tape/tape_thread.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/poison.h"

__thread struct rec_tls rec_tls;

enum key_state { KEY_MISSING, KEY_BEING_MADE, KEY_MADE };

/* Its destructor ends the lanes of threads. */
static struct {
	_Atomic uint32_t state; /* enum key_state */
	pthread_key_t key;
	int (*set)(pthread_key_t key, const void *value);
} thread_key;

static bool lane_tables_map(struct rec_lane *lane)
{
	const size_t memo_bytes = unwind_memo_bytes(REC_MEMO_ENTRIES);
	void *memory = rec_map(memo_bytes);

	if (memory)
		unwind_memo_init(&lane->memo, memory, REC_MEMO_ENTRIES);
	if (!memory || !rec_tables_init(lane))
		return false;
	atomic_fetch_add(&rec.private_bytes, sizeof(*lane) + memo_bytes);
	return true;
}

/* An entry of rec.lanes, or rec.lanes_max. */
static uint32_t lane_index_take(void)
{
	uint32_t index = atomic_load(&rec.lane_count);

	while (index < rec.lanes_max &&
	       !atomic_compare_exchange_weak(&rec.lane_count, &index, index + 1))
		;
	return index;
}

static _Atomic bool lane_memory_missing;

/* The address space was full when the last lane was requested: retry now and then. */
static bool lane_memory_hoped_for(void)
{
	enum { EVERY = 1024 };
	static _Atomic uint32_t wanted;

	return !lane_memory_missing || atomic_fetch_add(&wanted, 1) % EVERY == 0;
}

static struct rec_lane *lane_create(void)
{
	struct rec_lane *lane;
	uint32_t index;

	if (atomic_load(&rec.lane_count) >= rec.lanes_max || !lane_memory_hoped_for())
		return NULL;
	lane = rec_map(sizeof(*lane));
	if (!lane) {
		lane_memory_missing = true;
		return NULL;
	}
	index = lane_tables_map(lane) ? lane_index_take() : rec.lanes_max;
	lane_memory_missing = !lane->tables || !lane->memo.joins;
	if (index >= rec.lanes_max) {
		if (lane->tables)
			rec_tables_deinit(lane);
		if (lane->memo.joins)
			rec_unmap(unwind_memo_memory(&lane->memo),
				  unwind_memo_bytes(REC_MEMO_ENTRIES));
		rec_unmap(lane, sizeof(*lane));
		return NULL;
	}
	lane->busy = 1;
	lane->next_node = TAPE_NODE_FIRST;
	lane->index = index;
	lane->generation = rec.generation;
	lane->stream = atomic_fetch_add((_Atomic uint32_t *)&rec.live->next_stream, 1);
	atomic_store_explicit(&rec.lanes[index], lane, memory_order_release);
	return lane;
}

static struct rec_lane *lane_reuse(void)
{
	const uint32_t count = (uint32_t)u64_min(atomic_load(&rec.lane_count), REC_LANES_MAX);

	for (uint32_t i = 0; i < count; i++) {
		struct rec_lane *lane = atomic_load_explicit(&rec.lanes[i], memory_order_acquire);
		uint32_t idle = 0;

		if (lane && atomic_load_explicit(&lane->busy, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong(&lane->busy, &idle, 1))
			return lane;
	}
	return NULL;
}

void rec_lane_release(struct rec_lane *lane)
{
	CHECK(atomic_load(&lane->busy) == 1);
	atomic_store_explicit(&lane->busy, 0, memory_order_release);
}

/* Its stream was one of a tape that is left. */
static REC_COLD void lane_begin_anew(struct rec_lane *lane)
{
	lane->generation = rec.generation;
	lane->cursor = lane->limit = lane->nodes = lane->records = NULL;
	lane->chunk = NULL;
	lane->codec = (struct tape_codec_state) { 0 };
	lane->next_node = TAPE_NODE_FIRST;
	lane->stream = atomic_fetch_add((_Atomic uint32_t *)&rec.live->next_stream, 1);
	lane->seq = 0;
	lane->tid = 0;
	lane->noted_ticks = lane->due_ns = 0;
	rec_stack_use_forget(lane);
}

/* False: nothing is recorded in this process, or not yet. */
static bool lane_follow(struct rec_lane *lane)
{
	const uint64_t epoch = atomic_load_explicit(&rec.shared->epoch, memory_order_acquire);

	if (epoch == 0 || lane->epoch == REC_EPOCH_DEAD)
		return false;
	if (unlikely(lane->generation != rec.generation))
		lane_begin_anew(lane);
	if (lane->epoch != epoch) { /* code was unmapped: what its addresses meant is over */
		rec_tables_forget(lane);
		lane->epoch = epoch;
	}
	return true;
}

/* Records whose stream it is from here on, if that has changed. */
static void lane_claim(struct rec_lane *lane, bool nested)
{
	struct tape_thread thread = { .tid = rec_tid(lane->index),
				      .lane = nested,
				      .handle = (uint64_t)pthread_self() };

	if (!lane_follow(lane) || (lane->tid == thread.tid && lane->nested == nested))
		return;
	lane->tid = thread.tid;
	lane->nested = nested;
	lane->mapped_begin = lane->mapped_end = 0;
	unwind_memo_clear(&lane->memo);
	rec_stack_use_forget(lane);
	rec_touched_begin(lane);
	rec_thread_name(lane->name);
	rec_note(lane, TAPE_EXT_THREAD, &thread, sizeof(thread), lane->name,
		 strnlen(lane->name, sizeof(lane->name)));
	if (rec_tls.birth) {
		const struct tape_thread_birth birth = { .number = rec_tls.birth };

		rec_note(lane, TAPE_EXT_THREAD_BIRTH, &birth, sizeof(birth), NULL, 0);
		rec_tls.birth = 0;
	}
}

static struct rec_lane *lane_take(void)
{
	struct rec_lane *lane = lane_reuse();

	return lane ? lane : lane_create();
}

bool rec_lane_sync(struct rec_lane *lane)
{
	if (lane_follow(lane)) {
		if (unlikely(lane->tid == 0)) /* begun anew */
			lane_claim(lane, lane == rec_tls.nested);
		return true;
	}
	if (lane->epoch == REC_EPOCH_DEAD ||
	    atomic_load_explicit(&rec.shared->epoch, memory_order_acquire) != 0)
		return false;
	if (atomic_load(&rec.state) != REC_ON)
		rec_lost(TAPE_LOST_STOPPED);
	else if (lane != rec_tls.nested) /* else the interrupted code may still use the tape */
		rec_child();
	return false;
}

struct rec_lane *rec_lane_renew(const struct rec_lane *lane, const struct rec_frame *caller)
{
	struct rec_tls *tls = &rec_tls;

	if (lane->epoch != REC_EPOCH_DEAD || !tls->own)
		return NULL;
	tls->lane = NULL;
	tls->phase = REC_PHASE_RECORD;
	tls->caller = *caller;
	return tls->own;
}

/* The kept stacks are forgotten: the caller walks again. */
bool rec_lane_grow_memo(struct rec_lane *lane)
{
	const uint32_t old = lane->memo.now.capacity, capacity = (old + 2) * 4 - 2;
	const size_t bytes = unwind_memo_bytes(capacity);
	void *memory, *before = unwind_memo_memory(&lane->memo);

	if (capacity > REC_MEMO_ENTRIES_MAX)
		return false;
	memory = rec_map(bytes);
	if (!memory)
		return false;
	unwind_memo_init(&lane->memo, memory, capacity);
	if (old > REC_MEMO_ENTRIES) /* only now: a handler may leave this function for good */
		rec_unmap(before, unwind_memo_bytes(old));
	atomic_fetch_add(&rec.private_bytes, bytes);
	return true;
}

/*
 * Whether the hook that took the lane was left without its end. If its return address is no longer
 * where it was, that proves it; so does a caller further out, except for a handler on an alternate
 * stack, which can interrupt the recorder and not the allocator.
 */
static bool hook_was_left(const struct rec_tls *tls, const struct rec_frame *caller)
{
	const arch_word slot = arch_return_slot(&tls->caller.ret, tls->caller.sp);

	if (arch_code_address(*(const volatile arch_word *)slot) !=
	    arch_code_address(tls->caller.pc))
		return true;
	return tls->phase == REC_PHASE_REAL && caller->sp > tls->caller.sp;
}

static struct rec_lane *enter_own(struct rec_tls *tls, const struct rec_frame *caller)
{
	tls->phase = REC_PHASE_REAL; /* before the caller: a handler may come in between */
	atomic_signal_fence(memory_order_seq_cst);
	tls->caller = *caller;
	tls->new_fn = 0;
	return tls->own;
}

/*
 * A thread without its own lane waits for an idle one: others hold theirs for one event, or for
 * good; REC_LANES_SHARED of them are never given away for good.
 */
static struct rec_lane *enter_borrow(struct rec_tls *tls, const struct rec_frame *caller)
{
	enum { PATIENCE = 100000, PATIENCE_MIN = 1 };
	static _Atomic uint32_t patience =
		PATIENCE; /* if no lane is available: not at each event */
	const uint32_t rounds = atomic_load_explicit(&patience, memory_order_relaxed);
	struct rec_lane *lane = NULL;

	tls->phase = REC_PHASE_RECORD;
	tls->caller = *caller;
	for (uint32_t i = 0; !lane && i < rounds; i++) {
		lane = lane_take();
		if (!lane && i + 1 < rounds)
			rec_yield();
	}
	if (lane && rounds != PATIENCE)
		atomic_store_explicit(&patience, PATIENCE, memory_order_relaxed);
	else if (!lane && rounds > PATIENCE_MIN)
		atomic_store_explicit(&patience, rounds / 2, memory_order_relaxed);
	if (lane)
		lane_claim(lane, false);
	else
		rec_lost(TAPE_LOST_NO_THREAD);
	tls->borrowed = lane;
	tls->phase = lane ? REC_PHASE_REAL : REC_PHASE_BORROW;
	return lane;
}

/* The thread's first event: a lane for its lifetime, if there are enough. */
static struct rec_lane *enter_new(struct rec_tls *tls, const struct rec_frame *caller,
				  uint32_t *phase_ret)
{
	tls->phase = REC_PHASE_RECORD;
	tls->caller = *caller;
	if (atomic_fetch_add(&rec.lanes_owned, 1) + REC_LANES_SHARED < rec.lanes_max)
		tls->own = lane_take();
	if (!tls->own) {
		atomic_fetch_sub(&rec.lanes_owned, 1);
		*phase_ret = REC_PHASE_BORROW;
		return enter_borrow(tls, caller);
	}
	lane_claim(tls->own, false);
	rec_stack_use_begin(tls->own);
	rec_board_put(tls->own, tls->own->tid);
	rec_thread_key_set(tls);
	tls->phase = REC_PHASE_REAL;
	return tls->own;
}

static struct rec_lane *enter_nested(struct rec_tls *tls)
{
	tls->phase = REC_PHASE_NESTED;
	if (!tls->nested) {
		tls->nested = lane_take();
		if (tls->nested)
			lane_claim(tls->nested, true);
	}
	if (!tls->nested) {
		rec_lost(TAPE_LOST_NESTED);
		tls->phase = REC_PHASE_RECORD;
	}
	return tls->nested;
}

/* The running hook was left for good: the lane it took is taken back. */
static struct rec_lane *enter_left(struct rec_tls *tls, const struct rec_frame *caller,
				   uint32_t *phase_ret)
{
	if (tls->own) {
		unwind_memo_clear(&tls->own->memo);
		return enter_own(tls, caller);
	}
	if (tls->borrowed) {
		unwind_memo_clear(&tls->borrowed->memo);
		rec_lane_release(tls->borrowed);
	}
	*phase_ret = REC_PHASE_BORROW;
	return enter_borrow(tls, caller);
}

static struct rec_lane *enter_recording(struct rec_tls *tls, const struct rec_frame *caller,
					uint32_t *phase_ret)
{
	*phase_ret = REC_PHASE_IDLE;
	switch ((enum rec_phase)tls->phase) {
	case REC_PHASE_NEW:
		return enter_new(tls, caller, phase_ret);
	case REC_PHASE_IDLE:
		return enter_own(tls, caller);
	case REC_PHASE_REAL:
		if (!hook_was_left(tls, caller))
			return NULL;
		return enter_left(tls, caller, phase_ret);
	case REC_PHASE_RECORD:
		if (hook_was_left(tls, caller))
			return enter_left(tls, caller, phase_ret);
		*phase_ret = REC_PHASE_RECORD;
		return enter_nested(tls);
	case REC_PHASE_NESTED:
		if (hook_was_left(tls, caller))
			return enter_left(tls, caller, phase_ret);
		rec_lost(TAPE_LOST_NESTED);
		return NULL;
	case REC_PHASE_BORROW:
		*phase_ret = REC_PHASE_BORROW;
		return enter_borrow(tls, caller);
	}
	return NULL;
}

/*
 * A child of a fork, perhaps of one that bypassed our hook. If the fork came from a handler that
 * interrupted the recorder, its tape waits until the recorder is through.
 */
static REC_COLD bool enter_child(struct rec_tls *tls, const struct rec_frame *caller)
{
	rec_forked(rec_is_interrupted(tls));
	if (rec_is_interrupted(tls) && !hook_was_left(tls, caller))
		return false;
	rec_child();
	tls->lane = NULL;
	return atomic_load(&rec.state) == REC_ON;
}

struct rec_lane *rec_lane_enter(struct rec_tls *tls, const struct rec_frame *caller,
				uint32_t *phase_ret)
{
	struct rec_lane *lane;

	if (unlikely(atomic_load_explicit(&rec.state, memory_order_acquire) != REC_ON) &&
	    !rec_start())
		return NULL;
	if (unlikely(atomic_load_explicit(&rec.shared->epoch, memory_order_relaxed) == 0) &&
	    !enter_child(tls, caller))
		return NULL;
	tls->lane = NULL; /* if recording began in this hook, it was put back */
	lane = enter_recording(tls, caller, phase_ret);
	if (lane && *phase_ret != REC_PHASE_RECORD)
		tls->phase = REC_PHASE_REAL;
	if (lane)
		rec_latency_begin(lane, false);
	return lane;
}

struct rec_lane *rec_other_enter(struct rec_tls *tls, const struct rec_frame *caller,
				 uint32_t *phase_ret)
{
	struct rec_lane *lane = tls->lane;

	*phase_ret = REC_PHASE_IDLE;
	if (lane) {
		tls->lane = NULL;
		tls->caller = *caller;
	} else if (atomic_load_explicit(&rec.state, memory_order_acquire) != REC_ON) {
		return NULL; /* recording does not begin here: other.h */
	} else if (tls->phase == REC_PHASE_REAL && tls->own) {
		*phase_ret = REC_PHASE_REAL;
		lane = tls->own;
	} else {
		lane = rec_lane_enter(tls, caller, phase_ret);
	}
	if (lane)
		tls->phase = lane == tls->nested ? REC_PHASE_NESTED : REC_PHASE_RECORD;
	atomic_signal_fence(memory_order_seq_cst);
	return lane;
}

void rec_lane_leave(struct rec_tls *tls, struct rec_lane *lane, uint32_t phase)
{
	CHECK(lane);
	atomic_signal_fence(memory_order_seq_cst);
	/* phase REAL: what the real function called is left, and not its hook */
	if (lane->is_freeing && phase != REC_PHASE_REAL) {
		const uint64_t latency = rec_latency_end(lane);

		tls->phase = lane == tls->nested ? REC_PHASE_NESTED : REC_PHASE_RECORD;
		atomic_signal_fence(memory_order_seq_cst);
		rec_latency_note(lane, latency);
		atomic_signal_fence(memory_order_seq_cst);
	}
	if (phase == REC_PHASE_BORROW) {
		tls->borrowed = NULL;
		rec_lane_release(lane);
	}
	tls->phase = phase;
	atomic_signal_fence(memory_order_seq_cst);
	if (phase == REC_PHASE_IDLE && !rec.options.latency && !rec.options.zero)
		tls->lane = tls->own;
}

/* Where threads are in a library of its own (glibc before 2.34), that may be loaded later. */
bool rec_thread_key_create(void)
{
	int (*create)(pthread_key_t * key, void (*end)(void *value));
	uint32_t missing = KEY_MISSING;
	bool is_made;

	if (!atomic_compare_exchange_strong(&thread_key.state, &missing, KEY_BEING_MADE))
		return missing == KEY_MADE;
	create = (__typeof__(create))rec_libc_function("pthread_key_create");
	thread_key.set = (__typeof__(thread_key.set))rec_libc_function("pthread_setspecific");
	is_made = create && thread_key.set && create(&thread_key.key, rec_thread_end) == 0;
	atomic_store(&thread_key.state, is_made ? KEY_MADE : KEY_MISSING);
	return is_made;
}

bool rec_thread_key_set(struct rec_tls *tls)
{
	return rec_thread_key_create() && thread_key.set(thread_key.key, tls) == 0;
}

void rec_lanes_reset(void)
{
	rec_tls.lane = rec_tls.own = rec_tls.nested = rec_tls.borrowed = NULL;
	rec_tls.phase = REC_PHASE_NEW;
	rec_tls.rounds = 0;
	for (uint32_t i = 0; i < REC_LANES_MAX && rec.lanes[i]; i++) {
		rec.lanes[i]->epoch = REC_EPOCH_DEAD;
		rec.lanes[i] = NULL;
	}
	rec.lane_count = rec.lanes_owned = rec.sealed = 0;
}
