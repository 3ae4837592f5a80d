#include "unwind/epilogue_code.h"

#include "core/poison.h"

static uint32_t half_at(uint64_t pc)
{
	return arch_little_u16(load_u16((const uint8_t *)(uintptr_t)pc));
}

/* A number of so many low bits. */
static uint64_t sign_extend(uint32_t value, uint32_t bits)
{
	return (uint64_t)(int64_t)((int32_t)(value << (32 - bits)) >> (32 - bits));
}

static void step_special(struct epilogue *e, uint32_t half)
{
	const uint32_t from = half >> 3 & 15, to = (half & 7) | (half >> 4 & 8);

	if ((half & 0xff00) == 0x4600)
		epilogue_add(e, to, from, 0);
	else if (half == 0x4770)
		epilogue_return(e);
	else if ((half & 0xff87) == 0x4700 && epilogue_has_link(e))
		e->is_done = true;
	else if ((half & 0xff87) == 0x4700 || ((half & 0xff00) == 0x4400 && to >= EXIDX_REG_SP))
		undo_fail(&e->now.undo);
}

/* 1011: push, pop and sums of the stack pointer are among them. */
static void step_b(struct epilogue *e, uint32_t half)
{
	if ((half & 0xff80) == 0xb000)
		undo_add(&e->now.undo, (half & 0x7f) * UNDO_WORD);
	else if ((half & 0xff80) == 0xb080)
		undo_add(&e->now.undo, -(int32_t)(half & 0x7f) * UNDO_WORD);
	else if ((half & 0xfe00) == 0xb400)
		epilogue_push(e, (half & 0xff) | (half & 0x100) << 6);
	else if ((half & 0xfe00) == 0xbc00)
		epilogue_pop(e, (half & 0xff) | (half & 0x100) << 7);
	else if ((half & 0xf500) == 0xb100) /* cbz, cbnz */
		epilogue_fork(e, e->now.pc + 2 + ((half >> 3 & 0x40) | (half >> 2 & 0x3e)));
	else if ((half & 0xff00) == 0xbe00)
		undo_fail(&e->now.undo);
}

static void step_short(struct epilogue *e, uint32_t half)
{
	const uint32_t reg = half >> 8 & 7;

	if ((half & 0xf800) == 0x3000)
		epilogue_add(e, reg, reg, half & 0xff);
	else if ((half & 0xf800) == 0x3800)
		epilogue_add(e, reg, reg, -(int32_t)(half & 0xff));
	else if ((half & 0xfc00) == 0x4400)
		step_special(e, half);
	else if ((half & 0xf000) == 0xb000)
		step_b(e, half);
	else if ((half & 0xf800) == 0xe000)
		epilogue_branch(e, e->now.pc + 2 + sign_extend((half & 0x7ff) << 1, 12));
	else if ((half & 0xff00) == 0xde00)
		undo_fail(&e->now.undo);
	else if ((half & 0xf000) == 0xd000 && half < 0xde00)
		epilogue_fork(e, e->now.pc + 2 + sign_extend((half & 0xff) << 1, 9));
}

/* The constant of an instruction that computes: 12 bits that say one of 32. */
static int64_t constant_of(uint32_t first, uint32_t second)
{
	const uint32_t bits = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xff);
	const uint32_t value = bits & 0xff, rotated = value | 0x80, by = bits >> 7;

	if (bits >> 10)
		return (int32_t)(rotated >> by | rotated << (32 - by));
	switch (bits >> 8) {
	case 1:
		return (int32_t)(value | value << 16);
	case 2:
		return (int32_t)(value << 8 | value << 24);
	case 3:
		return (int32_t)(value * 0x01010101);
	}
	return (int32_t)value;
}

/* The same, of those that have the 12 bits themselves. */
static int32_t plain_of(uint32_t first, uint32_t second)
{
	return (int32_t)((first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xff));
}

/* 11110, second 0: computes with constants. */
static void step_sum(struct epilogue *e, uint32_t first, uint32_t second)
{
	const uint32_t from = first & 15, to = second >> 8 & 15, op = first & 0xfbf0;

	if (first == 0xf04f && (second == 0x0c01 || second == 0x0701)) /* ip, r7 */
		e->now.asks_exit = true;
	if ((op & ~0x10U) == 0xf100 && to != EXIDX_REG_PC)
		epilogue_add(e, to, from, constant_of(first, second));
	else if ((op & ~0x10U) == 0xf1a0 && to != EXIDX_REG_PC)
		epilogue_add(e, to, from, -constant_of(first, second));
	else if (op == 0xf200)
		epilogue_add(e, to, from, plain_of(first, second));
	else if (op == 0xf2a0)
		epilogue_add(e, to, from, -plain_of(first, second));
	else if (to == EXIDX_REG_SP)
		undo_fail(&e->now.undo);
}

/* 11110, second 10: branches but calls, and what has to do with the system. */
static void step_branch(struct epilogue *e, uint32_t first, uint32_t second)
{
	const uint32_t sign = first >> 10 & 1, j1 = second >> 13 & 1, j2 = second >> 11 & 1;
	const uint32_t bits = sign << 24 | !(j1 ^ sign) << 23 | !(j2 ^ sign) << 22 |
			      (first & 0x3ff) << 12 | (second & 0x7ff) << 1;

	if ((second & 0xd000) == 0x9000)
		epilogue_branch(e, e->now.pc + sign_extend(bits, 25));
	else if ((first & 0x0380) != 0x0380)
		epilogue_fork(e, e->now.pc + sign_extend(sign << 20 | j2 << 19 | j1 << 18 |
								 (first & 0x3f) << 12 |
								 (second & 0x7ff) << 1,
							 21));
	else if ((first & 0xfff0) == 0xf7f0 || (first & 0xffd0) == 0xf3d0)
		undo_fail(&e->now.undo); /* undefined for good; returns of a kernel's */
}

/* ldr of one register, beside the stack pointer or not; str to the stack. */
static void step_load(struct epilogue *e, uint32_t first, uint32_t second)
{
	const uint32_t reg = second >> 12, one = UINT32_C(1) << reg;
	const int32_t bytes = second & 0xff;

	if (first == 0xf85d && (second & 0xf00) == 0xb00 && bytes >= UNDO_WORD) {
		epilogue_pop(e, one);
		undo_add(&e->now.undo, bytes - UNDO_WORD);
	} else if (first == 0xf84d && (second & 0xf00) == 0xd00) {
		epilogue_push(e, one);
		undo_add(&e->now.undo, UNDO_WORD - bytes);
	} else if ((first & 0xff70) == 0xf850 && reg == EXIDX_REG_PC) {
		undo_fail(&e->now.undo);
	}
}

/* 11101 and 11111. */
static void step_long(struct epilogue *e, uint32_t first, uint32_t second)
{
	if (first == 0xe8bd)
		epilogue_pop(e, second);
	else if (first == 0xe92d)
		epilogue_push(e, second);
	else if ((first & 0xffbf) == 0xecbd && (second & 0xe00) == 0xa00)
		undo_add(&e->now.undo, (second & 0xff) * UNDO_WORD);
	else if ((first & 0xffbf) == 0xed2d && (second & 0xe00) == 0xa00)
		undo_add(&e->now.undo, -(int32_t)(second & 0xff) * UNDO_WORD);
	else if ((first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000)
		undo_fail(&e->now.undo); /* a switch */
	else if ((first & 0xff00) == 0xf800)
		step_load(e, first, second);
	else if ((first & 0xfe50) == 0xe810 && second >> EXIDX_REG_PC)
		undo_fail(&e->now.undo);
	else if ((first & 0xfe00) == 0xea00 && (second >> 8 & 15) == EXIDX_REG_SP)
		undo_fail(&e->now.undo);
}

void epilogue_step_thumb(struct epilogue *e)
{
	const uint32_t first = half_at(e->now.pc), second = half_at(e->now.pc + 2);

	if (first < 0xe800) {
		e->now.pc += 2;
		step_short(e, first);
		return;
	}
	e->now.pc += 4;
	if (first >> 11 != 0x1e)
		step_long(e, first, second);
	else if (!(second & 0x8000))
		step_sum(e, first, second);
	else if (!(second & 0x4000))
		step_branch(e, first, second);
}
