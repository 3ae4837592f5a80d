#include "unwind/cfa.h"
#include "unwind/expression.h"

#include "arch/native.h"

#include "core/poison.h"

/* One step: from the registers of a frame to those of its caller. */
struct step {
	const struct unwind_object *object;
	const struct unwind_regs *from;
	struct unwind_memory memory;
	struct cfa_row row;
	uint64_t cfa;
};

static bool regs_get(const struct unwind_regs *regs, uint64_t reg, uint64_t *ret)
{
	if (reg >= ARCH_REGS || !(regs->known >> reg & 1))
		return false;
	*ret = regs->value[reg];
	return true;
}

static bool step_compute_cfa(struct step *step)
{
	const struct cfa_row *row = &step->row;

	if (row->cfa_is_expression)
		return expression_run(cfa_expression(step->object, row->cfa_expression),
				      &step->memory, step->from, NULL, &step->cfa);
	if (!regs_get(step->from, row->cfa_reg, &step->cfa))
		return false;
	step->cfa = (arch_word)(step->cfa + (uint64_t)row->cfa_offset);
	return true;
}

static bool step_load(const struct step *step, uint32_t reg, uint64_t at, struct unwind_regs *ret)
{
	ret->slot[reg] = at;
	return memory_load(&step->memory, at, &ret->value[reg]);
}

/*
 * The caller's value of reg; false: unknown. Unspecified registers are assumed unchanged, even
 * those a call may clobber: other unwinders do so, and assembly that keeps its CFA in one of them
 * relies on it.
 */
static bool step_compute_reg(const struct step *step, uint32_t reg, struct unwind_regs *to)
{
	uint64_t *ret = &to->value[reg];
	const int64_t value = step->row.value[reg];
	const uint64_t at = (arch_word)(step->cfa + (uint64_t)value);
	uint64_t result;

	switch ((enum cfa_where)step->row.where[reg]) {
	case CFA_UNSET:
		if (reg != ARCH_REG_SP)
			return regs_get(step->from, reg, ret);
		*ret = step->cfa;
		return true;
	case CFA_SAME:
		return regs_get(step->from, reg, ret);
	case CFA_UNDEFINED:
		return false;
	case CFA_OFFSET:
		return step_load(step, reg, at, to);
	case CFA_VAL_OFFSET:
		*ret = at;
		return true;
	case CFA_REGISTER:
		return regs_get(step->from, (uint64_t)value, ret);
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		if (!expression_run(cfa_expression(step->object, value), &step->memory, step->from,
				    &step->cfa, &result))
			return false;
		if (step->row.where[reg] == CFA_EXPRESSION)
			return step_load(step, reg, result, to);
		*ret = result;
		return true;
	}
	return false;
}

static void step_compute_regs(const struct step *step, struct unwind_regs *ret)
{
	for (uint32_t reg = 0; reg < ARCH_REGS; reg++)
		if (step_compute_reg(step, reg, ret))
			ret->known |= UINT64_C(1) << reg;
}

/* A handler returns into the trampoline: the kernel left every register above sp. */
static void signal_regs(const struct step *step, int32_t above_sp, struct unwind_regs *ret)
{
	const uint64_t ucontext = step->from->value[ARCH_REG_SP] + (uint64_t)above_sp;

	for (uint32_t reg = 0; reg < ARCH_REGS; reg++)
		if (step_load(step, reg, ucontext + arch_context_offset[reg], ret))
			ret->known |= UINT64_C(1) << reg;
	ret->exact = true;
}

/* The caller's registers by the table. False: no way further, or the outermost frame. */
static bool table_regs(struct step *step, const struct frame_entry *entry, struct unwind_regs *ret,
		       bool *end_ret)
{
	if (entry->ra_reg >= ARCH_REGS)
		return false;
	*end_ret = step->row.where[entry->ra_reg] == CFA_UNDEFINED;
	if (*end_ret || !step_compute_cfa(step))
		return false;
	/* What a caller has not saved is another one's since the call. */
	if (ARCH_HAS_EXIDX && !step->from->exact && step->row.where[entry->ra_reg] == CFA_UNSET)
		return false;
	step_compute_regs(step, ret);
	if (!regs_get(ret, entry->ra_reg, &ret->value[ARCH_REG_PC]))
		return false;
	ret->value[ARCH_REG_PC] = arch_code_address(ret->value[ARCH_REG_PC]);
	ret->known |= UINT64_C(1) << ARCH_REG_PC;
	ret->exact = entry->is_signal;
	return true;
}

static bool caller_regs(struct step *step, struct unwind_regs *ret, bool *end_ret)
{
	const uint64_t pc = step->from->value[ARCH_REG_PC] - !step->from->exact;
	struct frame_entry entry;

	switch (cfa_find(step->object, pc, &entry, &step->row)) {
	case FRAMES_SIGRETURN:
		signal_regs(step, entry.above_sp, ret);
		return true;
	case FRAMES_ENTRY:
		return table_regs(step, &entry, ret, end_ret);
	case FRAMES_BOTTOM:
		*end_ret = true;
		break;
	case FRAMES_NONE:
		break;
	}
	return false;
}

bool unwind_full_step(const struct unwind_object *object, struct unwind_regs *regs,
		      const struct unwind_memory *stack, bool *end_ret)
{
	const uint64_t needed = UINT64_C(1) << ARCH_REG_PC | UINT64_C(1) << ARCH_REG_SP;
	struct step step;
	struct unwind_regs to = { 0 };

	CHECK(stack->begin <= stack->end);
	CHECK(object->begin <= object->end);
	*end_ret = false;
	if ((regs->known & needed) != needed)
		return false;
	step.object = object;
	step.from = regs;
	step.memory = *stack;
	if (!caller_regs(&step, &to, end_ret))
		return false;
	if ((to.known & needed) != needed)
		return false;
	if (to.value[ARCH_REG_PC] == regs->value[ARCH_REG_PC] &&
	    to.value[ARCH_REG_SP] == regs->value[ARCH_REG_SP])
		return false; /* it would loop for ever */
	if (to.value[ARCH_REG_PC] == 0) {
		*end_ret = true;
		return false;
	}
	*regs = to;
	return true;
}
