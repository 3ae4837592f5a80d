/*
 * memo_walk: the walk over a memo (unwind/memo.h), inlined where it is used because it runs at
 * every event. The including file defines before:
 *
 *	static inline struct memo_code walk_code(void *context, uint64_t lookup_pc);
 *		what is known of a pc; a hit must cost a few instructions
 *	static bool walk_slow(void *context, struct memo_state *state, bool *end_ret);
 *		one step with the full interpreter
 *	static bool walk_known(void *context, uint64_t lookup_pc);
 *		whether the pc lies in code: a return address that was only guessed may be believed
 *	static bool walk_mapped(void *context, uint64_t begin, uint64_t end);
 *		whether all of [begin, end) can be read
 */
#ifndef MEMTAPE_UNWIND_MEMO_WALK_H
#define MEMTAPE_UNWIND_MEMO_WALK_H

#include "arch/native.h"
#include "unwind/memo.h"

enum memo_walk_limit { WALK_FRAME_BYTES_MAX = 64 << 20 };

enum walk_step { WALK_ON, WALK_END, WALK_LOST };

static inline uint64_t walk_load(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

static inline void fresh_push(struct unwind_memo *memo, struct memo_pair pair,
			      struct memo_meta meta)
{
	CHECK(memo->fresh < memo->capacity);
	memo->fresh_pair[memo->fresh] = pair;
	memo->fresh_meta[memo->fresh] = meta;
	memo->fresh++;
}

/* The same for a frame; field by field, because it is done for every new one. */
static inline void fresh_push_frame(struct unwind_memo *memo, const struct memo_state *state,
				    uint32_t place)
{
	struct memo_pair *pair = &memo->fresh_pair[memo->fresh];
	struct memo_meta *meta = &memo->fresh_meta[memo->fresh];

	CHECK(memo->fresh < memo->capacity);
	CHECK(place >> (32 - MEMO_PLACE_SHIFT) == 0);
	pair->slot = state->slot;
	pair->value = state->pc;
	meta->sp = state->sp;
	meta->bp = state->bp;
	meta->bp_slot = state->bp_slot;
	meta->flags = place << MEMO_PLACE_SHIFT | MEMO_FRAME | (state->exact ? MEMO_EXACT : 0);
	memo->fresh++;
}

/* A check of a word that frame `index` depends on goes before the frame, where a walk reads it. */
static void fresh_insert_check(struct unwind_memo *memo, uint32_t index, uint64_t slot,
			       uint64_t value)
{
	const uint64_t sp = memo->fresh_meta[index].sp - 1;
	const size_t behind = memo->fresh - index;

	CHECK(memo->fresh < memo->capacity);
	CHECK(index < memo->fresh);
	memmove(memo->fresh_pair + index + 1, memo->fresh_pair + index,
		behind * sizeof(struct memo_pair));
	memmove(memo->fresh_meta + index + 1, memo->fresh_meta + index,
		behind * sizeof(struct memo_meta));
	memo->fresh_pair[index] = (struct memo_pair) { slot, value };
	memo->fresh_meta[index] = (struct memo_meta) { .sp = sp };
	memo->fresh++;
}

/*
 * The frame last pushed, or the kept one that was met, depends on bp: so does everything inwards
 * up to the frame at which bp was read from memory, and on that word.
 */
static void walk_need_bp(struct unwind_memo *memo, uint64_t bp)
{
	CHECK(memo->cut <= memo->fresh);
	for (uint32_t i = memo->fresh; i > memo->cut; i--) {
		struct memo_meta *meta = &memo->fresh_meta[i - 1];

		if (!(meta->flags & MEMO_FRAME))
			continue;
		if (meta->flags & MEMO_NEEDS_BP && meta->bp == bp)
			return;
		meta->flags |= MEMO_NEEDS_BP;
		meta->bp = bp;
		if (meta->bp_slot) {
			fresh_insert_check(memo, i - 1, meta->bp_slot, bp);
			return;
		}
	}
}

/* The first entry from `from` on that no longer holds, or capacity. The heart of it all. */
static inline uint32_t walk_verify(const struct unwind_memo *memo, uint32_t from)
{
	const struct memo_pair *pair = memo->pair + from;
	const struct memo_pair *end = memo->pair + memo->capacity;

	CHECK(from <= memo->capacity);
	while (end - pair >= 4) {
		if (unlikely(walk_load(pair[0].slot) != pair[0].value))
			return (uint32_t)(pair - memo->pair);
		if (unlikely(walk_load(pair[1].slot) != pair[1].value))
			return (uint32_t)(pair - memo->pair) + 1;
		if (unlikely(walk_load(pair[2].slot) != pair[2].value))
			return (uint32_t)(pair - memo->pair) + 2;
		if (unlikely(walk_load(pair[3].slot) != pair[3].value))
			return (uint32_t)(pair - memo->pair) + 3;
		pair += 4;
	}
	for (; pair < end; pair++)
		if (unlikely(walk_load(pair->slot) != pair->value))
			break;
	return (uint32_t)(pair - memo->pair);
}

static inline bool walk_same(const struct unwind_memo *memo, uint32_t kept,
			     const struct memo_state *state)
{
	const struct memo_meta *meta = &memo->meta[kept];

	CHECK(kept < memo->capacity);
	return memo->pair[kept].value == state->pc && memo->pair[kept].slot == state->slot &&
	       meta->flags & MEMO_FRAME &&
	       (!(meta->flags & MEMO_NEEDS_BP) || meta->bp == state->bp);
}

/* What lies inside of the kept frame is new: its bp comes from elsewhere now. */
static inline void walk_join(struct unwind_memo *memo, uint32_t kept,
			     const struct memo_state *state)
{
	struct memo_meta *meta = &memo->meta[kept];

	CHECK(kept < memo->capacity);
	meta->bp_slot = state->bp_slot;
	if (likely(!(meta->flags & MEMO_NEEDS_BP)))
		return;
	if (state->bp_slot)
		fresh_push(memo, (struct memo_pair) { state->bp_slot, state->bp },
			   (struct memo_meta) { .sp = meta->sp - 1 });
	else
		walk_need_bp(memo, state->bp);
}

/* bp in the frame outside of all fresh ones, when that frame itself did not read it. */
static uint64_t walk_bp_inherited(const struct unwind_memo *memo, uint64_t entry_bp)
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
 * from the last of them. Returns where to look for the next meeting; capacity + 1: no room.
 */
static uint32_t walk_resume(struct unwind_memo *memo, struct memo_state *state, uint32_t kept,
			    uint32_t bad, uint64_t entry_bp)
{
	uint32_t last = bad - 1;
	uint32_t count;

	CHECK(kept < bad && bad <= memo->capacity);
	while (!(memo->meta[last].flags & MEMO_FRAME))
		last--;
	if (last == kept)
		return kept + 1;
	count = last - kept;
	if (memo->fresh + count + 4 > memo->capacity)
		return memo->capacity + 1;
	walk_join(memo, kept, state);
	memcpy(memo->fresh_pair + memo->fresh, memo->pair + kept, count * sizeof(struct memo_pair));
	memcpy(memo->fresh_meta + memo->fresh, memo->meta + kept, count * sizeof(struct memo_meta));
	memo->fresh += count;
	*state = (struct memo_state) {
		.pc = memo->pair[last].value,
		.slot = memo->pair[last].slot,
		.sp = memo->meta[last].sp,
		.bp_slot = memo->meta[last].bp_slot,
		.exact = memo->meta[last].flags & MEMO_EXACT,
	};
	state->bp = state->bp_slot ? walk_load(state->bp_slot) : walk_bp_inherited(memo, entry_bp);
	return last + 1;
}

/* A CFA that came from memory or bp, not from sp: believe it only where the stack is. */
static inline bool walk_plausible(void *context, uint64_t sp, uint64_t cfa)
{
	return cfa > sp && cfa - sp <= WALK_FRAME_BYTES_MAX && (cfa & 7) == 0 &&
	       walk_mapped(context, sp, cfa);
}

static enum walk_step walk_over_signal(struct unwind_memo *memo, void *context,
				       struct memo_state *state, uint32_t rule)
{
	const uint64_t ucontext = state->sp + (uint64_t)unwind_rule_signed_offset(rule);
	uint64_t sp;

	if (!walk_mapped(context, ucontext, ucontext + ARCH_CONTEXT_BYTES))
		return WALK_LOST;
	sp = walk_load(ucontext + ARCH_CONTEXT_SP);
	if (!walk_mapped(context, sp, sp + 8))
		return WALK_LOST;
	fresh_push(memo, (struct memo_pair) { ucontext + ARCH_CONTEXT_SP, sp },
		   (struct memo_meta) { .sp = sp - 1 });
	*state = (struct memo_state) { .pc = walk_load(ucontext + ARCH_CONTEXT_PC),
				       .slot = ucontext + ARCH_CONTEXT_PC,
				       .sp = sp,
				       .bp = walk_load(ucontext + ARCH_CONTEXT_FP),
				       .bp_slot = ucontext + ARCH_CONTEXT_FP,
				       .exact = true };
	return WALK_ON;
}

static enum walk_step walk_over_slow(struct unwind_memo *memo, void *context,
				     struct memo_state *state)
{
	bool end = false;

	if (!walk_slow(context, state, &end))
		return end ? WALK_END : WALK_LOST;
	memo->cut = memo->fresh;
	state->bp_slot = 0;
	return WALK_ON;
}

static inline void walk_to_cfa(struct memo_state *state, uint64_t cfa, uint64_t bp_slot)
{
	state->slot = cfa - ARCH_RA_BELOW_CFA;
	state->pc = walk_load(state->slot);
	state->sp = cfa;
	state->bp_slot = bp_slot;
	if (bp_slot)
		state->bp = walk_load(bp_slot);
	state->exact = false;
}

static enum walk_step walk_over_deref(struct unwind_memo *memo, void *context,
				      struct memo_state *state, uint32_t rule)
{
	const uint64_t slot = state->bp + (uint64_t)unwind_rule_signed_offset(rule);
	uint64_t cfa;

	if (!walk_plausible(context, state->sp, (slot + 8) & ~UINT64_C(7)) || slot & 7)
		return WALK_LOST;
	walk_need_bp(memo, state->bp);
	cfa = walk_load(slot);
	if (!walk_plausible(context, state->sp, cfa))
		return WALK_LOST;
	fresh_push(memo, (struct memo_pair) { slot, cfa }, (struct memo_meta) { .sp = cfa - 1 });
	walk_to_cfa(state, cfa, unwind_rule_saved(rule) ? state->bp : 0);
	return WALK_ON;
}

static enum walk_step walk_over_bp(struct unwind_memo *memo, void *context,
				   struct memo_state *state, uint32_t rule)
{
	const uint64_t cfa = state->bp + (uint64_t)unwind_rule_signed_offset(rule);
	const uint64_t saved = unwind_rule_saved(rule);

	if (unlikely(!walk_plausible(context, state->sp, cfa)))
		return WALK_LOST;
	walk_need_bp(memo, state->bp);
	walk_to_cfa(state, cfa, saved ? cfa - saved : 0);
	return WALK_ON;
}

/*
 * Code without call frame information: what a JIT compiler made, a few functions of start files.
 * Most of it keeps a frame pointer: follow it when that is a small step to a return address in
 * code. That there is no step depends on the same words, so they are kept in that case as well.
 */
static enum walk_step walk_over_unknown(struct unwind_memo *memo, void *context,
					struct memo_state *state)
{
	enum { STEP_BYTES_MAX = 16 << 10 };
	const uint64_t cfa = state->bp + ARCH_CFA_ABOVE_FP;
	uint64_t pc;

	walk_need_bp(memo, state->bp);
	if (cfa - state->sp > STEP_BYTES_MAX || !walk_plausible(context, state->sp, cfa))
		return WALK_LOST;
	pc = walk_load(cfa - ARCH_RA_BELOW_CFA);
	if (!walk_known(context, pc - 1)) {
		fresh_push(memo, (struct memo_pair) { cfa - ARCH_RA_BELOW_CFA, pc },
			   (struct memo_meta) { .sp = cfa - 1 });
		return WALK_LOST;
	}
	walk_to_cfa(state, cfa, cfa - ARCH_CFA_ABOVE_FP);
	return WALK_ON;
}

/* One that is no short step. */
static enum walk_step walk_over_rule(struct unwind_memo *memo, void *context,
				     struct memo_state *state, uint32_t rule)
{
	const uint64_t saved = unwind_rule_saved(rule);
	const uint64_t cfa = state->sp + unwind_rule_offset(rule);

	switch (unwind_rule_kind(rule)) {
	case UNWIND_SP:
		if (unlikely(!walk_mapped(context, state->sp, cfa)))
			return WALK_LOST;
		walk_to_cfa(state, cfa, saved ? cfa - saved : 0);
		return WALK_ON;
	case UNWIND_BP:
		return walk_over_bp(memo, context, state, rule);
	case UNWIND_DEREF:
		return walk_over_deref(memo, context, state, rule);
	case UNWIND_SIGNAL:
		return walk_over_signal(memo, context, state, rule);
	case UNWIND_SLOW:
		return walk_over_slow(memo, context, state);
	case UNWIND_END:
		return WALK_END;
	case UNWIND_NONE:
	case UNWIND_BARE:
		break;
	}
	return walk_over_unknown(memo, context, state);
}

static inline enum walk_step walk_over(struct unwind_memo *memo, void *context,
				       struct memo_state *state, uint32_t step)
{
	const uint64_t saved = (uint64_t)(step >> 1 & MEMO_SHORT_SAVED_MAX) * 8;
	const uint64_t cfa = state->sp + (uint64_t)(step >> 5) * 8;

	if (unlikely(!(step & 1)))
		return walk_over_rule(memo, context, state, step >> 1);
	if (unlikely(!walk_mapped(context, state->sp, cfa)))
		return WALK_LOST;
	walk_to_cfa(state, cfa, saved ? cfa - saved : 0);
	return WALK_ON;
}

/*
 * Walks from *state (the caller of the hook) until a kept frame is met or the stack ends. The new
 * frames are in memo->fresh_*; *met_ret is the kept frame they hang on, or capacity. Does not
 * change what is kept, but for the bp_slot of the frame met: the caller copies fresh entries from
 * `cut` on to before *met_ret (as they are, `node` filled in) and sets `top`.
 */
static inline enum memo_end unwind_memo_walk(struct unwind_memo *memo, void *context,
					     struct memo_state *state, uint32_t *met_ret)
{
	uint64_t entry_bp = state->bp;
	uint32_t kept = memo->top;

	CHECK(memo->top <= memo->capacity);
	CHECK(memo->meta[memo->capacity].sp == UINT64_MAX);
	memo->fresh = memo->cut = 0;
	*met_ret = memo->capacity;
	for (;;) {
		enum walk_step step;
		struct memo_code code;

		while (memo->meta[kept].sp < state->sp)
			kept++;
		if (memo->meta[kept].sp == state->sp && walk_same(memo, kept, state)) {
			uint32_t bad = walk_verify(memo, kept + 1);

			if (likely(bad == memo->capacity)) {
				walk_join(memo, kept, state);
				*met_ret = kept;
				return MEMO_MET;
			}
			kept = walk_resume(memo, state, kept, bad, entry_bp);
			if (kept > memo->capacity)
				return MEMO_FULL;
		}
		if (unlikely(memo->fresh + 4 > memo->capacity))
			return MEMO_FULL;
		code = walk_code(context, state->pc - !state->exact);
		fresh_push_frame(memo, state, code.place);
		step = walk_over(memo, context, state, code.step);
		if (unlikely(step != WALK_ON))
			return step == WALK_END ? MEMO_COMPLETE : MEMO_TRUNCATED;
		if (unlikely(memo->cut == memo->fresh))
			entry_bp = state->bp;
	}
}

#endif
