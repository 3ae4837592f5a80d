/*
 * undo: how the frame of an ARM function is left, step by step: by the instructions of unwind tables
 * (exidx.c) or by those of its own code (epilogue.c). A virtual stack pointer is a register's value and an
 * offset; what is taken off the stack is where it points.
 *
 * Private to the room. What is undone is bounded, whatever the steps are.
 */
#ifndef MEMTAPE_UNWIND_UNDO_H
#define MEMTAPE_UNWIND_UNDO_H

#include "unwind/exidx.h"

enum { UNDO_WORD = 4, UNDO_BYTES_MAX = 1 << 28 };

struct undo {
	uint32_t reg;
	int32_t offset;
	uint32_t saved;		   /* bit i: register i was taken off */
	int32_t place[EXIDX_REGS]; /* where, from reg */
	bool has_failed;	   /* sticky */
};

static inline void undo_fail(struct undo *undo)
{
	undo->has_failed = true;
}

static inline bool undo_is_near(int64_t bytes)
{
	return bytes <= UNDO_BYTES_MAX && bytes >= -UNDO_BYTES_MAX;
}

static inline void undo_add(struct undo *undo, int64_t bytes)
{
	const int64_t offset = undo->offset + bytes;

	if (unlikely(!undo_is_near(offset)))
		undo_fail(undo);
	else
		undo->offset = (int32_t)offset;
}

static inline uint32_t undo_count(uint32_t mask)
{
	uint32_t count = 0;

	for (; mask; mask &= mask - 1)
		count++;
	return count;
}

/* Registers are in the order of their numbers, the lowest one where the stack pointer is. */
static inline void undo_pop(struct undo *undo, uint32_t mask)
{
	for (uint32_t reg = 0; reg < EXIDX_REGS; reg++) {
		if (!(mask >> reg & 1))
			continue;
		undo->saved |= UINT32_C(1) << reg;
		undo->place[reg] = undo->offset;
		undo_add(undo, UNDO_WORD);
	}
}

/* vsp = register + bytes. What was found by another register until now would be elsewhere. */
static inline void undo_set(struct undo *undo, uint32_t reg, int32_t bytes)
{
	if (reg == EXIDX_REG_SP || reg >= EXIDX_REG_PC || undo->saved || !undo_is_near(bytes)) {
		undo_fail(undo);
		return;
	}
	undo->reg = reg;
	undo->offset = bytes;
}

/* False: a step has failed. */
static inline bool undo_row(const struct undo *undo, struct exidx_row *ret)
{
	if (undo->has_failed)
		return false;
	*ret = (struct exidx_row) { .reg = undo->reg,
				    .offset = undo->offset,
				    .saved = undo->saved };
	for (uint32_t reg = 0; reg < EXIDX_REGS; reg++)
		if (undo->saved >> reg & 1)
			ret->place[reg] = undo->place[reg] - undo->offset;
	return true;
}

#endif
