/*
 * exidx: ARM's exception index (.ARM.exidx, .ARM.extab; ARM IHI 0038, "EHABI"): how the frame of a
 * function is undone, once it has called something. It is not said for each instruction.
 *
 * Private to the room. The tables are little-endian and borrowed. What they say is not trusted:
 * nothing outside of [begin, end) is read. Nothing here depends on the processor it runs on.
 * Stateless, async-signal-safe.
 */
#ifndef MEMTAPE_UNWIND_EXIDX_H
#define MEMTAPE_UNWIND_EXIDX_H

#include "core/core.h"

enum {
	EXIDX_ENTRY_BYTES = 8,
	EXIDX_REGS = 16,
	EXIDX_REG_SP = 13,
	EXIDX_REG_LR = 14,
	EXIDX_REG_PC = 15
};

/* An object's index, as it is mapped. */
struct exidx {
	const uint8_t *entries; /* of 8 bytes, sorted; within [begin, end) */
	size_t count;
	const uint8_t *begin; /* what may be read */
	const uint8_t *end;
};

/* The canonical frame address and the caller's registers: sp is the former unless it was saved. */
struct exidx_row {
	uint32_t reg; /* CFA = this one + offset bytes */
	int32_t offset;
	uint32_t saved;		   /* bit i: register i was saved */
	int32_t place[EXIDX_REGS]; /* at CFA + place bytes */
};

enum exidx_found {
	EXIDX_NONE,   /* no entry, or it is malformed, or too much for a row */
	EXIDX_CANNOT, /* a frame that cannot be left: the outermost one, or code without tables */
	EXIDX_ROW     /* *ret is filled */
};

/* What is known of the code at pc, which is an address beside the mapped index. */
enum exidx_found exidx_find(const struct exidx *index, uint64_t pc, struct exidx_row *ret);

/*
 * The same of code that a signal interrupted before the instruction at pc: before a function's first one
 * nothing is on the stack, whatever the entry says. Only functions that have a row have their own begin in
 * the index for sure. What is left of a frame that the kernel made does not depend on where it is left.
 */
enum exidx_found exidx_find_interrupted(const struct exidx *index, uint64_t pc,
					struct exidx_row *ret);

/* Whether an entry is of code that begins at pc. */
bool exidx_begins(const struct exidx *index, uint64_t pc);

/* Whether there is an entry of code that begins after `begin`, and at pc or before it. */
bool exidx_begins_between(const struct exidx *index, uint64_t begin, uint64_t pc);

/*
 * The row of entry i < count, and where its code begins; it goes up to where the next one's does.
 * Linkers leave out entries that say the same as the one before.
 */
enum exidx_found exidx_entry(const struct exidx *index, size_t i, uint64_t *begin_ret,
			     struct exidx_row *ret);

/*
 * Whether the code, of which `left` bytes can be read, ends its thread: so it is after the call of a
 * thread's function, which no other frame is outside of.
 */
bool exidx_code_ends_thread(const uint8_t *code, size_t left);

#endif
