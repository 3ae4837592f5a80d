#include "unwind/cfa.h"
#include "unwind/epilogue.h"

#include "arch/native.h"

#include "core/poison.h"

/* Nesting of remember_state; compilers need one. */
enum { REMEMBER_MAX = 6 };

enum {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_ADVANCE_LOC8 = 0x1d,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET = 0x2f,
	OP_HIGH_ADVANCE_LOC = 1, /* the high two bits; the low six are the operand */
	OP_HIGH_OFFSET = 2,
	OP_HIGH_RESTORE = 3
};

struct machine {
	const struct unwind_object *object;
	const struct frame_entry *entry;
	struct cfa_row *row;
	const struct cfa_row *initial; /* NULL while the CIE's own program runs */
	uint64_t loc;
	size_t remembered_count;
	struct cfa_row remembered[REMEMBER_MAX];
};

/* Registers we do not follow (vector, segment) are parsed and forgotten. */
static void row_set(struct cfa_row *row, uint64_t reg, enum cfa_where where, int64_t value)
{
	if (reg >= ARCH_REGS)
		return;
	row->where[reg] = (uint8_t)where;
	row->value[reg] = value;
}

static void row_restore(struct machine *m, uint64_t reg)
{
	if (reg >= ARCH_REGS)
		return;
	m->row->where[reg] = m->initial ? m->initial->where[reg] : CFA_UNSET;
	m->row->value[reg] = m->initial ? m->initial->value[reg] : 0;
}

static void row_set_cfa(struct cfa_row *row, uint64_t reg, int64_t offset)
{
	row->cfa_reg = reg;
	row->cfa_offset = offset;
	row->cfa_is_expression = false;
	row->cfa_is_set = true;
}

/* Multiplied as unsigned: hostile operands may overflow. */
static int64_t factored(const struct machine *m, uint64_t operand)
{
	return (int64_t)(operand * (uint64_t)m->entry->data_align);
}

/* Skips an expression block and says where it begins. */
static int64_t skip_expression(const struct machine *m, struct bytes *b)
{
	int64_t place = b->at - m->object->frames_begin;

	bytes_skip(b, bytes_uleb(b));
	return place;
}

struct bytes cfa_expression(const struct unwind_object *object, int64_t value)
{
	struct bytes b = { .at = object->frames_begin + value, .end = object->frames_end };
	uint64_t size = bytes_uleb(&b);

	CHECK(value >= 0);
	CHECK((uint64_t)value <= (uintptr_t)object->frames_end - (uintptr_t)object->frames_begin);
	if (size > bytes_left(&b))
		bytes_fail(&b);
	else
		b.end = b.at + size;
	return b;
}

static void machine_remember(struct machine *m, struct bytes *b)
{
	if (m->remembered_count == REMEMBER_MAX)
		bytes_fail(b);
	else
		m->remembered[m->remembered_count++] = *m->row;
}

static void machine_recall(struct machine *m, struct bytes *b)
{
	if (m->remembered_count == 0)
		bytes_fail(b);
	else
		*m->row = m->remembered[--m->remembered_count];
}

/* Operations on the CFA. False: op is another. */
static bool run_cfa_op(struct machine *m, struct bytes *b, uint8_t op)
{
	struct cfa_row *row = m->row;
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = bytes_uleb(b);
		row_set_cfa(row, reg, (int64_t)bytes_uleb(b));
		return true;
	case OP_DEF_CFA_SF:
		reg = bytes_uleb(b);
		row_set_cfa(row, reg, factored(m, (uint64_t)bytes_sleb(b)));
		return true;
	case OP_DEF_CFA_REGISTER:
		row_set_cfa(row, bytes_uleb(b), row->cfa_offset);
		return true;
	case OP_DEF_CFA_OFFSET:
		row->cfa_offset = (int64_t)bytes_uleb(b);
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		row->cfa_offset = factored(m, (uint64_t)bytes_sleb(b));
		return true;
	case OP_DEF_CFA_EXPRESSION:
		row->cfa_is_expression = true;
		row->cfa_is_set = true;
		row->cfa_expression = skip_expression(m, b);
		return true;
	}
	return false;
}

/* Operations that advance the location. False: op is another. */
static bool run_loc_op(struct machine *m, struct bytes *b, uint8_t op)
{
	const struct unwind_object *object = m->object;
	uint64_t code_align = m->entry->code_align;

	switch (op) {
	case OP_ADVANCE_LOC1:
		m->loc += bytes_u8(b) * code_align;
		return true;
	case OP_ADVANCE_LOC2:
		m->loc += bytes_u16(b) * code_align;
		return true;
	case OP_ADVANCE_LOC4:
		m->loc += bytes_u32(b) * code_align;
		return true;
	case OP_ADVANCE_LOC8:
		m->loc += bytes_u64(b) * code_align;
		return true;
	case OP_SET_LOC:
		m->loc = bytes_encoded(b, m->entry->pointer_encoding, 0, object->frames_begin,
				       object->frames_end);
		return true;
	}
	return false;
}

/* Operations on one register. False: op is another. */
static bool run_reg_op(struct machine *m, struct bytes *b, uint8_t op)
{
	struct cfa_row *row = m->row;
	uint64_t reg;

	if ((op < OP_OFFSET_EXTENDED || op > OP_REGISTER) && op != OP_EXPRESSION &&
	    op != OP_OFFSET_EXTENDED_SF && (op < OP_VAL_OFFSET || op > OP_VAL_EXPRESSION) &&
	    op != OP_GNU_NEGATIVE_OFFSET)
		return false;
	reg = bytes_uleb(b);
	if (op == OP_OFFSET_EXTENDED)
		row_set(row, reg, CFA_OFFSET, factored(m, bytes_uleb(b)));
	else if (op == OP_RESTORE_EXTENDED)
		row_restore(m, reg);
	else if (op == OP_UNDEFINED)
		row_set(row, reg, CFA_UNDEFINED, 0);
	else if (op == OP_SAME_VALUE)
		row_set(row, reg, CFA_SAME, 0);
	else if (op == OP_REGISTER)
		row_set(row, reg, CFA_REGISTER, (int64_t)bytes_uleb(b));
	else if (op == OP_EXPRESSION)
		row_set(row, reg, CFA_EXPRESSION, skip_expression(m, b));
	else if (op == OP_OFFSET_EXTENDED_SF)
		row_set(row, reg, CFA_OFFSET, factored(m, (uint64_t)bytes_sleb(b)));
	else if (op == OP_VAL_OFFSET)
		row_set(row, reg, CFA_VAL_OFFSET, factored(m, bytes_uleb(b)));
	else if (op == OP_VAL_OFFSET_SF)
		row_set(row, reg, CFA_VAL_OFFSET, factored(m, (uint64_t)bytes_sleb(b)));
	else if (op == OP_VAL_EXPRESSION)
		row_set(row, reg, CFA_VAL_EXPRESSION, skip_expression(m, b));
	else
		row_set(row, reg, CFA_OFFSET, factored(m, -bytes_uleb(b)));
	return true;
}

static void run_op(struct machine *m, struct bytes *b, uint8_t op)
{
	if (op == OP_REMEMBER_STATE)
		machine_remember(m, b);
	else if (op == OP_RESTORE_STATE)
		machine_recall(m, b);
	else if (op == OP_GNU_ARGS_SIZE)
		bytes_uleb(b); /* for landing pads only */
	else if (op != OP_NOP && !arch_cfa_is_mark(op) && !run_cfa_op(m, b, op) &&
		 !run_loc_op(m, b, op) && !run_reg_op(m, b, op))
		bytes_fail(b);
}

/* Runs until the row for pc is complete. */
static bool machine_run(struct machine *m, struct bytes *b, uint64_t pc)
{
	while (b->at < b->end) {
		uint8_t byte = *b->at++;
		uint8_t low = byte & 0x3f;

		switch (byte >> 6) {
		case OP_HIGH_ADVANCE_LOC:
			m->loc += low * m->entry->code_align;
			break;
		case OP_HIGH_OFFSET:
			row_set(m->row, low, CFA_OFFSET, factored(m, bytes_uleb(b)));
			break;
		case OP_HIGH_RESTORE:
			row_restore(m, low);
			break;
		default:
			run_op(m, b, byte);
		}
		if (m->loc > pc)
			break;
	}
	return !b->failed;
}

/* Ready for the entry's own program, whose rows go to *row; *initial is what the CIE's program says. */
static bool machine_init(struct machine *m, const struct unwind_object *object,
			 const struct frame_entry *entry, struct cfa_row *row,
			 struct cfa_row *initial)
{
	struct bytes program = entry->initial;

	CHECK((uintptr_t)entry->initial.at <= (uintptr_t)entry->initial.end);
	CHECK((uintptr_t)entry->program.at <= (uintptr_t)entry->program.end);
	/* Field by field: an initializer would clear the remembered rows, a kilobyte. */
	m->object = object;
	m->entry = entry;
	m->row = row;
	m->initial = NULL;
	m->loc = entry->pc_begin;
	m->remembered_count = 0;
	memset(row, 0, sizeof(*row));
	if (!machine_run(m, &program, UINT64_MAX))
		return false;
	*initial = *row;
	m->initial = initial;
	m->loc = entry->pc_begin;
	return true;
}

static bool row_compute(const struct unwind_object *object, const struct frame_entry *entry,
			uint64_t pc, struct cfa_row *ret)
{
	struct bytes program = entry->program;
	struct cfa_row initial;
	struct machine m;

	CHECK(pc >= entry->pc_begin && pc < entry->pc_end);
	return machine_init(&m, object, entry, ret, &initial) && machine_run(&m, &program, pc) &&
	       ret->cfa_is_set;
}

/*
 * Where the stack pointer was saved as well, all registers were: by the kernel, for a signal. The
 * address where execution goes on is in a register of its own then.
 */
static void row_from_index(const struct exidx_row *from, struct frame_entry *entry_ret,
			   struct cfa_row *ret)
{
	memset(ret, 0, sizeof(*ret));
	row_set_cfa(ret, from->reg, from->offset);
	for (uint32_t reg = 0; reg < EXIDX_REGS; reg++)
		if (from->saved >> reg & 1)
			row_set(ret, reg, CFA_OFFSET, from->place[reg]);
	*entry_ret = (struct frame_entry) {
		.is_signal = from->saved >> EXIDX_REG_SP & 1,
		.ra_reg = from->saved >> EXIDX_REG_PC & 1 ? EXIDX_REG_PC : EXIDX_REG_LR,
	};
}

/* ARM: what the index says, where it says how a frame is left. A return address - 1 is odd. */
static bool index_find(const struct unwind_object *object, uint64_t pc,
		       struct frame_entry *entry_ret, struct cfa_row *row_ret)
{
	struct exidx_row row;

	if ((pc % 2 ? exidx_find(&object->index, pc, &row)
		    : exidx_find_interrupted(&object->index, pc, &row)) != EXIDX_ROW)
		return false;
	row_from_index(&row, entry_ret, row_ret);
	return true;
}

/* ARM: what the code says behind the call that it has made. */
static enum frames_found code_find(const struct unwind_object *object, uint64_t pc,
				   struct frame_entry *entry_ret, struct cfa_row *row_ret)
{
	const struct epilogue_code code = { object->code_begin, object->code_end };
	const uint64_t next = pc + 1;
	struct exidx_row row;
	bool is_thumb;

	if (next < code.begin || next >= code.end)
		return FRAMES_NONE;
	if (exidx_begins(&object->index, next) ||
	    exidx_code_ends_thread((const uint8_t *)(uintptr_t)next, (size_t)(code.end - next)))
		return FRAMES_BOTTOM;
	if (!epilogue_call(&code, next, &is_thumb))
		return FRAMES_NONE;
	switch (epilogue_find(&code, next, is_thumb, &row)) {
	case EPILOGUE_ROW:
		row_from_index(&row, entry_ret, row_ret);
		entry_ret->is_read = true;
		return FRAMES_ENTRY;
	case EPILOGUE_LAST:
		return FRAMES_BOTTOM;
	case EPILOGUE_NONE:
		break;
	}
	return FRAMES_NONE;
}

enum frames_found cfa_find(const struct unwind_object *object, uint64_t pc,
			   struct frame_entry *entry_ret, struct cfa_row *row_ret)
{
	enum frames_found found;

	entry_ret->is_read = false;
	if (ARCH_HAS_EXIDX && index_find(object, pc, entry_ret, row_ret))
		return FRAMES_ENTRY;
	found = frames_find(object, pc, entry_ret);
	if (found == FRAMES_ENTRY && !row_compute(object, entry_ret, pc, row_ret))
		found = FRAMES_NONE;
	if (ARCH_HAS_EXIDX && found == FRAMES_NONE)
		return code_find(object, pc, entry_ret, row_ret);
	return found;
}

bool cfa_rows_each(const struct unwind_object *object, const struct frame_entry *entry,
		   bool (*visit)(void *context, uint64_t pc, const struct cfa_row *row),
		   void *context)
{
	struct bytes program = entry->program;
	struct cfa_row row, initial;
	struct machine m;

	if (!machine_init(&m, object, entry, &row, &initial))
		return true;
	for (uint64_t pc = m.loc; pc < entry->pc_end; pc = m.loc) {
		if (!machine_run(&m, &program, pc))
			break;
		if (row.cfa_is_set && !visit(context, pc, &row))
			return false;
		if (m.loc <= pc)
			break;
	}
	return true;
}
