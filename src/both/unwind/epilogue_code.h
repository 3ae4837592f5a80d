/*
 * epilogue_code: the state of following code (unwind/epilogue.h), for the readers of both instruction
 * sets. Private to the room.
 */
#ifndef MEMTAPE_UNWIND_EPILOGUE_CODE_H
#define MEMTAPE_UNWIND_EPILOGUE_CODE_H

#include "unwind/epilogue.h"
#include "unwind/undo.h"

enum { EPILOGUE_MOVED_FAR = UNDO_BYTES_MAX + 1 };

/* A place on a way through the code, and what was undone until there. */
struct epilogue_way {
	uint64_t pc; /* of the next instruction */
	struct undo undo;
	int32_t moved[EXIDX_REGS]; /* what was added to registers, EPILOGUE_MOVED_FAR: too much */
	bool asks_exit; /* the number of the call that ends a thread is in its register */
};

enum { EPILOGUE_FORKS = 40, EPILOGUE_SEEN = 8192, EPILOGUE_THUMB_FP = 7, EPILOGUE_ARM_FP = 11 };

/* Another way that may be gone, before anything was taken off the stack. */
struct epilogue_fork {
	uint64_t pc;
	uint32_t reg;
	int32_t offset, moved[2]; /* of the two frame pointers */
	bool asks_exit;
};

struct epilogue {
	const struct epilogue_code *code;
	struct epilogue_way now;
	struct epilogue_fork forks[EPILOGUE_FORKS]; /* not taken: where this one leads nowhere */
	uint32_t fork_count;
	uint8_t seen[EPILOGUE_SEEN / 8]; /* halves of words around the call that were on a way */
	bool is_done;
	bool has_exit; /* on a way that leads nowhere else */
};

static inline bool epilogue_may_read(const struct epilogue *e, uint64_t bytes)
{
	return e->now.pc >= e->code->begin && e->now.pc <= e->code->end &&
	       e->code->end - e->now.pc >= bytes;
}

static inline bool epilogue_has_link(const struct epilogue *e)
{
	return e->now.undo.saved >> EXIDX_REG_LR & 1;
}

/* Returns to the caller by what is in the link register. */
static inline void epilogue_return(struct epilogue *e)
{
	if (epilogue_has_link(e))
		e->is_done = true;
	else
		undo_fail(&e->now.undo);
}

/* pc is what is taken off last, and where the function returns to. */
static inline void epilogue_pop(struct epilogue *e, uint32_t mask)
{
	const uint32_t pc = UINT32_C(1) << EXIDX_REG_PC, link = UINT32_C(1) << EXIDX_REG_LR;

	if (mask >> EXIDX_REG_SP & 1 || (mask & pc && mask & link)) {
		undo_fail(&e->now.undo);
		return;
	}
	undo_pop(&e->now.undo, mask & pc ? (mask & ~pc) | link : mask);
	e->is_done = mask & pc;
}

/* Arguments of a call are put on the stack; where the link register is, another function begins. */
static inline void epilogue_push(struct epilogue *e, uint32_t mask)
{
	if (mask >> EXIDX_REG_LR & 1 || e->now.undo.saved)
		undo_fail(&e->now.undo);
	else
		undo_add(&e->now.undo, -(int64_t)undo_count(mask) * UNDO_WORD);
}

/* to = from + bytes */
static inline void epilogue_add(struct epilogue *e, uint32_t to, uint32_t from, int64_t bytes)
{
	const int32_t until_here = e->now.moved[from];
	const int64_t sum = until_here + bytes;
	const int32_t moved = until_here != EPILOGUE_MOVED_FAR && undo_is_near(sum)
				      ? (int32_t)sum
				      : EPILOGUE_MOVED_FAR;

	if (to == EXIDX_REG_PC)
		undo_fail(&e->now.undo);
	else if (to == EXIDX_REG_SP && from == EXIDX_REG_SP)
		undo_add(&e->now.undo, bytes);
	else if (to == EXIDX_REG_SP)
		undo_set(&e->now.undo, from, moved);
	else if (to == from)
		e->now.moved[to] = moved;
}

/* A branch without a condition: to the end of this function, or to another one in its stead. */
static inline void epilogue_branch(struct epilogue *e, uint64_t target)
{
	enum { LOOP_BYTES = 16 }; /* that call again, if it should return */

	if (e->now.asks_exit && target < e->now.pc && e->now.pc - target <= LOOP_BYTES) {
		e->has_exit = true;
		undo_fail(&e->now.undo);
		return;
	}
	if (epilogue_has_link(e))
		e->is_done = true;
	else
		e->now.pc = target;
}

/* One with a condition. */
static inline void epilogue_fork(struct epilogue *e, uint64_t target)
{
	if (e->fork_count < EPILOGUE_FORKS && !e->now.undo.saved)
		e->forks[e->fork_count++] = (struct epilogue_fork) {
			target,
			e->now.undo.reg,
			e->now.undo.offset,
			{ e->now.moved[EPILOGUE_THUMB_FP], e->now.moved[EPILOGUE_ARM_FP] },
			e->now.asks_exit,
		};
}

/* Goes on with the last one. False: there is none. */
static inline bool epilogue_fork_take(struct epilogue *e)
{
	const struct epilogue_fork *fork;

	if (e->fork_count == 0)
		return false;
	fork = &e->forks[--e->fork_count];
	e->now = (struct epilogue_way) {
		.pc = fork->pc,
		.undo = { .reg = fork->reg, .offset = fork->offset },
		.moved[EPILOGUE_THUMB_FP] = fork->moved[0],
		.moved[EPILOGUE_ARM_FP] = fork->moved[1],
		.asks_exit = fork->asks_exit,
	};
	e->is_done = false;
	return true;
}

/* One instruction each; pc is behind it then. It may be read. */
void epilogue_step_thumb(struct epilogue *e);
void epilogue_step_arm(struct epilogue *e);

#endif
