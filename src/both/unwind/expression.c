#include "unwind/expression.h"

#include "core/poison.h"

enum { STACK_MAX = 32, STEPS_MAX = 1000 };

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_REG0 = 0x50,
	OP_REG31 = 0x6f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_REGX = 0x90,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96
};

struct calculator {
	struct bytes b;
	const uint8_t *begin; /* jumps stay in [begin, b.end] */
	const struct unwind_memory *memory;
	const struct unwind_regs *regs;
	size_t count;
	uint64_t stack[STACK_MAX];
};

bool memory_load(const struct unwind_memory *memory, uint64_t address, uint64_t *ret)
{
	bool is_bounded = memory->begin || memory->end;
	const uint8_t *at;
	arch_word word;

	CHECK(memory->begin <= memory->end);
	CHECK(!memory->copy || is_bounded);
	if (is_bounded && (address < memory->begin || address >= memory->end ||
			   memory->end - address < ARCH_WORD_BYTES))
		return false;
	at = memory->copy ? memory->copy + (address - memory->begin)
			  : (const uint8_t *)(uintptr_t)address;
	memcpy(&word, at, sizeof(word));
	*ret = word;
	return true;
}

static void push(struct calculator *c, uint64_t value)
{
	if (c->count == STACK_MAX)
		bytes_fail(&c->b);
	else
		c->stack[c->count++] = value;
}

static uint64_t pop(struct calculator *c)
{
	if (c->count == 0) {
		bytes_fail(&c->b);
		return 0;
	}
	return c->stack[--c->count];
}

/* The entry depth below the top. */
static void push_copy(struct calculator *c, size_t depth)
{
	if (depth >= c->count)
		bytes_fail(&c->b);
	else
		push(c, c->stack[c->count - 1 - depth]);
}

static void push_reg(struct calculator *c, uint64_t reg, int64_t offset)
{
	if (reg >= ARCH_REGS || !(c->regs->known >> reg & 1))
		bytes_fail(&c->b);
	else
		push(c, c->regs->value[reg] + (uint64_t)offset);
}

static void load(struct calculator *c, uint8_t size)
{
	uint64_t value;

	if (size == 0 || size > ARCH_WORD_BYTES || !memory_load(c->memory, pop(c), &value)) {
		bytes_fail(&c->b);
		return;
	}
	push(c, size == ARCH_WORD_BYTES ? value : value & ((UINT64_C(1) << 8 * size) - 1));
}

static void jump(struct calculator *c, int16_t distance)
{
	if (distance < c->begin - c->b.at || distance > c->b.end - c->b.at)
		bytes_fail(&c->b);
	else
		c->b.at += distance;
}

/* Constants. False: op is another. */
static bool run_constant(struct calculator *c, uint8_t op)
{
	struct bytes *b = &c->b;

	if (op >= OP_LIT0 && op <= OP_LIT31)
		push(c, op - OP_LIT0);
	else if (op == OP_CONST1U)
		push(c, bytes_u8(b));
	else if (op == OP_CONST1S)
		push(c, (uint64_t)(int8_t)bytes_u8(b));
	else if (op == OP_CONST2U)
		push(c, bytes_u16(b));
	else if (op == OP_CONST2S)
		push(c, (uint64_t)(int16_t)bytes_u16(b));
	else if (op == OP_CONST4U)
		push(c, bytes_u32(b));
	else if (op == OP_CONST4S)
		push(c, (uint64_t)(int32_t)bytes_u32(b));
	else if (op == OP_ADDR)
		push(c, bytes_word(b));
	else if (op == OP_CONST8U || op == OP_CONST8S)
		push(c, bytes_u64(b));
	else if (op == OP_CONSTU)
		push(c, bytes_uleb(b));
	else if (op == OP_CONSTS)
		push(c, (uint64_t)bytes_sleb(b));
	else
		return false;
	return true;
}

/* Registers; a bare "register" stands for its value. False: op is another. */
static bool run_register(struct calculator *c, uint8_t op)
{
	uint64_t reg;

	if (op >= OP_BREG0 && op <= OP_BREG31) {
		push_reg(c, op - OP_BREG0, bytes_sleb(&c->b));
	} else if (op >= OP_REG0 && op <= OP_REG31) {
		push_reg(c, op - OP_REG0, 0);
	} else if (op == OP_REGX) {
		push_reg(c, bytes_uleb(&c->b), 0);
	} else if (op == OP_BREGX) {
		reg = bytes_uleb(&c->b);
		push_reg(c, reg, bytes_sleb(&c->b));
	} else {
		return false;
	}
	return true;
}

static void rotate(struct calculator *c)
{
	uint64_t first = pop(c), second = pop(c), third = pop(c);

	push(c, first);
	push(c, third);
	push(c, second);
}

/* Stack manipulation and control flow. False: op is another. */
static bool run_stack(struct calculator *c, uint8_t op)
{
	uint64_t first, second;
	int16_t distance;

	if (op == OP_DUP) {
		push_copy(c, 0);
	} else if (op == OP_OVER) {
		push_copy(c, 1);
	} else if (op == OP_PICK) {
		push_copy(c, bytes_u8(&c->b));
	} else if (op == OP_DROP) {
		pop(c);
	} else if (op == OP_SWAP) {
		first = pop(c);
		second = pop(c);
		push(c, first);
		push(c, second);
	} else if (op == OP_ROT) {
		rotate(c);
	} else if (op == OP_DEREF) {
		load(c, ARCH_WORD_BYTES);
	} else if (op == OP_DEREF_SIZE) {
		load(c, bytes_u8(&c->b));
	} else if (op == OP_SKIP) {
		jump(c, (int16_t)bytes_u16(&c->b));
	} else if (op == OP_BRA) {
		distance = (int16_t)bytes_u16(&c->b);
		if (pop(c))
			jump(c, distance);
	} else {
		return op == OP_NOP;
	}
	return true;
}

static bool run_unary(struct calculator *c, uint8_t op)
{
	uint64_t value;

	if (op != OP_ABS && op != OP_NEG && op != OP_NOT && op != OP_PLUS_UCONST)
		return false;
	value = pop(c);
	if (op == OP_ABS)
		push(c, (int64_t)value < 0 ? -value : value);
	else if (op == OP_NEG)
		push(c, -value);
	else if (op == OP_NOT)
		push(c, ~value);
	else
		push(c, value + bytes_uleb(&c->b));
	return true;
}

static uint64_t divide(struct calculator *c, uint64_t left, uint64_t right)
{
	if (right == 0) {
		bytes_fail(&c->b);
		return 0;
	}
	if (right == UINT64_MAX) /* -1: the one quotient that overflows */
		return -left;
	return (uint64_t)((int64_t)left / (int64_t)right);
}

static uint64_t modulo(struct calculator *c, uint64_t left, uint64_t right)
{
	if (right == 0) {
		bytes_fail(&c->b);
		return 0;
	}
	return left % right;
}

static uint64_t shift(uint8_t op, uint64_t left, uint64_t right)
{
	bool is_negative = (int64_t)left < 0;

	if (op == OP_SHRA)
		return right < 64 ? (uint64_t)((int64_t)left >> right) : -(uint64_t)is_negative;
	if (right >= 64)
		return 0;
	return op == OP_SHL ? left << right : left >> right;
}

static bool compare(uint8_t op, int64_t left, int64_t right)
{
	switch (op) {
	case OP_EQ:
		return left == right;
	case OP_GE:
		return left >= right;
	case OP_GT:
		return left > right;
	case OP_LE:
		return left <= right;
	case OP_LT:
		return left < right;
	}
	return left != right;
}

static void run_binary(struct calculator *c, uint8_t op)
{
	uint64_t right = pop(c), left = pop(c);

	if (op == OP_AND)
		push(c, left & right);
	else if (op == OP_OR)
		push(c, left | right);
	else if (op == OP_XOR)
		push(c, left ^ right);
	else if (op == OP_PLUS)
		push(c, left + right);
	else if (op == OP_MINUS)
		push(c, left - right);
	else if (op == OP_MUL)
		push(c, left * right);
	else if (op == OP_DIV)
		push(c, divide(c, left, right));
	else if (op == OP_MOD)
		push(c, modulo(c, left, right));
	else if (op >= OP_SHL && op <= OP_SHRA)
		push(c, shift(op, left, right));
	else if (op >= OP_EQ && op <= OP_NE)
		push(c, compare(op, (int64_t)left, (int64_t)right));
	else
		bytes_fail(&c->b);
}

bool expression_run(struct bytes operations, const struct unwind_memory *memory,
		    const struct unwind_regs *regs, const uint64_t *first, uint64_t *ret)
{
	struct calculator c;
	uint64_t result;

	CHECK((uintptr_t)operations.at <= (uintptr_t)operations.end);
	c.b = operations;
	c.begin = operations.at;
	c.memory = memory;
	c.regs = regs;
	c.count = 0;
	if (first)
		push(&c, *first);
	for (int steps = 0; c.b.at < c.b.end; steps++) {
		uint8_t op = bytes_u8(&c.b);

		if (steps == STEPS_MAX)
			return false;
		if (!run_constant(&c, op) && !run_register(&c, op) && !run_stack(&c, op) &&
		    !run_unary(&c, op))
			run_binary(&c, op);
	}
	result = pop(&c);
	if (c.b.failed)
		return false;
	*ret = (arch_word)result;
	return true;
}
