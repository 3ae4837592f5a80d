/*
 * stack: from a hook's caller to a node id: the walk outwards (unwind/memo_walk.h) and the lane's
 * kept stacks, with which it is joined. The lane remembers how to step over a frame and which nodes
 * exist (tables.h), and looks up the rules that threads share otherwise (rules.c). This file has
 * what a walk cannot know in advance: which memory it may read, the full interpreter of unwind
 * tables for what no rule can express, and the frames it keeps.
 */
#include "rec/tables.h"

static inline struct memo_code walk_code(void *context, uint64_t lookup_pc);
static void walk_map_ahead(struct rec_lane *lane, uint64_t sp);

static bool walk_slow(void *context, struct memo_state *state, bool *end_ret);
static bool walk_known(void *context, uint64_t lookup_pc);
static inline bool walk_mapped(void *context, uint64_t begin, uint64_t end);
static inline bool walk_is_known(void *context, uint64_t begin, uint64_t end);

#include "unwind/memo_near.h"

#include "core/poison.h"

static inline struct memo_code walk_code(void *context, uint64_t lookup_pc)
{
	return place_get(context, lookup_pc);
}

/* Of a return address: whether there is a call before it, where that can be told. */
static bool is_after_call(uint64_t pc)
{
	const uint64_t begin = pc - ARCH_LINK_BYTES;

	if (!rec_may_call())
		return true;
	return rec_is_readable_word((const void *)(uintptr_t)(begin & ~UINT64_C(7))) &&
	       rec_is_readable_word((const void *)(uintptr_t)((pc - 1) & ~UINT64_C(7))) &&
	       arch_is_call((const uint8_t *)(uintptr_t)begin);
}

/* An empty place has the key 0. */
static bool walk_known(void *context, uint64_t lookup_pc)
{
	if (place_key(lookup_pc) == 0 ||
	    (place_get(context, lookup_pc).step == REC_RULE_NONE << 1 &&
	     !rec_code_holds(lookup_pc)))
		return false;
	return !ARCH_LINK_BYTES || is_after_call(lookup_pc + 1);
}

/* Of the hook's caller, which a walk begins with. */
static inline void follow_begin(struct rec_lane *lane, const struct memo_state *state)
{
	struct unwind_regs *regs = &lane->memo.followed;

	regs->value[ARCH_REG_PC] = arch_code_address(state->pc);
	regs->value[ARCH_REG_SP] = state->sp;
	regs->value[ARCH_REG_FP] = state->bp;
	regs->value[ARCH_REG_OTHER_FP] = ARCH_HOOK_OTHER_FP();
	regs->known = UINT64_C(1) << ARCH_REG_PC | UINT64_C(1) << ARCH_REG_SP |
		      UINT64_C(1) << ARCH_REG_FP | UINT64_C(1) << ARCH_REG_OTHER_FP;
	regs->exact = false;
}

/*
 * The frame pointer that rules do not know, in a frame of this walk: all frames inside of it are
 * stepped over once more, with all registers, but those that were so before.
 */
static REC_COLD void follow_to(struct rec_lane *lane, const struct memo_state *state,
			       struct unwind_regs *ret)
{
	const uint64_t other = UINT64_C(1) << ARCH_REG_OTHER_FP;
	const uint64_t pc = arch_code_address(state->pc);
	struct unwind_regs *regs = &lane->memo.followed;
	bool is_end;

	for (uint32_t i = 0; i < REC_MEMO_ENTRIES_MAX; i++) {
		const uint64_t sp = regs->value[ARCH_REG_SP];

		if (sp == state->sp && regs->value[ARCH_REG_PC] == pc) {
			ret->known |= regs->known & other;
			ret->value[ARCH_REG_OTHER_FP] = regs->value[ARCH_REG_OTHER_FP];
			return;
		}
		if (sp > lane->mapped_end || sp < lane->mapped_begin ||
		    !rec_module_full_step(regs, sp, lane->mapped_end, &is_end))
			return;
	}
}

static bool walk_slow(void *context, struct memo_state *state, bool *end_ret)
{
	struct rec_lane *lane = context;
	struct unwind_regs regs = {
		.known = UINT64_C(1) << ARCH_REG_FP | UINT64_C(1) << ARCH_REG_SP |
			 UINT64_C(1) << ARCH_REG_PC,
		.exact = state->exact,
	};

	CHECK(lane->mapped_begin <= lane->mapped_end);
	if (!walk_mapped(context, state->sp, state->sp + ARCH_WORD_BYTES))
		return false;
	walk_map_ahead(context, state->sp);
	regs.value[ARCH_REG_FP] = state->bp;
	regs.value[ARCH_REG_SP] = state->sp;
	regs.value[ARCH_REG_PC] = arch_code_address(state->pc);
	if (ARCH_REG_OTHER_FP != ARCH_REG_FP)
		follow_to(lane, state, &regs);
	if (UNWIND_LINKS && state->exact) { /* its ucontext was read */
		regs.known |= UINT64_C(1) << ARCH_REG_RA;
		regs.value[ARCH_REG_RA] =
			walk_load(state->slot - ARCH_CONTEXT_PC + ARCH_CONTEXT_RA);
	}
	if (!rec_module_full_step(&regs, state->sp - ARCH_RED_ZONE_BYTES, lane->mapped_end,
				  end_ret))
		return false;
	if (regs.value[ARCH_REG_SP] < state->sp ||
	    (regs.value[ARCH_REG_SP] == state->sp && !(UNWIND_LINKS && state->exact)))
		return false;
	*state = (struct memo_state) {
		.pc = (arch_word)regs.value[ARCH_REG_PC],
		.sp = (arch_word)regs.value[ARCH_REG_SP],
		.bp = (arch_word)(regs.known >> ARCH_REG_FP & 1 ? regs.value[ARCH_REG_FP] : 0),
		.exact = regs.exact,
	};
	return true;
}

/* Whether every page can be read. */
static REC_COLD bool probe_mapped(uint64_t begin, uint64_t end)
{
	enum { PAGE = 4096 };

	if (rec_stack_use_holds(begin, end))
		return true;
	if (!rec_may_call())
		return false;
	for (begin &= ~UINT64_C(7); begin < end; begin = (begin & -(uint64_t)PAGE) + PAGE)
		if (!rec_is_readable_word((const void *)(uintptr_t)begin))
			return false;
	return true;
}

/* Memory found mapped is remembered as one range: the part of the stack that is in use. */
static REC_COLD bool walk_map(struct rec_lane *lane, uint64_t begin, uint64_t end)
{
	if (end < begin || end - begin > WALK_FRAME_BYTES_MAX || !probe_mapped(begin, end))
		return false;
	if (begin > lane->mapped_end || end < lane->mapped_begin || lane->mapped_end == 0) {
		lane->mapped_begin = begin;
		lane->mapped_end = end;
	}
	rec_stack_use_seen(lane, begin); /* so no event has to check: a page deeper comes here */
	lane->mapped_begin = u64_min(lane->mapped_begin, begin) & -UINT64_C(4096);
	lane->mapped_end = align_up(u64_max(lane->mapped_end, end), 4096);
	return true;
}

static inline bool walk_is_known(void *context, uint64_t begin, uint64_t end)
{
	const struct rec_lane *lane = context;

	return begin >= lane->mapped_begin && end <= lane->mapped_end;
}

static inline bool walk_mapped(void *context, uint64_t begin, uint64_t end)
{
	return likely(walk_is_known(context, begin, end)) || walk_map(context, begin, end);
}

/*
 * All of the existing stack, which a full step may want to read: by ever larger steps beyond the
 * known part, then by ever smaller ones. Neither known pages nor the unreadable one after them are
 * probed again: a stack does not grow at that end, and another one's is elsewhere.
 */
static REC_COLD void walk_map_ahead(struct rec_lane *lane, uint64_t sp)
{
	enum { STEP_MIN = 4096 };
	uint64_t step = STEP_MIN;
	bool is_more = true;

	if (lane->mapped_stop == lane->mapped_end)
		return;
	while (lane->mapped_end - sp < WALK_FRAME_BYTES_MAX / 2 &&
	       walk_mapped(lane, lane->mapped_end, lane->mapped_end + step))
		step *= 2;
	for (; step >= STEP_MIN; step /= 2)
		is_more = walk_mapped(lane, lane->mapped_end, lane->mapped_end + step);
	if (!is_more)
		lane->mapped_stop = lane->mapped_end;
}

/* The node of a frame, which is an entry of the memo; a CHECK is not a frame. */
static inline uint32_t entry_node(struct rec_lane *lane, uint32_t parent,
				  const struct memo_pair *pair, uint32_t flags)
{
	if (unlikely(!(flags & MEMO_FRAME)))
		return parent;
	return node_get(lane, parent, flags,
			arch_code_address(pair->value) | (uint64_t)(flags & MEMO_EXACT ? 1 : 0)
								 << 63);
}

/* What a kept frame owes to those inside of it, which are others now. */
static inline void stack_meet(struct unwind_memo *memo, uint32_t met,
			      const struct memo_state *state)
{
	memo->now.meta[met].bp_slot = state->bp_slot;
	if (UNWIND_LINKS)
		memo->now.pair[met] = (struct memo_pair) { state->slot, state->pc };
}

/*
 * Gives the fresh frames their nodes and makes them part of the kept stack, from the outermost
 * inwards in one pass. state: of the frame at `met`, now that these are inside of it.
 */
static inline uint32_t stack_keep(struct rec_lane *lane, uint32_t met,
				  const struct memo_state *state, uint32_t node)
{
	struct unwind_memo *memo = &lane->memo;
	const struct memo_pair *fresh_pair = memo->fresh_pair;
	const struct memo_meta *fresh_meta = memo->fresh_meta;
	uint32_t count = memo->fresh - memo->cut;
	bool has_room = true;
	struct memo_pair *pair;
	struct memo_meta *meta;

	CHECK(met <= memo->now.capacity);
	CHECK(memo->cut <= memo->fresh);
	if (unlikely(met - memo->now.top >= MEMO_LEAVE_MIN))
		unwind_memo_leave(memo, met);
	stack_meet(memo, met, state);
	if (unlikely(count > met)) { /* all is forgotten below: its outer frames are overwritten */
		has_room = false;
		met = memo->now.capacity;
	}
	memo->now.known = (uint32_t)u64_max(memo->now.known, met);
	memo->now.top = met - count;
	pair = memo->now.pair + memo->now.top;
	meta = memo->now.meta + memo->now.top;
	fresh_pair += memo->cut;
	fresh_meta += memo->cut;
	while (count-- > 0) {
		const uint32_t flags = fresh_meta[count].flags;

		pair[count] = fresh_pair[count];
		meta[count].sp = fresh_meta[count].sp;
		meta[count].bp = fresh_meta[count].bp;
		meta[count].bp_slot = fresh_meta[count].bp_slot;
		node = entry_node(lane, node, &fresh_pair[count], flags);
		meta[count].node = node;
		meta[count].flags = flags;
	}
	for (uint32_t i = memo->cut; unlikely(i-- > 0);)
		node = entry_node(lane, node, &memo->fresh_pair[i], memo->fresh_meta[i].flags);
	if (unlikely(!has_room))
		unwind_memo_clear(memo);
	return node;
}

static REC_COLD void selfcheck(struct rec_lane *lane, const struct rec_frame *frame,
			       const struct memo_near *other);

static inline struct memo_state stack_state(const struct rec_frame *frame)
{
	return (struct memo_state) { .pc = frame->pc,
				     .sp = frame->sp,
				     .bp = frame->bp,
				     .slot = frame->sp - ARCH_RA_BELOW_CFA };
}

/* stack_keep() after a near walk, whose frames have no checks among them and whose bp nobody needs. */
static inline uint32_t stack_keep_near(struct rec_lane *lane, const struct memo_near *near)
{
	struct unwind_memo *memo = &lane->memo;
	const uint32_t met = near->index;
	uint32_t node, count = near->count;
	struct memo_pair *pair;
	struct memo_meta *meta;

	if (unlikely(count > 0 && met - memo->now.top >= MEMO_LEAVE_MIN))
		unwind_memo_leave(memo, met);
	stack_meet(memo, met,
		   &(struct memo_state) {
			   .slot = near->slot, .pc = near->pc, .bp_slot = near->bp_slot });
	node = memo->now.meta[met].node;
	memo->now.top = met - count;
	if (count == 0)
		return node;
	memo->now.known = (uint32_t)u64_max(memo->now.known, met);
	pair = memo->now.pair + memo->now.top;
	meta = memo->now.meta + memo->now.top;
	while (count-- > 0) {
		const struct memo_near_frame *frame = &near->frames[count];
		const uint32_t flags = frame->place << MEMO_PLACE_SHIFT | MEMO_FRAME;

		node = node_get(lane, node, flags, arch_code_address(frame->pc));
		pair[count] = (struct memo_pair) { frame->slot, frame->pc };
		meta[count].sp = frame->sp;
		meta[count].bp_slot = frame->bp_slot;
		meta[count].node = node;
		meta[count].flags = flags;
	}
	return node;
}

/* Any stack. */
static __attribute__((noinline)) uint32_t stack_walk(struct rec_lane *lane,
						     const struct rec_frame *frame)
{
	struct unwind_memo *memo = &lane->memo;
	struct memo_state state = stack_state(frame);
	struct memo_meeting met;
	uint32_t node = TAPE_NODE_ROOT;

	if (ARCH_REG_OTHER_FP != ARCH_REG_FP)
		follow_begin(lane, &state);
	switch (unwind_memo_walk(memo, lane, &state, &met)) {
	case MEMO_MET_OTHER:
		unwind_memo_switch(memo, met.stack, met.index);
		/* fallthrough */
	case MEMO_MET:
		node = memo->now.meta[met.index].node;
		break;
	case MEMO_COMPLETE:
		break;
	case MEMO_TRUNCATED:
		rec_lost(TAPE_LOST_TRUNCATED);
		node = TAPE_NODE_TRUNCATED;
		break;
	case MEMO_FULL:
		if (rec_lane_grow_memo(lane))
			return stack_walk(lane, frame);
		rec_lost(TAPE_LOST_TRUNCATED);
		unwind_memo_clear(memo);
		return TAPE_NODE_NONE;
	}
	if (memo->fresh > 0)
		return stack_keep(lane, met.index, &state, node);
	stack_meet(memo, met.index, &state);
	memo->now.top = met.index;
	return node;
}

uint32_t rec_stack_take(struct rec_lane *lane, const struct rec_frame *frame)
{
	struct unwind_memo *memo = &lane->memo;
	const struct memo_state state = stack_state(frame);
	enum memo_near_end end = MEMO_NEAR_NONE;
	struct memo_near near;
	uint32_t node;

	CHECK(lane->tables == &lane->pair[0] || lane->tables == &lane->pair[1]);
	if (unlikely(lane->tables->crowded))
		rec_tables_make_room(lane);
	if (likely(unwind_memo_near_begin(memo))) {
		end = unwind_memo_near(memo, lane, &state, &near);
		unwind_memo_near_end(memo, end != MEMO_NEAR_NONE);
	}
	if (likely(end == MEMO_NEAR_MET))
		node = stack_keep_near(lane, &near);
	else if (end == MEMO_NEAR_OTHER)
		node = unwind_memo_seen(memo, near.stack, near.index);
	else
		node = stack_walk(lane, frame);
	if (unlikely(rec.options.selfcheck))
		selfcheck(lane, frame, end == MEMO_NEAR_OTHER ? &near : NULL);
	return rec_node_number(lane, node);
}

/*
 * MEMTAPE_SELFCHECK=1: walks again by rules alone, keeping nothing, and compares with the kept
 * stack, which is the current one or `other`; counts on the tape how often that was done and how
 * often they differed.
 */
static REC_COLD void selfcheck(struct rec_lane *lane, const struct rec_frame *frame,
			       const struct memo_near *other)
{
	struct unwind_memo *memo = &lane->memo;
	const struct memo_stack *stack = other ? &memo->stacks[other->stack] : &memo->now;
	struct memo_state state = stack_state(frame);
	uint32_t kept = other ? other->index : stack->top;
	bool same = true;

	if (memo->cut || kept == stack->capacity)
		return; /* not kept: nothing to compare */
	if (ARCH_REG_OTHER_FP != ARCH_REG_FP)
		follow_begin(lane, &state);
	for (;;) {
		while (kept < stack->capacity && !(stack->meta[kept].flags & MEMO_FRAME))
			kept++;
		same = same && kept < stack->capacity && stack->pair[kept].value == state.pc &&
		       stack->meta[kept].sp == state.sp;
		memo->fresh = memo->cut = 0;
		if (!same ||
		    walk_over(memo, lane, &state,
			      walk_code(lane, arch_code_address(state.pc) - !state.exact).step) !=
			    WALK_ON)
			break;
		kept++;
	}
	while (same && ++kept < stack->capacity)
		same = !(stack->meta[kept].flags & MEMO_FRAME);
	__atomic_fetch_add(&rec.live->lost[TAPE_SELFCHECKS], 1, __ATOMIC_RELAXED);
	if (!same)
		__atomic_fetch_add(&rec.live->lost[TAPE_SELFCHECK_DIFFERENCES], 1,
				   __ATOMIC_RELAXED);
}
