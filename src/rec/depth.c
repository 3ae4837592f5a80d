/*
 * depth: how deep the stack of the calling thread is, for those who want only that (`calls=1`).
 *
 * The base is where the stack began: the environment's place for the first thread, the thread's
 * control block, which stands above its stack, for others; or, where neither lies above the caller,
 * the caller seen first. A caller belongs to the stack when every page from it up to what is known
 * of the stack can be read, and else runs on a stack of its own - a coroutine, a signal handler -
 * which is told apart and not measured.
 */
#include "rec/rec.h"

#include <errno.h>
#include <pthread.h>

#include "core/poison.h"

enum {
	PAGE = 4096,
	STEP_BYTES = 1024,	  /* a change that is worth a record */
	PAGES_MAX = 1 << 16,	  /* of a stack that are looked at, at once */
	RED_ZONE_BYTES = 1 << 20, /* a guessed base may be this much too low */
	NO_SUCH_HOW = -1
};

/* See stack.c: the kernel reads eight bytes and changes nothing. */
static bool page_is_readable(uint64_t address)
{
	return SYS_CALL4(SYS_rt_sigprocmask, NO_SUCH_HOW, address, NULL, 8) != -EFAULT;
}

/* The first page from begin on, up to end, that cannot be read; or end. */
static uint64_t readable_until(uint64_t begin, uint64_t end)
{
	uint64_t at = begin & -(uint64_t)PAGE;

	for (unsigned i = 0; i < PAGES_MAX && at < end; i++, at += PAGE)
		if (!page_is_readable(at))
			return at;
	return u64_min(at, end);
}

static void base_find(struct rec_lane *lane, uint64_t sp)
{
	struct rec_depth *depth = &lane->depth;
	const uint64_t base = lane->tid == rec.pid ? rec.stack_base : (uint64_t)pthread_self();

	*depth = (struct rec_depth) { .tid = lane->tid, .first_base = rec.stack_base };
	depth->is_guess = base <= sp || readable_until(sp, base) != base;
	depth->base = depth->is_guess ? sp : base;
	depth->low = sp;
}

/* Whether the caller is on the thread's stack; then what is known of it reaches there. */
static REC_COLD bool reaches(struct rec_depth *depth, uint64_t sp)
{
	if (sp >= depth->other_low && sp < depth->other_high)
		return false;
	if (sp < depth->low && readable_until(sp, depth->low) == depth->low) {
		depth->low = sp;
		return true;
	}
	if (depth->is_guess && sp >= depth->base && sp - depth->base < RED_ZONE_BYTES &&
	    readable_until(depth->base, sp) == sp) {
		depth->base = sp;
		return true;
	}
	depth->other_low = sp & -(uint64_t)PAGE;
	depth->other_high = readable_until(sp, UINT64_MAX - PAGE);
	return false;
}

/* At the first event of a thread, when it is deeper than ever, and when enough has changed. */
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
	depth_note(lane, ticks,
		   caller->sp); /* before the stack: its nodes belong to the event's chunk */
	if (tape_fn_sizeless(fn) ? rec.options.calls_free_stacks : rec.options.calls_stacks)
		return rec_stack_take(lane, caller);
	return TAPE_NODE_NONE;
}
