#include "unwind/cfa.h"

#include "arch/native.h"

#include "core/poison.h"

/* Operations of the few expressions a rule can stand for. */
enum { OP_DEREF = 0x06, OP_BREG_0 = 0x70, OP_BREG_31 = 0x8f };

/* "register + offset", perhaps followed by a load from there. */
struct simple_expression {
	uint32_t reg;
	int64_t offset;
	bool is_deref;
};

static bool expression_is_simple(const struct unwind_object *object, int64_t place,
				 struct simple_expression *ret)
{
	struct bytes b = cfa_expression(object, place);
	uint8_t op = bytes_u8(&b);

	if (op < OP_BREG_0 || op > OP_BREG_31)
		return false;
	ret->reg = op - OP_BREG_0;
	ret->offset = bytes_sleb(&b);
	ret->is_deref = b.at < b.end;
	if (ret->is_deref && bytes_u8(&b) != OP_DEREF)
		return false;
	return !b.failed && b.at == b.end;
}

/* offset in words as stored in a rule; false: not a multiple, or out of range. */
static bool words_fit(int64_t offset, int64_t min_words, int64_t max_words, uint32_t *words_ret)
{
	const int64_t words = offset / ARCH_WORD_BYTES;

	if (offset % ARCH_WORD_BYTES != 0 || words < min_words || words > max_words)
		return false;
	*words_ret = (uint32_t)words;
	return true;
}

/* The bp field for a CFA that does not come from [bp]. */
static bool saved_words(const struct cfa_row *row, uint32_t *words_ret)
{
	*words_ret = 0;
	switch ((enum cfa_where)row->where[ARCH_REG_FP]) {
	case CFA_UNSET:
	case CFA_SAME:
	case CFA_UNDEFINED: /* nobody can need it, so any value will do */
		return true;
	case CFA_OFFSET:
		if (row->value[ARCH_REG_FP] < -ARCH_WORD_BYTES * (int64_t)UNWIND_SAVED_MAX)
			return false;
		return words_fit(-row->value[ARCH_REG_FP], 1, UNWIND_SAVED_MAX, words_ret);
	case CFA_VAL_OFFSET:
	case CFA_REGISTER:
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		break;
	}
	return false;
}

/* The return address and the frame pointer for a CFA of sp or the frame pointer and an offset. */
static uint32_t rule_from_link(const struct cfa_row *row, uint64_t reg, int64_t offset)
{
	const bool is_saved = row->where[ARCH_REG_RA] == CFA_OFFSET;
	const bool is_kept =
		row->where[ARCH_REG_RA] == CFA_UNSET || row->where[ARCH_REG_RA] == CFA_SAME;
	uint32_t saved, ra = 0, beside = 0;

	if (!saved_words(row, &saved) || offset < 0 || offset % UNWIND_OFFSET_UNIT != 0 ||
	    offset / UNWIND_OFFSET_UNIT > UNWIND_OFFSET_MAX || (!is_saved && !is_kept))
		return UNWIND_SLOW;
	if (is_saved && !words_fit(-row->value[ARCH_REG_RA], 1, UNWIND_RA_MAX, &ra))
		return UNWIND_SLOW;
	if (saved) {
		beside = UNWIND_BESIDE + saved - ra;
		if (beside == 0 || beside > UNWIND_BESIDE_MAX)
			return UNWIND_SLOW;
	}
	if (reg == ARCH_REG_SP)
		return unwind_rule_make_link(UNWIND_SP, beside, ra,
					     (uint32_t)(offset / UNWIND_OFFSET_UNIT));
	if (reg == ARCH_REG_FP && is_saved)
		return unwind_rule_make_link(UNWIND_BP, beside, ra,
					     (uint32_t)(offset / UNWIND_OFFSET_UNIT));
	return UNWIND_SLOW;
}

static uint32_t rule_from_register(const struct cfa_row *row, uint64_t reg, int64_t offset)
{
	uint32_t saved, words;

	if (UNWIND_LINKS)
		return rule_from_link(row, reg, offset);
	if (!saved_words(row, &saved))
		return UNWIND_SLOW;
	if (reg == ARCH_REG_SP && words_fit(offset, 0, UNWIND_OFFSET_MAX, &words))
		return unwind_rule_make(UNWIND_SP, saved, words);
	if (reg == ARCH_REG_FP && words_fit(offset, INT16_MIN, INT16_MAX, &words))
		return unwind_rule_make(UNWIND_BP, saved, words);
	return UNWIND_SLOW;
}

/* gcc's realigned stacks: CFA = [bp + offset], bp saved at [bp] or not at all. */
static uint32_t rule_from_deref(const struct unwind_object *object, const struct cfa_row *row,
				int64_t offset)
{
	struct simple_expression bp;
	uint32_t saved, words;

	if (!words_fit(offset, INT16_MIN, INT16_MAX, &words))
		return UNWIND_SLOW;
	if (row->where[ARCH_REG_FP] == CFA_EXPRESSION &&
	    expression_is_simple(object, row->value[ARCH_REG_FP], &bp) && !bp.is_deref &&
	    bp.reg == ARCH_REG_FP && bp.offset == 0)
		return unwind_rule_make(UNWIND_DEREF, 1, words);
	if (saved_words(row, &saved) && saved == 0)
		return unwind_rule_make(UNWIND_DEREF, 0, words);
	return UNWIND_SLOW;
}

/* The libc's trampoline restores the sp of its ucontext: CFA = [sp + offset in there]. */
static uint32_t rule_from_signal(const struct unwind_object *object, const struct cfa_row *row)
{
	int64_t sp_offset = arch_context_offset[ARCH_REG_SP];
	struct simple_expression cfa;
	uint32_t words;

	if (ARCH_HAS_EXIDX && row->where[ARCH_REG_SP] == CFA_OFFSET &&
	    row->cfa_reg == ARCH_REG_SP &&
	    words_fit(row->cfa_offset + row->value[ARCH_REG_SP] - sp_offset, 0, UNWIND_OFFSET_MAX,
		      &words))
		return unwind_rule_make(UNWIND_SIGNAL, 0, words);
	if (row->cfa_is_expression && expression_is_simple(object, row->cfa_expression, &cfa) &&
	    cfa.is_deref && cfa.reg == ARCH_REG_SP &&
	    words_fit(cfa.offset - sp_offset, UNWIND_LINKS ? 0 : INT16_MIN,
		      UNWIND_LINKS ? UNWIND_OFFSET_MAX : INT16_MAX, &words))
		return unwind_rule_make(UNWIND_SIGNAL, 0, words);
	return UNWIND_SLOW;
}

static uint32_t rule_from_row(const struct unwind_object *object, const struct frame_entry *entry,
			      const struct cfa_row *row)
{
	const int64_t ra_offset = -(int64_t)ARCH_RA_BELOW_CFA;
	struct simple_expression cfa;

	if (entry->ra_reg != ARCH_REG_RA && !entry->is_signal)
		return UNWIND_SLOW;
	if (row->where[ARCH_REG_RA] == CFA_UNDEFINED)
		return UNWIND_END;
	if (entry->is_signal)
		return rule_from_signal(object, row);
	if (!UNWIND_LINKS &&
	    (row->where[ARCH_REG_PC] != CFA_OFFSET || row->value[ARCH_REG_PC] != ra_offset))
		return UNWIND_SLOW;
	if (row->where[ARCH_REG_SP] != CFA_UNSET)
		return UNWIND_SLOW;
	if (!row->cfa_is_expression)
		return rule_from_register(row, row->cfa_reg, row->cfa_offset);
	if (!expression_is_simple(object, row->cfa_expression, &cfa))
		return UNWIND_SLOW;
	if (!cfa.is_deref)
		return rule_from_register(row, cfa.reg, cfa.offset);
	if (!UNWIND_LINKS && cfa.reg == ARCH_REG_FP)
		return rule_from_deref(object, row, cfa.offset);
	return UNWIND_SLOW;
}

uint32_t unwind_rule_compile(const struct unwind_object *object, uint64_t pc)
{
	struct frame_entry entry;
	struct cfa_row row;
	uint32_t rule;

	CHECK(object->begin <= object->end);
	switch (cfa_find(object, pc, &entry, &row)) {
	case FRAMES_SIGRETURN:
		return unwind_rule_sigreturn(entry.above_sp);
	case FRAMES_ENTRY:
		rule = rule_from_row(object, &entry, &row);
		if (ARCH_HAS_EXIDX && entry.is_read && unwind_rule_kind(rule) == UNWIND_SP)
			rule += UNWIND_READ - UNWIND_SP;
		return rule;
	case FRAMES_BOTTOM:
		return UNWIND_END;
	case FRAMES_NONE:
		break;
	}
	return UNWIND_NONE;
}

struct rules_visit {
	const struct unwind_object *object;
	const struct frame_entry *entry;
	bool (*visit)(void *context, uint64_t pc, uint32_t rule);
	void *context;
};

static bool visit_row(void *context, uint64_t pc, const struct cfa_row *row)
{
	const struct rules_visit *visit = context;

	return visit->visit(visit->context, pc, rule_from_row(visit->object, visit->entry, row));
}

bool unwind_rules_each(const struct unwind_object *object,
		       bool (*visit)(void *context, uint64_t pc, uint32_t rule), void *context)
{
	struct frame_entry entry;
	struct rules_visit rows = { object, &entry, visit, context };
	const uint8_t *at = NULL;

	while (frames_next(object, &at, &entry))
		if (entry.pc_begin < entry.pc_end &&
		    (!cfa_rows_each(object, &entry, visit_row, &rows) ||
		     !visit(context, entry.pc_end, UNWIND_NONE)))
			return false;
	return true;
}

uint32_t unwind_rule_compile_frames(const uint8_t *eh_frame, uint64_t pc)
{
	struct unwind_object object;

	CHECK(eh_frame);
	unwind_object_init_frames(&object, eh_frame);
	return unwind_rule_compile(&object, pc);
}
