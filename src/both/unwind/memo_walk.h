/*
 * memo_walk: the walk over a memo (unwind/memo.h), inlined where it is used because it runs at
 * every event. The including file defines before:
 *
 *	static inline struct memo_code walk_code(void *context, arch_word lookup_pc);
 *		information about a pc; a hit must cost only a few instructions
 *	static bool walk_slow(void *context, struct memo_state *state, bool *end_ret);
 *		one step with the full interpreter
 *	static bool walk_known(void *context, arch_word lookup_pc);
 *		whether the pc is in code: a return address that was only guessed may be trusted
 *	static bool walk_mapped(void *context, arch_word begin, arch_word end);
 *		whether all of [begin, end) can be read
 *	static inline bool walk_is_known(void *context, arch_word begin, arch_word end);
 *		the same, as far as known without probing
 */
#ifndef MEMTAPE_UNWIND_MEMO_WALK_H
#define MEMTAPE_UNWIND_MEMO_WALK_H

#include "unwind/memo_step.h"

/* The first entry from `from` on that no longer holds, or capacity. The hot loop. */
static inline uint32_t walk_verify(const struct memo_stack *stack, uint32_t from)
{
	const struct memo_pair *pair = stack->pair + from;
	const struct memo_pair *end = stack->pair + stack->capacity;

	CHECK(from <= stack->capacity);
	while (end - pair >= 4) {
		if (unlikely(walk_load(pair[0].slot) != pair[0].value))
			return (uint32_t)(pair - stack->pair);
		if (unlikely(walk_load(pair[1].slot) != pair[1].value))
			return (uint32_t)(pair - stack->pair) + 1;
		if (unlikely(walk_load(pair[2].slot) != pair[2].value))
			return (uint32_t)(pair - stack->pair) + 2;
		if (unlikely(walk_load(pair[3].slot) != pair[3].value))
			return (uint32_t)(pair - stack->pair) + 3;
		pair += 4;
	}
	for (; pair < end; pair++)
		if (unlikely(walk_load(pair->slot) != pair->value))
			break;
	return (uint32_t)(pair - stack->pair);
}

/* Wherever its callee saved the return address, and whether that is signed there. */
static inline bool walk_same_link(const struct memo_stack *stack, uint32_t kept,
				  const struct memo_state *state)
{
	const struct memo_meta *meta = &stack->meta[kept];

	return arch_code_address(stack->pair[kept].value) == arch_code_address(state->pc) &&
	       meta->flags & MEMO_FRAME && !(meta->flags & MEMO_EXACT) == !state->exact &&
	       (!state->exact || stack->pair[kept].slot == state->slot) &&
	       (!(meta->flags & MEMO_NEEDS_BP) || meta->bp == state->bp);
}

static inline bool walk_same(const struct memo_stack *stack, uint32_t kept,
			     const struct memo_state *state)
{
	const struct memo_meta *meta = &stack->meta[kept];

	CHECK(kept < stack->capacity);
	if (UNWIND_LINKS)
		return walk_same_link(stack, kept, state);
	return stack->pair[kept].value == state->pc && stack->pair[kept].slot == state->slot &&
	       meta->flags & MEMO_FRAME &&
	       (!(meta->flags & MEMO_NEEDS_BP) || meta->bp == state->bp);
}

/* Everything inside of the kept frame is new: its bp comes from elsewhere now. */
static inline void walk_join(struct unwind_memo *memo, const struct memo_stack *stack,
			     uint32_t kept, const struct memo_state *state)
{
	const struct memo_meta *meta = &stack->meta[kept];

	CHECK(kept < stack->capacity);
	if (likely(!(meta->flags & MEMO_NEEDS_BP)))
		return;
	if (state->bp_slot)
		fresh_push(memo, (struct memo_pair) { state->bp_slot, state->bp },
			   (struct memo_meta) { .sp = meta->sp - 1 });
	else
		walk_need_bp(memo, state->bp);
}

/* The first entry of the current stack at sp or further out, which is not at `kept`. */
static inline uint32_t walk_outwards(const struct memo_stack *stack, uint32_t kept, arch_word sp)
{
	enum { NEAR = 8 };
	uint32_t below, above = stack->capacity;

	CHECK(kept < stack->capacity);
	for (uint32_t i = 0; i < NEAR; i++)
		if (stack->meta[++kept].sp >= sp)
			return kept;
	for (below = kept; above - below > 1;) { /* the result is in (below, above] */
		const uint32_t middle = below + (above - below) / 2;

		if (stack->meta[middle].sp < sp)
			below = middle;
		else
			above = middle;
	}
	return above;
}

/* A frame of a stack left behind that is in the walk's state. */
static inline bool walk_other(const struct unwind_memo *memo, const struct memo_state *state,
			      struct memo_join *join_ret)
{
	const uint64_t hash = memo_join_hash(state->sp, state->pc);
	const struct memo_join *join = &memo->joins[hash >> (64 - MEMO_JOIN_BITS)];
	const struct memo_stack *stack = &memo->stacks[join->stack];

	CHECK(join->stack < memo->count);
	if (likely(join->tag != (uint32_t)hash) || join->stack == memo->here ||
	    join->index < stack->top || stack->meta[join->index].sp != state->sp ||
	    !walk_same(stack, join->index, state))
		return false;
	*join_ret = *join;
	return true;
}

/* bp in the frame outside of all fresh ones, when that frame itself did not read it. */
static arch_word walk_bp_inherited(const struct unwind_memo *memo, arch_word entry_bp)
{
	for (uint32_t i = memo->fresh; i > memo->cut; i--) {
		const struct memo_meta *meta = &memo->fresh_meta[i - 1];

		if (meta->flags & MEMO_FRAME && meta->bp_slot)
			return walk_load(meta->bp_slot);
	}
	return entry_bp;
}

/*
 * The kept frames from `kept` on hold only up to `bad`: take those over as fresh ones and go on
 * from the last of them. Returns the entry behind that; UINT32_MAX: no room.
 */
static uint32_t walk_resume(struct unwind_memo *memo, const struct memo_stack *stack,
			    struct memo_state *state, uint32_t kept, uint32_t bad,
			    arch_word entry_bp)
{
	uint32_t last = bad - 1;
	uint32_t count;

	CHECK(kept < bad && bad <= stack->capacity);
	while (!(stack->meta[last].flags & MEMO_FRAME))
		last--;
	if (last == kept)
		return kept + 1;
	count = last - kept;
	if (memo->fresh + count + 4 > stack->capacity)
		return UINT32_MAX;
	walk_join(memo, stack, kept, state);
	memcpy(memo->fresh_pair + memo->fresh, stack->pair + kept,
	       count * sizeof(struct memo_pair));
	memcpy(memo->fresh_meta + memo->fresh, stack->meta + kept,
	       count * sizeof(struct memo_meta));
	memo->fresh_meta[memo->fresh].bp_slot = state->bp_slot;
	if (UNWIND_LINKS)
		memo->fresh_pair[memo->fresh] = (struct memo_pair) { state->slot, state->pc };
	memo->fresh += count;
	*state = (struct memo_state) {
		.pc = stack->pair[last].value,
		.slot = stack->pair[last].slot,
		.sp = stack->meta[last].sp,
		.bp_slot = stack->meta[last].bp_slot,
		.exact = stack->meta[last].flags & MEMO_EXACT,
	};
	state->bp = state->bp_slot ? walk_load(state->bp_slot) : walk_bp_inherited(memo, entry_bp);
	return last + 1;
}

/* Whether searching the stacks left behind from this caller on paid so far. */
static inline int8_t *walk_search_trial(struct unwind_memo *memo, arch_word pc)
{
	return &memo->searches[memo_join_hash(0, pc) >> (64 - MEMO_TRIAL_BITS)];
}

enum {
	WALK_FEW = 2 * MEMO_LEAVE_MIN, /* entries */
	WALK_FIRST = 256	       /* bytes */
};

/*
 * A stack left behind is met at a frame: does it hold? MEMO_COMPLETE: no, the walk goes on. If only
 * a few entries hold it is ignored: taking them over costs as much as walking.
 */
static enum memo_end walk_verify_other(struct unwind_memo *memo, struct memo_state *state,
				       const struct memo_join *join, arch_word entry_bp,
				       int8_t *trial)
{
	const struct memo_stack *stack = &memo->stacks[join->stack];
	const uint32_t bad = walk_verify(stack, join->index + 1);
	const bool is_good = bad - join->index > WALK_FEW;

	if (is_good)
		memo_trial_end(trial, true);
	if (likely(bad == stack->capacity)) {
		walk_join(memo, stack, join->index, state);
		return MEMO_MET_OTHER;
	}
	if (is_good && walk_resume(memo, stack, state, join->index, bad, entry_bp) == UINT32_MAX)
		return MEMO_FULL;
	return MEMO_COMPLETE;
}

/* Where a walk met a kept stack, once unwind_memo_walk() has said that it did. */
struct memo_meeting {
	uint32_t index; /* entry; of the current stack but for MEMO_MET_OTHER */
	uint32_t stack; /* MEMO_MET_OTHER */
};

/* One frame further out; false: the walk ends, see *end_ret. */
static inline bool walk_on(struct unwind_memo *memo, void *context, struct memo_state *state,
			   arch_word *entry_bp, enum memo_end *end_ret)
{
	enum walk_step step;
	struct memo_code code;

	if (unlikely(memo->fresh + 4 > memo->now.capacity)) {
		*end_ret = MEMO_FULL;
		return false;
	}
	code = walk_code(context, arch_code_address(state->pc) - !state->exact);
	fresh_push_frame(memo, state, code.place);
	step = walk_over(memo, context, state, code.step);
	if (unlikely(step != WALK_ON)) {
		*end_ret = step == WALK_END ? MEMO_COMPLETE : MEMO_TRUNCATED;
		return false;
	}
	if (unlikely(memo->cut == memo->fresh))
		*entry_bp = state->bp;
	return true;
}

/* Walks on if nothing kept was met at once. */
static inline enum memo_end walk_far(struct unwind_memo *memo, void *context,
				     struct memo_state *state, uint32_t kept, arch_word entry_bp,
				     struct memo_meeting *met_ret)
{
	int8_t *trial = walk_search_trial(memo, state->pc);
	const bool searches = memo->has_others && memo_trial_begin(memo, *trial);
	/* Others are of use in the first frames, or where the current stack does not reach. */
	const uint64_t below_sp =
		searches ? u64_max(state->sp + WALK_FIRST, memo->now.meta[memo->now.top].sp) : 0;
	enum memo_end end;

	for (;;) {
		struct memo_join join;

		if (state->sp < below_sp && unlikely(walk_other(memo, state, &join))) {
			end = walk_verify_other(memo, state, &join, entry_bp, trial);
			*met_ret = (struct memo_meeting) { join.index, join.stack };
			if (end != MEMO_COMPLETE)
				return end;
			met_ret->index = memo->now.capacity;
		}
		if (!walk_on(memo, context, state, &entry_bp, &end))
			break;
		if (memo->now.meta[kept].sp < state->sp)
			kept = walk_outwards(&memo->now, kept, state->sp);
		if (memo->now.meta[kept].sp == state->sp && walk_same(&memo->now, kept, state)) {
			const uint32_t bad = walk_verify(&memo->now, kept + 1);

			end = MEMO_MET;
			met_ret->index = kept;
			if (likely(bad == memo->now.capacity)) {
				walk_join(memo, &memo->now, kept, state);
				break;
			}
			kept = walk_resume(memo, &memo->now, state, kept, bad, entry_bp);
			met_ret->index = memo->now.capacity;
			end = MEMO_FULL;
			if (kept == UINT32_MAX)
				break;
		}
	}
	if (searches)
		memo_trial_end(trial, false);
	return end;
}

/*
 * Walks from *state (the caller of the hook) until a kept frame is met or the stack ends. The new
 * frames are in memo->fresh_*; they hang on met_ret->index, which is capacity when nothing was met.
 * Changes nothing of what is kept: the caller copies fresh entries from `cut` on to before that
 * entry (as they are, `node` filled in), whose bp_slot is state->bp_slot then, and with UNWIND_LINKS
 * its slot and value state->slot and state->pc, and sets `top`.
 */
static inline enum memo_end unwind_memo_walk(struct unwind_memo *memo, void *context,
					     struct memo_state *state, struct memo_meeting *met_ret)
{
	const arch_word entry_bp = state->bp;
	uint32_t kept = memo->now.top;

	CHECK(memo->now.top <= memo->now.capacity);
	CHECK(memo->now.meta[memo->now.capacity].sp == MEMO_SP_END);
	memo->fresh = memo->cut = 0;
	met_ret->index = memo->now.capacity;
	if (memo->now.meta[kept].sp < state->sp)
		kept = walk_outwards(&memo->now, kept, state->sp);
	if (memo->now.meta[kept].sp == state->sp && walk_same(&memo->now, kept, state)) {
		const uint32_t bad = walk_verify(&memo->now, kept + 1);

		if (likely(bad == memo->now.capacity)) {
			walk_join(memo, &memo->now, kept, state);
			met_ret->index = kept;
			return MEMO_MET;
		}
		kept = walk_resume(memo, &memo->now, state, kept, bad, entry_bp);
		if (kept == UINT32_MAX)
			return MEMO_FULL;
	}
	return walk_far(memo, context, state, kept, entry_bp, met_ret);
}

#endif
