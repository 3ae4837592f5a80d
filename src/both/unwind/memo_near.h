/*
 * memo_near: the walk of most events, inlined where it is used: over the last frames only, by short
 * steps, up to a kept frame of the current stack. So all that it needs of a frame stays in a few
 * registers. Where it meets anything else it gives up, and unwind_memo_walk() walks from the
 * beginning. It uses what the including file defines for memo_walk.h.
 */
#ifndef MEMTAPE_UNWIND_MEMO_NEAR_H
#define MEMTAPE_UNWIND_MEMO_NEAR_H

#include "unwind/memo_walk.h"

enum { MEMO_NEAR_FRAMES = 16 };

/* A new frame; bp_slot as in struct memo_meta. */
struct memo_near_frame {
	arch_word slot, pc, sp, bp_slot;
	uint32_t place;
};

enum memo_near_end {
	MEMO_NEAR_MET,	 /* at a frame of the current stack, the rest of which holds */
	MEMO_NEAR_OTHER, /* the whole stack is one left behind, from near->index on */
	MEMO_NEAR_NONE	 /* gave up */
};

struct memo_near {
	uint32_t stack, index; /* what was met */
	arch_word slot, pc;    /* MET: of the frame there, as this walk read it, */
	arch_word bp_slot;     /* and where it read bp */
	uint32_t count;	       /* MET: of the frames inside of it; newest first: */
	struct memo_near_frame frames[MEMO_NEAR_FRAMES];
};

/* A kept frame that the walk is at, and whose outer frames do not depend on bp as it is there. */
static inline bool near_same(const struct memo_stack *stack, uint32_t kept, arch_word pc,
			     arch_word slot)
{
	const arch_word value = stack->pair[kept].value;

	CHECK(kept < stack->capacity); /* there is a sentinel at capacity, too */
	if (UNWIND_LINKS ? arch_code_address(value) != arch_code_address(pc)
			 : (value != pc) | (stack->pair[kept].slot != slot))
		return false;
	return (stack->meta[kept].flags & (MEMO_FRAME | MEMO_NEEDS_BP | MEMO_EXACT)) == MEMO_FRAME;
}

/* Whether a stack left behind, or what is outside of one of its frames, is this one. */
static inline bool near_other(const struct unwind_memo *memo, const struct memo_state *state,
			      struct memo_near *near)
{
	const uint64_t hash = memo_join_hash(state->sp, state->pc);
	const struct memo_join *join = &memo->joins[hash >> (64 - MEMO_JOIN_BITS)];
	const struct memo_stack *stack;

	if (likely(!memo->has_others || join->tag != (uint32_t)hash || join->stack == memo->here))
		return false;
	CHECK(join->stack < memo->count);
	stack = &memo->stacks[join->stack];
	near->index = join->index;
	near->stack = join->stack;
	return join->index >= stack->top && stack->meta[join->index].sp == state->sp &&
	       near_same(stack, join->index, state->pc, state->slot) &&
	       walk_verify(stack, join->index + 1) == stack->capacity;
}

/* Where a near walk is; kept: the next entry of the current stack that it may be at. */
struct memo_near_place {
	arch_word pc, sp, slot, bp_slot;
	uint32_t kept;
};

/*
 * The entries from at->kept, where the walk is, hold up to `bad` only: those frames are taken over,
 * and the walk goes on from the last of them. False: not by this walk.
 */
static bool near_resume(const struct memo_stack *now, struct memo_near_place *at, uint32_t bad,
			struct memo_near *near)
{
	const uint32_t first = at->kept;

	for (uint32_t i = first; i < bad; i++) {
		const struct memo_meta *meta = &now->meta[i];

		if ((meta->flags & (MEMO_FRAME | MEMO_NEEDS_BP | MEMO_EXACT)) != MEMO_FRAME ||
		    near->count == MEMO_NEAR_FRAMES)
			return false;
		if (i > first) {
			at->pc = now->pair[i].value;
			at->slot = now->pair[i].slot;
			at->sp = meta->sp;
			at->bp_slot = meta->bp_slot;
		}
		if (i + 1 < bad)
			near->frames[near->count++] =
				(struct memo_near_frame) { at->slot, at->pc, at->sp, at->bp_slot,
							   meta->flags >> MEMO_PLACE_SHIFT };
	}
	at->kept = bad;
	return true;
}

/*
 * Walks from *state, the caller of the hook. Changes nothing of what is kept. memo->fresh says how
 * many frames are new, as after unwind_memo_walk(), but they are in near->frames.
 */
static inline enum memo_near_end unwind_memo_near(struct unwind_memo *memo, void *context,
						  const struct memo_state *state,
						  struct memo_near *near)
{
	const struct memo_stack *now = &memo->now;
	arch_word pc = state->pc, sp = state->sp, slot = state->slot, bp_slot = 0;
	uint32_t kept = now->top, count = 0;

	CHECK(!state->exact);
	CHECK(now->meta[now->capacity].sp == MEMO_SP_END);
	memo->fresh = memo->cut = 0;
	for (;; count++) {
		struct memo_code code;
		arch_word cfa, saved;

		if (now->meta[kept].sp < sp)
			kept = walk_outwards(now, kept, sp);
		if (now->meta[kept].sp == sp && near_same(now, kept, pc, slot)) {
			const uint32_t bad = walk_verify(now, kept + 1);
			struct memo_near_place at = { pc, sp, slot, bp_slot, kept };

			if (likely(bad == now->capacity))
				break;
			near->count = count;
			if (!near_resume(now, &at, bad, near))
				return MEMO_NEAR_NONE;
			count = near->count;
			pc = at.pc;
			sp = at.sp;
			slot = at.slot;
			bp_slot = at.bp_slot;
			kept = at.kept;
		} else if (count == 0 && unlikely(near_other(memo, state, near))) {
			return MEMO_NEAR_OTHER;
		}
		code = walk_code(context, arch_code_address(pc) - 1);
		cfa = sp + memo_short_offset(code.step);
		saved = memo_short_saved(code.step);
		if (unlikely(!(code.step & 1) || count == MEMO_NEAR_FRAMES ||
			     !walk_is_known(context, sp, cfa)))
			return MEMO_NEAR_NONE;
		near->frames[count] =
			(struct memo_near_frame) { slot, pc, sp, bp_slot, code.place };
		slot = cfa - memo_short_ra(code.step);
		bp_slot = saved ? cfa - saved : 0;
		pc = walk_load(slot);
		sp = cfa;
	}
	if (unlikely(count > kept))
		return MEMO_NEAR_NONE;
	near->index = kept;
	near->bp_slot = bp_slot;
	near->slot = slot;
	near->pc = pc;
	near->count = memo->fresh = count;
	return MEMO_NEAR_MET;
}

/*
 * Where most stacks differ far out, near walks are in vain: a while without them then. One that is
 * in vain costs more than one that is not saves.
 */
enum { MEMO_NEAR_COST = 4, MEMO_NEAR_DEBT_MAX = 16, MEMO_NEAR_PAUSE = 64 };

static inline bool unwind_memo_near_begin(struct unwind_memo *memo)
{
	if (likely(memo->near_pause == 0))
		return true;
	memo->near_pause--;
	return false;
}

static inline void unwind_memo_near_end(struct unwind_memo *memo, bool is_good)
{
	if (likely(is_good)) {
		memo->near_debt -= memo->near_debt > 0;
		return;
	}
	memo->near_debt += MEMO_NEAR_COST;
	if (memo->near_debt <= MEMO_NEAR_DEBT_MAX)
		return;
	memo->near_debt = MEMO_NEAR_DEBT_MAX / 2;
	memo->near_pause = MEMO_NEAR_PAUSE;
}

#endif
