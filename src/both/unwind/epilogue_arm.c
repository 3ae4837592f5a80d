#include "unwind/epilogue_code.h"

#include "core/poison.h"

/* The constant of an instruction that computes: 8 bits, rotated. */
static int64_t constant_of(uint32_t word)
{
	const uint32_t value = word & 0xff, by = word >> 7 & 30;

	return (int32_t)(by ? value >> by | value << (32 - by) : value);
}

static uint32_t target_register(uint32_t word)
{
	return word >> 12 & 15;
}

static uint32_t source_register(uint32_t word)
{
	return word >> 16 & 15;
}

/* Sums of registers and constants, and moves; false: it is none. */
static bool step_sum(struct epilogue *e, uint32_t word)
{
	const uint32_t to = target_register(word), from = source_register(word);

	if ((word & 0x0fe00000) == 0x02800000)
		epilogue_add(e, to, from, constant_of(word));
	else if ((word & 0x0fe00000) == 0x02400000)
		epilogue_add(e, to, from, -constant_of(word));
	else if ((word & 0x0fef0ff0) == 0x01a00000 && to != EXIDX_REG_PC)
		epilogue_add(e, to, word & 15, 0);
	else
		return false;
	return true;
}

/* What takes off the stack and puts on it; false: it does neither. */
static bool step_stack(struct epilogue *e, uint32_t word)
{
	const uint32_t one = UINT32_C(1) << target_register(word);
	const int32_t bytes = word & 0xfff;

	if ((word & 0x0fff0000) == 0x08bd0000) {
		epilogue_pop(e, word & 0xffff);
	} else if ((word & 0x0fff0000) == 0x092d0000) {
		epilogue_push(e, word & 0xffff);
	} else if ((word & 0x0fff0000) == 0x049d0000 && bytes >= UNDO_WORD) {
		epilogue_pop(e, one);
		undo_add(&e->now.undo, bytes - UNDO_WORD);
	} else if ((word & 0x0fff0000) == 0x052d0000) {
		epilogue_push(e, one);
		undo_add(&e->now.undo, UNDO_WORD - bytes);
	} else if ((word & 0x0fbf0e00) == 0x0cbd0a00) {
		undo_add(&e->now.undo, (word & 0xff) * UNDO_WORD);
	} else if ((word & 0x0fbf0e00) == 0x0d2d0a00) {
		undo_add(&e->now.undo, -(int32_t)(word & 0xff) * UNDO_WORD);
	} else {
		return false;
	}
	return true;
}

/* Jumps, but calls; false: it is none. */
static bool step_jump(struct epilogue *e, uint32_t word)
{
	const uint64_t target = e->now.pc + 4 + (uint64_t)(int64_t)((int32_t)(word << 8) >> 6);
	const bool is_branch = (word & 0x0f000000) == 0x0a000000;

	if ((word & 0x0fffffff) == 0x012fff1e || (word & 0x0fffffff) == 0x01a0f00e)
		epilogue_return(e);
	else if (is_branch && word >> 28 == 14)
		epilogue_branch(e, target);
	else if (is_branch)
		epilogue_fork(e, target);
	else if ((word & 0x0ffffff0) == 0x012fff10 && epilogue_has_link(e))
		e->is_done = true;
	else if ((word & 0x0ffffff0) == 0x012fff10 || (word & 0x0c10f000) == 0x0410f000 ||
		 (word & 0x0e108000) == 0x08108000 || (word & 0x0fe0f000) == 0x0080f000 ||
		 (word & 0x0feff000) == 0x01a0f000 || (word & 0x0ff000f0) == 0x07f000f0)
		undo_fail(&e->now.undo);
	else
		return false;
	return true;
}

void epilogue_step_arm(struct epilogue *e)
{
	const uint32_t word = arch_little_u32(load_u32((const uint8_t *)(uintptr_t)e->now.pc));

	e->now.pc += 4;
	if (word >> 28 == 15) /* none of these has a condition, or changes what is of interest */
		return;
	if (word == 0xe3a07001) /* mov r7, #1 */
		e->now.asks_exit = true;
	if (step_stack(e, word) || step_jump(e, word) || step_sum(e, word))
		return;
	/* Whatever else computes where the stack ends. */
	if ((word & 0x0c00f000) == EXIDX_REG_SP << 12 && (word & 0x01800000) != 0x01000000)
		undo_fail(&e->now.undo);
}
