/*
 * depth: the depth of the calling thread's stack, if only that is requested (`calls=1`).
 *
 * The base is where the stack began: the environment's place for the first thread, the thread's
 * control block, which stands above its stack, for others; or, where neither lies above the caller,
 * the caller seen first. A caller belongs to the stack if every page from it up to the known part
 * of the stack can be read; else it runs on another stack - a coroutine, a signal handler - which
 * is recognised and not measured.
 *
 * Probing a page is a system call. Results are remembered, for some other stacks as well; still, a
 * thread that switches between many would probe at every event. So the number of pages a thread may
 * probe is limited: beyond it a caller outside the known part is not measured, and the reported
 * depth remains valid as a lower bound.
 */
#include "rec/rec.h"

#include <errno.h>
#include <pthread.h>

#include "core/poison.h"

enum {
	PAGE = 4096,
	STEP_BYTES = 1024,	  /* a change worth a record */
	PAGES_MAX = 1 << 16,	  /* of a stack, probed at once */
	PROBES_MAX = 1 << 18,	  /* pages that a thread may probe; some tens of ms in all */
	RED_ZONE_BYTES = 1 << 20, /* a guessed base may be this much too low */
	NO_SUCH_HOW = -1
};

static const uint64_t TOLD_NOTHING = UINT64_C(1) << 63; /* far from all depths */

/* See stack.c: the kernel reads eight bytes and changes nothing. */
static bool page_is_readable(uint64_t address)
{
	if (!rec_may_call())
		return rec_stack_use_holds(address, address + 8);
	return sys_can_read((const void *)(uintptr_t)address);
}

/* Where reading from begin on fails, or probing stops; or end. */
static uint64_t readable_until(struct rec_depth *depth, uint64_t begin, uint64_t end)
{
	const uint64_t pages = u64_min(PAGES_MAX, depth->probes_left);
	uint64_t at = begin & -(uint64_t)PAGE;

	for (uint64_t i = 0; i < pages && at < end; i++, at += PAGE) {
		depth->probes_left--;
		if (!page_is_readable(at))
			return at;
	}
	return u64_min(at, end);
}

/* A lane lent to threads for each event cannot distinguish them: they share a limit. */
static uint32_t probes_of(const struct rec_lane *lane)
{
	const bool is_new =
		lane->depth.tid == 0 || (lane->depth.tid != lane->tid && rec_tls.borrowed != lane);

	return is_new ? PROBES_MAX : lane->depth.probes_left;
}

static REC_COLD void base_find(struct rec_lane *lane, uint64_t sp)
{
	struct rec_depth *depth = &lane->depth;
	const uint64_t base = lane->tid == rec.pid ? rec.stack_base : (uint64_t)pthread_self();

	*depth = (struct rec_depth) { .tid = lane->tid,
				      .first_base = rec.stack_base,
				      .probes_left = probes_of(lane),
				      .told_bytes = TOLD_NOTHING };
	depth->is_guess = base <= sp || readable_until(depth, sp, base) != base;
	depth->base = depth->is_guess ? sp : base;
	depth->low = sp;
}

static bool is_on_other(const struct rec_depth *depth, uint64_t sp)
{
	for (unsigned i = 0; i < REC_DEPTH_OTHERS; i++)
		if (sp >= depth->others[i].low && sp < depth->others[i].high)
			return true;
	return false;
}

/* The next place upwards whose owner is known. */
static uint64_t known_above(const struct rec_depth *depth, uint64_t sp)
{
	uint64_t known = sp < depth->low ? depth->low : UINT64_MAX - PAGE;

	for (unsigned i = 0; i < REC_DEPTH_OTHERS; i++)
		if (depth->others[i].high && sp < depth->others[i].low)
			known = u64_min(known, depth->others[i].low);
	return known;
}

/* Another stack, or one of the known ones further down. */
static void other_add(struct rec_depth *depth, uint64_t sp, uint64_t end)
{
	const uint64_t low = sp & -(uint64_t)PAGE;

	for (unsigned i = 0; i < REC_DEPTH_OTHERS; i++) {
		if (depth->others[i].high && depth->others[i].low == end) {
			depth->others[i].low = low;
			return;
		}
	}
	depth->others[depth->other_next].low = low;
	depth->others[depth->other_next].high = end;
	depth->other_next = (depth->other_next + 1) % REC_DEPTH_OTHERS;
}

/* Whether the caller is on the thread's stack; then the known part is extended to it. */
static REC_COLD bool reaches(struct rec_depth *depth, uint64_t sp)
{
	uint64_t end;

	if (depth->probes_left == 0 || is_on_other(depth, sp))
		return false;
	if (depth->is_guess && sp >= depth->base && sp - depth->base < RED_ZONE_BYTES &&
	    readable_until(depth, depth->base, sp) == sp) {
		depth->base = sp;
		return true;
	}
	end = readable_until(depth, sp, known_above(depth, sp));
	if (end == depth->low && sp < depth->low) {
		depth->low = sp;
		return true;
	}
	other_add(depth, sp, end);
	return false;
}

/* At a thread's first event, when it is deeper than ever, and when the depth has changed enough. */
static void depth_note(struct rec_lane *lane, uint64_t ticks, uint64_t sp)
{
	struct rec_depth *depth = &lane->depth;
	struct tape_stack_depth record;

	if (unlikely(depth->tid != lane->tid ||
		     (depth->is_guess && depth->first_base != rec.stack_base)))
		base_find(lane, sp);
	if (unlikely(sp < depth->low || sp > depth->base) && !reaches(depth, sp))
		return;
	record.bytes = depth->base - sp;
	if (likely(record.bytes <= depth->max_bytes &&
		   record.bytes - depth->told_bytes + STEP_BYTES < 2 * STEP_BYTES))
		return;
	depth->max_bytes = u64_max(depth->max_bytes, record.bytes);
	depth->told_bytes = record.bytes;
	rec_note_at(lane, ticks, TAPE_EXT_STACK_DEPTH, &record, sizeof(record), NULL, 0);
}

uint32_t rec_depth_take(struct rec_lane *lane, unsigned fn, uint64_t ticks,
			const struct rec_frame *caller)
{
	CHECK(rec.options.calls);
	CHECK(fn < TAPE_FN_COUNT);
	depth_note(lane, ticks,
		   caller->sp); /* before the stack: its nodes belong to the event's chunk */
	if (tape_fn_sizeless(fn) ? rec.options.calls_free_stacks : rec.options.calls_stacks)
		return rec_stack_take(lane, caller);
	return TAPE_NODE_NONE;
}

uint64_t rec_depth_peak(struct rec_lane *lane, uint64_t sp)
{
	struct rec_depth *depth = &lane->depth;

	if (depth->tid != lane->tid || (depth->is_guess && depth->first_base != rec.stack_base))
		base_find(lane, sp);
	if ((sp >= depth->low && sp <= depth->base) || reaches(depth, sp))
		depth->max_bytes = u64_max(depth->max_bytes, depth->base - sp);
	return depth->max_bytes;
}

void rec_depth_end(struct rec_lane *lane, uint64_t sp)
{
	if (lane->depth.tid != lane->tid)
		depth_note(lane, rec_ticks() >> rec.tick_shift, sp);
}
