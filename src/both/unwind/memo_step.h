/*
 * memo_step: one step of a walk (unwind/memo_walk.h): from a frame to its caller, by its rule,
 * recording what is new. The including file defines what memo_walk.h lists.
 */
#ifndef MEMTAPE_UNWIND_MEMO_STEP_H
#define MEMTAPE_UNWIND_MEMO_STEP_H

#include "arch/native.h"
#include "unwind/memo.h"

enum memo_walk_limit { WALK_FRAME_BYTES_MAX = 64 << 20 };

enum walk_step { WALK_ON, WALK_END, WALK_LOST };

static inline arch_word walk_load(arch_word address)
{
	return *(const volatile arch_word *)(uintptr_t)address;
}

static inline void fresh_push(struct unwind_memo *memo, struct memo_pair pair,
			      struct memo_meta meta)
{
	CHECK(memo->fresh < memo->now.capacity);
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

	CHECK(memo->fresh < memo->now.capacity);
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
static void fresh_insert_check(struct unwind_memo *memo, uint32_t index, arch_word slot,
			       arch_word value)
{
	const arch_word sp = memo->fresh_meta[index].sp - 1;
	const size_t behind = memo->fresh - index;

	CHECK(memo->fresh < memo->now.capacity);
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
static void walk_need_bp(struct unwind_memo *memo, arch_word bp)
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

/* A CFA that came from memory or bp, not from sp: trusted only within the stack. */
static inline bool walk_plausible(void *context, arch_word sp, arch_word cfa)
{
	return cfa > sp && cfa - sp <= WALK_FRAME_BYTES_MAX && (cfa & (ARCH_WORD_BYTES - 1)) == 0 &&
	       walk_mapped(context, sp, cfa);
}

/*
 * All of the frame. If it is in the page in which its address was read, it can be read: so stacks
 * used only briefly, those of coroutines, are not probed each time.
 */
static inline bool walk_can_read(void *context, const struct memo_state *state, arch_word cfa)
{
	enum { PAGE = 4096 };

	return likely(walk_is_known(context, state->sp, cfa)) ||
	       (state->slot == state->sp - ARCH_RA_BELOW_CFA && cfa > state->sp &&
		(state->slot ^ (cfa - 1)) < PAGE) ||
	       walk_mapped(context, state->sp, cfa);
}

static enum walk_step walk_over_signal(struct unwind_memo *memo, void *context,
				       struct memo_state *state, uint32_t rule)
{
	const arch_word ucontext = state->sp + (arch_word)unwind_rule_signed_offset(rule);
	arch_word sp;

	if (!walk_mapped(context, ucontext, ucontext + ARCH_CONTEXT_BYTES))
		return WALK_LOST;
	sp = walk_load(ucontext + ARCH_CONTEXT_SP);
	if (!walk_mapped(context, sp, sp + ARCH_WORD_BYTES))
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

static inline void walk_to_cfa(struct memo_state *state, arch_word cfa, arch_word slot,
			       arch_word bp_slot)
{
	state->slot = slot;
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
	const arch_word slot = state->bp + (arch_word)unwind_rule_signed_offset(rule);
	arch_word cfa;

	if (!walk_plausible(context, state->sp,
			    (slot + ARCH_WORD_BYTES) & -(arch_word)ARCH_WORD_BYTES) ||
	    slot & (ARCH_WORD_BYTES - 1))
		return WALK_LOST;
	walk_need_bp(memo, state->bp);
	cfa = walk_load(slot);
	if (!walk_plausible(context, state->sp, cfa))
		return WALK_LOST;
	fresh_push(memo, (struct memo_pair) { slot, cfa }, (struct memo_meta) { .sp = cfa - 1 });
	walk_to_cfa(state, cfa, cfa - unwind_rule_ra(rule),
		    unwind_rule_saved(rule) ? state->bp : 0);
	return WALK_ON;
}

static enum walk_step walk_over_bp(struct unwind_memo *memo, void *context,
				   struct memo_state *state, uint32_t rule)
{
	const arch_word cfa = state->bp + (arch_word)unwind_rule_signed_offset(rule);
	const arch_word saved = unwind_rule_saved(rule);

	walk_need_bp(memo, state->bp); /* whether it is plausible, too */
	if (unlikely(!walk_plausible(context, state->sp, cfa)))
		return WALK_LOST;
	walk_to_cfa(state, cfa, cfa - unwind_rule_ra(rule), saved ? cfa - saved : 0);
	return WALK_ON;
}

/*
 * Interrupted before it saved its return address, or after it took that back: the kernel saved the
 * register. In a caller's frame such a rule would be wrong, for the call has changed the register.
 */
static enum walk_step walk_over_leaf(void *context, struct memo_state *state, arch_word cfa,
				     arch_word saved)
{
	const arch_word ucontext = state->slot - ARCH_CONTEXT_PC;

	if (!state->exact || !walk_mapped(context, state->sp, cfa) ||
	    !walk_mapped(context, ucontext, ucontext + ARCH_CONTEXT_BYTES))
		return WALK_LOST;
	walk_to_cfa(state, cfa, ucontext + ARCH_CONTEXT_RA, saved ? cfa - saved : 0);
	return WALK_ON;
}

enum { WALK_RECORD_BYTES = 2 * ARCH_WORD_BYTES, WALK_UNKNOWN_BYTES_MAX = 16 << 10 };

/*
 * UNWIND_LINKS: the stack pointer of a caller of which only its frame pointer and the record at
 * `record` with its return address are known. Where nothing says where in its frame a record is, the
 * caller's rule says that of the caller's, to which its frame pointer leads. False: not known.
 */
static inline bool walk_record_sp(uint32_t step, arch_word record, arch_word fp, arch_word *sp_ret)
{
	const uint32_t rule = step >> 1;
	arch_word offset = memo_short_offset(step);
	arch_word ra = memo_short_ra(step), saved = memo_short_saved(step);

	if (ARCH_RECORD_BELOW_CFA) {
		*sp_ret = record + ARCH_RECORD_BELOW_CFA;
		return true;
	}
	if (!(step & 1)) {
		const enum unwind_kind kind = unwind_rule_kind(rule);

		if (kind == UNWIND_SIGNAL || kind == UNWIND_SLOW)
			return false;
		*sp_ret = record + WALK_RECORD_BYTES;
		if (kind != UNWIND_SP) /* nobody will ask for it but for what is plausible */
			return true;
		offset = unwind_rule_offset(rule);
		ra = unwind_rule_ra(rule);
		saved = unwind_rule_saved(rule);
	}
	*sp_ret = fp + ARCH_WORD_BYTES + ra - offset;
	return ra != 0 && saved == ra + ARCH_WORD_BYTES && *sp_ret >= record + WALK_RECORD_BYTES &&
	       *sp_ret - record <= WALK_UNKNOWN_BYTES_MAX && *sp_ret % UNWIND_OFFSET_UNIT == 0;
}

/* As below, with UNWIND_LINKS. */
static enum walk_step walk_over_record(struct unwind_memo *memo, void *context,
				       struct memo_state *state)
{
	const arch_word record = state->bp - ARCH_RECORD_BELOW_FP;
	arch_word pc, fp, sp;

	if (ARCH_RECORD_BELOW_FP < 0)
		return WALK_LOST;
	walk_need_bp(memo, state->bp);
	if (record - state->sp > WALK_UNKNOWN_BYTES_MAX || record & (ARCH_WORD_BYTES - 1) ||
	    !walk_mapped(context, state->sp, record + WALK_RECORD_BYTES))
		return WALK_LOST;
	fp = walk_load(record);
	pc = walk_load(record + ARCH_WORD_BYTES);
	fresh_push(memo, (struct memo_pair) { record, fp },
		   (struct memo_meta) { .sp = record + WALK_RECORD_BYTES - 1 });
	if (!walk_known(context, arch_code_address(pc) - 1) ||
	    !walk_record_sp(walk_code(context, arch_code_address(pc) - 1).step, record, fp, &sp)) {
		fresh_push(memo, (struct memo_pair) { record + ARCH_WORD_BYTES, pc },
			   (struct memo_meta) { .sp = record + WALK_RECORD_BYTES - 1 });
		return WALK_LOST;
	}
	walk_to_cfa(state, sp, record + ARCH_WORD_BYTES, record);
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
	const arch_word cfa = state->bp + WALK_RECORD_BYTES;
	arch_word pc;

	if (UNWIND_LINKS)
		return walk_over_record(memo, context, state);

	walk_need_bp(memo, state->bp);
	if (cfa - state->sp > WALK_UNKNOWN_BYTES_MAX || !walk_plausible(context, state->sp, cfa))
		return WALK_LOST;
	pc = walk_load(cfa - ARCH_RA_BELOW_CFA);
	if (!walk_known(context, pc - 1)) {
		fresh_push(memo, (struct memo_pair) { cfa - ARCH_RA_BELOW_CFA, pc },
			   (struct memo_meta) { .sp = cfa - 1 });
		return WALK_LOST;
	}
	walk_to_cfa(state, cfa, cfa - ARCH_RA_BELOW_CFA, cfa - WALK_RECORD_BYTES);
	return WALK_ON;
}

/* A step that is not short. */
static enum walk_step walk_over_rule(struct unwind_memo *memo, void *context,
				     struct memo_state *state, uint32_t rule)
{
	const arch_word saved = unwind_rule_saved(rule);
	const arch_word cfa = state->sp + unwind_rule_offset(rule);

	switch (unwind_rule_kind(rule)) {
	case UNWIND_SP:
	case UNWIND_READ:
		if (UNWIND_LINKS && !unwind_rule_ra(rule))
			return walk_over_leaf(context, state, cfa, saved);
		if (unlikely(!walk_can_read(context, state, cfa)))
			return WALK_LOST;
		walk_to_cfa(state, cfa, cfa - unwind_rule_ra(rule), saved ? cfa - saved : 0);
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

static inline enum walk_step walk_over_any(struct unwind_memo *memo, void *context,
					   struct memo_state *state, uint32_t step)
{
	const arch_word saved = memo_short_saved(step);
	const arch_word cfa = state->sp + memo_short_offset(step);

	if (unlikely(!(step & 1)))
		return walk_over_rule(memo, context, state, step >> 1);
	if (unlikely(!walk_can_read(context, state, cfa)))
		return WALK_LOST;
	walk_to_cfa(state, cfa, cfa - memo_short_ra(step), saved ? cfa - saved : 0);
	return WALK_ON;
}

/*
 * Where tables only hold at calls, what they say of a frame that was interrupted is only believed if
 * it leads behind a call; so is what the code of a function without tables says: it may go on behind a
 * call that does not return.
 */
static inline enum walk_step walk_over(struct unwind_memo *memo, void *context,
				       struct memo_state *state, uint32_t step)
{
	const bool is_checked =
		ARCH_HAS_EXIDX &&
		(state->exact || (!(step & 1) && unwind_rule_kind(step >> 1) == UNWIND_READ));
	const enum walk_step result = walk_over_any(memo, context, state, step);

	if (!is_checked || result != WALK_ON || state->exact ||
	    walk_known(context, (arch_word)arch_code_address(state->pc) - 1))
		return result;
	if (state->slot)
		fresh_push(memo, (struct memo_pair) { state->slot, state->pc },
			   (struct memo_meta) { .sp = state->sp - 1 });
	return WALK_LOST;
}

#endif
