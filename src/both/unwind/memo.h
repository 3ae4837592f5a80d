/*
 * memo: recent stacks, kept so that the next one costs little.
 *
 * Two stacks taken one after the other on a thread share most of their outer frames. The memo keeps
 * a stack as pairs {slot, value}: "the word at slot was value". A walk is a deterministic function
 * of (pc, sp, bp) and of the words it reads; so when it arrives in a state that is kept, and all
 * slots that a walk would read from there still hold what they held, the rest of the stack *is* the
 * kept one, and it suffices to compare words. Nothing on the stack is written.
 *
 * The stack taken last is the *current* one. Where the next stack ends many frames further out, or
 * is another one altogether, the current one is left behind as it is: programs allocate deep and
 * free where they are shallow, alternate between places, or between coroutines, and come back. Any
 * kept stack may be met, because comparing verifies it. A stack left behind is found by the state
 * of one of its frames, in a small table that may forget and is verified (`joins`).
 *
 * Entries lie newest first in [top, capacity), in the order in which a walk reads them:
 *
 *	FRAME  slot: where the return address was read; value: that address, as it was there
 *	CHECK  any other word the walk depended on: a saved frame pointer that a frame further out
 *	       computes its CFA from, a realigned frame's pointer, a signal frame's stack pointer
 *
 * Where calls leave the return address in a register (UNWIND_LINKS) a frame's slot is wherever its
 * callee saved that, or nothing for the innermost frame; so a frame that is met gets the slot of the
 * walk that met it.
 *
 * Frames that rules cannot step over (UNWIND_SLOW) are taken with the full interpreter and not
 * kept, nor are the frames inside of them.
 *
 * One memo belongs to one thread; nothing here is shared. All memory is the caller's.
 */
#ifndef MEMTAPE_UNWIND_MEMO_H
#define MEMTAPE_UNWIND_MEMO_H

#include "unwind/rule.h"

struct memo_pair {
	arch_word slot;
	arch_word value;
};

enum memo_flag {
	MEMO_FRAME = 1 << 0,
	MEMO_NEEDS_BP = 1 << 1, /* an outer frame's CFA depends on bp as it is here */
	MEMO_EXACT = 1 << 2	/* the pc is an interrupted instruction */
};

/* Bits of flags from here on: the place of the frame's pc, whatever that is (struct memo_code). */
enum { MEMO_PLACE_SHIFT = 3 };

/*
 * What a walk must know of a code address: how to step over its frame, and a number of the
 * includer's own (up to 29 bits) that is kept with the frame.
 *
 * A step is a rule made ready. Even: 2 * the rule. Odd: a short UNWIND_SP: bits 1-4 what
 * unwind_rule_saved() says and bits 5-16 the offset, both in words; where calls leave the return
 * address in a register: bit 1: the frame pointer is in the word below it, bits 2-8 what
 * unwind_rule_ra() says, in words, and bits 9-16 the offset in its unit.
 */
struct memo_code {
	uint32_t step;
	uint32_t place;
};

/* Above each stack pointer: of the entry behind all others. */
#define MEMO_SP_END (~(arch_word)0)

enum { MEMO_SHORT_SAVED_MAX = 15, MEMO_SHORT_OFFSET_MAX = 4095, MEMO_SHORT_BITS = 17 };
enum { MEMO_LINK_RA_MAX = 127, MEMO_LINK_OFFSET_MAX = 255 };

static inline uint32_t memo_step_link(uint32_t rule)
{
	const arch_word ra = unwind_rule_ra(rule), saved = unwind_rule_saved(rule);
	const arch_word offset = unwind_rule_offset(rule) / UNWIND_OFFSET_UNIT;

	if (unwind_rule_kind(rule) != UNWIND_SP || ra == 0 ||
	    (saved && saved != ra + ARCH_WORD_BYTES) || ra / ARCH_WORD_BYTES > MEMO_LINK_RA_MAX ||
	    offset > MEMO_LINK_OFFSET_MAX)
		return rule << 1;
	return (uint32_t)(1 | (saved ? 2 : 0) | ra / ARCH_WORD_BYTES << 2 | offset << 9);
}

static inline uint32_t memo_step(uint32_t rule)
{
	const arch_word saved = unwind_rule_saved(rule) / ARCH_WORD_BYTES;
	const arch_word offset = unwind_rule_offset(rule) / ARCH_WORD_BYTES;

	if (UNWIND_LINKS)
		return memo_step_link(rule);
	if (unwind_rule_kind(rule) != UNWIND_SP || saved > MEMO_SHORT_SAVED_MAX ||
	    offset > MEMO_SHORT_OFFSET_MAX)
		return rule << 1;
	return (uint32_t)(1 | saved << 1 | offset << 5);
}

/* Of a short step, in bytes: the CFA above sp, and below it the return address and the frame pointer, 0: unchanged. */
static inline arch_word memo_short_offset(uint32_t step)
{
	return UNWIND_LINKS ? (arch_word)(step >> 9) * UNWIND_OFFSET_UNIT
			    : (arch_word)(step >> 5) * ARCH_WORD_BYTES;
}

static inline arch_word memo_short_ra(uint32_t step)
{
	return UNWIND_LINKS ? (arch_word)(step >> 2 & MEMO_LINK_RA_MAX) * ARCH_WORD_BYTES
			    : ARCH_RA_BELOW_CFA;
}

static inline arch_word memo_short_saved(uint32_t step)
{
	if (UNWIND_LINKS)
		return step & 2 ? memo_short_ra(step) + ARCH_WORD_BYTES : 0;
	return (arch_word)(step >> 1 & MEMO_SHORT_SAVED_MAX) * ARCH_WORD_BYTES;
}

struct memo_meta {
	arch_word sp; /* stack pointer in this frame; of a CHECK: that of its frame, less one */
	arch_word bp; /* frame pointer in this frame; sure only with MEMO_NEEDS_BP */
	arch_word bp_slot; /* where it was read; 0: it came through from the next inner frame */
	uint32_t node;	   /* id of the stack from the outermost frame to here */
	uint32_t flags;	   /* node and flags are one word, written and copied as such */
};

static_assert(offsetof(struct memo_meta, flags) == offsetof(struct memo_meta, node) + 4,
	      "one word");
static_assert(offsetof(struct memo_meta, node) % ARCH_WORD_BYTES == 0, "one word");

/* Position of a walk. */
struct memo_state {
	arch_word pc, sp, bp;
	arch_word slot;	   /* where pc was read */
	arch_word bp_slot; /* where bp was read; 0: not by the last step */
	bool exact;
};

enum {
	MEMO_STACKS = 8,
	MEMO_SEVERAL_MAX = 1 << 14, /* entries; of larger stacks one is kept */
	MEMO_JOIN_BITS = 10,
	MEMO_TRIAL_BITS = 6,
	MEMO_LEAVE_MIN = 6 /* entries that would be forgotten, for a stack to be left behind */
};

/* A kept stack. Both arrays have room for capacity + 1 entries: the last is a sentinel. */
struct memo_stack {
	struct memo_pair *pair;
	struct memo_meta *meta;
	uint32_t top;
	uint32_t capacity;
	uint32_t known; /* entries from here on are in the table of joins */
	uint32_t left;	/* when it was left behind, by memo->clock */
	uint32_t met;	/* where it was met then; frames inside of that may be needed again */
	uint8_t trial;	/* index of the trial that its result counts for */
};

/* A frame of a stack left behind. */
struct memo_join {
	uint32_t tag; /* of its state */
	uint32_t index;
	uint32_t stack;
};

/* `fresh_*` hold the new frames of the current walk, newest first. */
struct unwind_memo {
	struct memo_stack now; /* the current one; its copy in stacks[] is out of date */
	struct memo_pair *fresh_pair;
	struct memo_meta *fresh_meta;
	uint32_t fresh;
	uint32_t cut;	 /* fresh entries before this one are not kept */
	uint32_t here;	 /* index of `now` */
	uint32_t count;	 /* of stacks[] */
	bool has_others; /* frames of stacks left behind */
	uint32_t clock;
	uint32_t near_debt;	 /* of near walks that were in vain (memo_near.h) */
	uint32_t near_pause;	 /* events until the next one */
	struct memo_join *joins; /* 1 << MEMO_JOIN_BITS */
	/* ARCH_REG_OTHER_FP: all registers in the frame from which they were followed last in this walk. */
	struct unwind_regs followed;
	/* Whether it paid to leave stacks behind that were met at a frame like this, */
	int8_t trials[1 << MEMO_TRIAL_BITS];
	/* and to look for frames of such stacks from a caller like this on. */
	int8_t searches[1 << MEMO_TRIAL_BITS];
	struct memo_stack stacks[MEMO_STACKS];
};

static inline uint32_t unwind_memo_count(uint32_t capacity)
{
	return capacity <= MEMO_SEVERAL_MAX ? MEMO_STACKS : 1;
}

/* Memory for unwind_memo_init(): for the kept stacks, the fresh frames, and the joins. */
static inline size_t unwind_memo_bytes(uint32_t capacity)
{
	return ((size_t)capacity + 1) * (unwind_memo_count(capacity) + 1) *
		       (sizeof(struct memo_pair) + sizeof(struct memo_meta)) +
	       ((size_t)1 << MEMO_JOIN_BITS) * sizeof(struct memo_join);
}

/* Forgets all kept stacks, also if a change of them was interrupted for good. */
static inline void unwind_memo_clear(struct unwind_memo *memo)
{
	CHECK(memo->now.top <= memo->now.capacity);
	CHECK(memo->count <= MEMO_STACKS);
	memo->has_others = false;
	for (uint32_t i = 0; i < memo->count; i++) {
		struct memo_stack *stack = &memo->stacks[i];

		stack->top = stack->known = stack->capacity;
		stack->met = 0;
	}
	memo->now = memo->stacks[memo->here];
}

/* memory: zeroed, unwind_memo_bytes(capacity) of them, aligned to 16. */
static inline void unwind_memo_init(struct unwind_memo *memo, void *memory, uint32_t capacity)
{
	const size_t entries = (size_t)capacity + 1;
	struct memo_meta *meta = memory;
	struct memo_pair *pair;

	CHECK(((uintptr_t)memory & 15) == 0);
	CHECK(capacity > 0);
	memo->count = unwind_memo_count(capacity);
	pair = (struct memo_pair *)(meta + entries * (memo->count + 1));
	for (uint32_t i = 0; i < memo->count; i++) {
		memo->stacks[i] = (struct memo_stack) {
			.pair = pair + entries * i,
			.meta = meta + entries * i,
			.capacity = capacity,
		};
		memo->stacks[i].meta[capacity].sp = MEMO_SP_END; /* ends every search */
	}
	memo->fresh_pair = pair + entries * memo->count;
	memo->fresh_meta = meta + entries * memo->count;
	memo->joins = (struct memo_join *)(memo->fresh_pair + entries);
	memo->here = 0;
	memo->now = memo->stacks[0];
	unwind_memo_clear(memo);
}

/* The memory it was initialized with. */
static inline void *unwind_memo_memory(const struct unwind_memo *memo)
{
	return memo->stacks[0].meta;
}

/*
 * A trial counts successes and failures; where most were failures, a trial is made only now and
 * then: programs change. A success saves more than a failure costs.
 */
enum { MEMO_TRIAL_GOOD = 4, MEMO_TRIAL_MAX = 12, MEMO_TRIAL_MIN = -8, MEMO_TRIAL_PROBE = 32 };

static inline bool memo_trial_begin(struct unwind_memo *memo, int8_t count)
{
	return count > MEMO_TRIAL_MIN || ++memo->clock % MEMO_TRIAL_PROBE == 0;
}

static inline void memo_trial_end(int8_t *count, bool is_good)
{
	const int next = *count + (is_good ? MEMO_TRIAL_GOOD : -1);

	*count = (int8_t)(next > MEMO_TRIAL_MAX	  ? MEMO_TRIAL_MAX
			  : next < MEMO_TRIAL_MIN ? MEMO_TRIAL_MIN
						  : next);
}

static inline uint64_t memo_join_hash(uint64_t sp, uint64_t pc)
{
	return (arch_code_address(pc) ^ sp << 20) * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * The current stack is left behind as it is, and stack `index`, which was met at its entry `met`,
 * becomes the current one.
 */
void unwind_memo_switch(struct unwind_memo *memo, uint32_t index, uint32_t met);

/*
 * Stack `index`, left behind, was met at its entry `met`, and stays as it is, as does the current
 * one. Returns that entry's node.
 */
uint32_t unwind_memo_seen(struct unwind_memo *memo, uint32_t index, uint32_t met);

/*
 * Before the current stack drops what is inside of its entry `met`: leaves it behind if that is
 * worthwhile, and makes a copy from there on the current one.
 */
void unwind_memo_leave(struct unwind_memo *memo, uint32_t met);

/* How a walk ended. */
enum memo_end {
	MEMO_COMPLETE,	/* at an outermost frame */
	MEMO_MET,	/* at a frame of the current stack, the rest of which holds */
	MEMO_MET_OTHER, /* the same, of a stack that was left behind */
	MEMO_TRUNCATED, /* cannot go further */
	MEMO_FULL	/* out of room: grow and walk again */
};

#endif
