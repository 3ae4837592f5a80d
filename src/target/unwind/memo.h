/*
 * memo: the stack taken last, kept so that the next one costs little.
 *
 * Two stacks taken one after the other on a thread share most of their outer frames. The memo keeps
 * the last one as pairs {slot, value}: "the word at slot was value". A walk is a deterministic
 * function of (pc, sp, bp) and of the words it reads; so when it arrives in a state that is kept,
 * and all slots that a walk would read from there still hold what they held, the rest of the stack
 * *is* the kept one, and comparing words is all there is to do. Nothing on the stack is written.
 *
 * Entries lie newest first in [top, capacity), in the order in which a walk reads them:
 *
 *	FRAME  slot: where the return address was read; value: that address
 *	CHECK  any other word the walk depended on: a saved frame pointer that a frame further out
 *	       computes its CFA from, a realigned frame's pointer, a signal frame's stack pointer
 *
 * Frames that rules cannot step over (UNWIND_SLOW) are taken with the full interpreter and not
 * kept, nor is what lies inside of them.
 *
 * One memo belongs to one thread; nothing here is shared. All memory is the caller's.
 */
#ifndef MEMTAPE_UNWIND_MEMO_H
#define MEMTAPE_UNWIND_MEMO_H

#include "unwind/rule.h"

struct memo_pair {
	uint64_t slot;
	uint64_t value;
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
 * A step is a rule made ready. Odd: a short UNWIND_SP, bits 1-4 what unwind_rule_saved() says and
 * bits 5-16 the offset, both in words. Even: 2 * the rule.
 */
struct memo_code {
	uint32_t step;
	uint32_t place;
};

enum { MEMO_SHORT_SAVED_MAX = 15, MEMO_SHORT_OFFSET_MAX = 4095, MEMO_SHORT_BITS = 17 };

static inline uint32_t memo_step(uint32_t rule)
{
	const uint64_t saved = unwind_rule_saved(rule) / 8, offset = unwind_rule_offset(rule) / 8;

	if (unwind_rule_kind(rule) != UNWIND_SP || saved > MEMO_SHORT_SAVED_MAX ||
	    offset > MEMO_SHORT_OFFSET_MAX)
		return rule << 1;
	return (uint32_t)(1 | saved << 1 | offset << 5);
}

struct memo_meta {
	uint64_t sp;	  /* stack pointer in this frame; of a CHECK: that of its frame, less one */
	uint64_t bp;	  /* frame pointer in this frame; sure only with MEMO_NEEDS_BP */
	uint64_t bp_slot; /* where it was read; 0: it came through from the next inner frame */
	uint32_t node;	  /* id of the stack from the outermost frame to here */
	uint32_t flags;	  /* node and flags are one word, written and copied as such */
};

static_assert(offsetof(struct memo_meta, flags) == offsetof(struct memo_meta, node) + 4,
	      "one word");
static_assert(offsetof(struct memo_meta, node) % 8 == 0, "one word");

/* Where a walk stands. */
struct memo_state {
	uint64_t pc, sp, bp;
	uint64_t slot;	  /* where pc was read */
	uint64_t bp_slot; /* where bp was read; 0: not by the last step */
	bool exact;
};

/*
 * Both arrays have room for capacity + 1 entries (the last is a sentinel); `fresh_*` hold the new
 * frames of the walk that is going on, newest first.
 */
struct unwind_memo {
	struct memo_pair *pair;
	struct memo_meta *meta;
	struct memo_pair *fresh_pair;
	struct memo_meta *fresh_meta;
	uint32_t top;
	uint32_t capacity;
	uint32_t fresh;
	uint32_t cut;	    /* fresh entries before this one are not kept */
	uint64_t stack_end; /* the thread's stack ends here; 0: not known */
};

enum { MEMO_BYTES_PER_ENTRY = 2 * (sizeof(struct memo_pair) + sizeof(struct memo_meta)) };

/* Forgets the kept stack. */
static inline void unwind_memo_clear(struct unwind_memo *memo)
{
	CHECK(memo->top <= memo->capacity);
	memo->top = memo->capacity;
}

/* memory: zeroed, (capacity + 1) * MEMO_BYTES_PER_ENTRY bytes, aligned to 16. */
static inline void unwind_memo_init(struct unwind_memo *memo, void *memory, uint32_t capacity)
{
	const size_t entries = capacity + 1;

	CHECK(((uintptr_t)memory & 15) == 0);
	CHECK(capacity > 0);
	memo->pair = memory;
	memo->fresh_pair = memo->pair + entries;
	memo->meta = (struct memo_meta *)(memo->fresh_pair + entries);
	memo->fresh_meta = memo->meta + entries;
	memo->capacity = capacity;
	memo->meta[capacity].sp = UINT64_MAX; /* the sentinel ends every search */
	unwind_memo_clear(memo);
}

/* How a walk ended. */
enum memo_end {
	MEMO_COMPLETE,	/* at an outermost frame */
	MEMO_MET,	/* at a kept frame, the rest of which holds */
	MEMO_TRUNCATED, /* no way further */
	MEMO_FULL	/* out of room: grow and walk again */
};

#endif
