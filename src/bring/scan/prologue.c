#include "scan/prologue.h"

#include <Zydis/Zydis.h>
#include <assert.h>

struct move {
	const uint8_t *function;
	size_t bytes;
	uint64_t begin, at;
	ZydisDecoder decoder;
	struct prologue *prologue;
};

struct instruction {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t address;
};

static bool decode(const struct move *move, uint64_t address, struct instruction *instruction)
{
	const size_t offset = address - move->begin;

	assert(offset <= move->bytes);
	instruction->address = address;
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&move->decoder, move->function + offset,
						   move->bytes - offset, &instruction->is,
						   instruction->operands));
}

static bool is_branch(const struct instruction *instruction)
{
	return instruction->is.meta.category == ZYDIS_CATEGORY_COND_BR ||
	       instruction->is.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

/* Where a direct branch or call goes; false: it is none. */
static bool target_of(const struct instruction *instruction, uint64_t *target_ret)
{
	if (!(instruction->is.attributes & ZYDIS_ATTRIB_IS_RELATIVE) ||
	    !instruction->is.raw.imm[0].is_relative)
		return false;
	*target_ret = instruction->address + instruction->is.length +
		      (uint64_t)instruction->is.raw.imm[0].value.s;
	return true;
}

static bool fits(uint64_t from, uint64_t to, int32_t *distance_ret)
{
	const int64_t distance = (int64_t)(to - from);

	*distance_ret = (int32_t)distance;
	return *distance_ret == distance;
}

bool prologue_jump(uint64_t from, uint64_t to, uint8_t jump[PROLOGUE_JUMP_BYTES])
{
	int32_t distance;

	jump[0] = 0xe9;
	if (!fits(from + PROLOGUE_JUMP_BYTES, to, &distance))
		return false;
	memcpy(jump + 1, &distance, sizeof(distance));
	return true;
}

/* --- moving ------------------------------------------------------------------------------------ */

static struct err *too_far(void)
{
	return err_new(ERR_UNSUPPORTED,
		       "refers to what is more than 2 GiB from where it can be moved");
}

static bool append(struct prologue *prologue, const void *bytes, size_t count)
{
	if (count > sizeof(prologue->code) - prologue->code_bytes)
		return false;
	memcpy(prologue->code + prologue->code_bytes, bytes, count);
	prologue->code_bytes += count;
	return true;
}

/* jmp and jcc, of either length, become those with 32 bits. */
static struct err *move_branch(struct move *move, const struct instruction *instruction)
{
	enum { SHORT_JCC = 0x70, LONG_JCC = 0x80, CONDITIONS = 0x0f };
	const bool is_jump = instruction->is.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	struct prologue *prologue = move->prologue;
	uint8_t code[6] = { 0xe9 };
	size_t head = 1;
	int32_t distance;
	uint64_t target;

	if (!target_of(instruction, &target) ||
	    (!is_jump && (instruction->is.opcode & 0xf0) != SHORT_JCC &&
	     (instruction->is.opcode & 0xf0) != LONG_JCC))
		return err_new(ERR_UNSUPPORTED, "begins with a branch of another kind");
	if (!is_jump) {
		code[0] = 0x0f;
		code[1] = (uint8_t)(LONG_JCC | (instruction->is.opcode & CONDITIONS));
		head = 2;
	}
	if (!fits(move->at + prologue->code_bytes + head + sizeof(distance), target, &distance))
		return too_far();
	memcpy(code + head, &distance, sizeof(distance));
	return append(prologue, code, head + sizeof(distance)) ? NULL : too_far();
}

/* An operand relative to the instruction's address is at another distance from its new place. */
static struct err *move_relative(struct move *move, const struct instruction *instruction)
{
	enum { DISTANCE_BITS = 32 };
	const ZydisDecodedInstruction *is = &instruction->is;
	struct prologue *prologue = move->prologue;
	const uint64_t from = move->at + prologue->code_bytes + is->length;
	const uint64_t target = instruction->address + is->length + (uint64_t)is->raw.disp.value;
	uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
	int32_t distance;

	if (is->raw.disp.size != DISTANCE_BITS || is->raw.imm[0].is_relative)
		return err_new(ERR_UNSUPPORTED, "begins with an instruction that cannot be moved");
	if (!fits(from, target, &distance))
		return too_far();
	memcpy(code, move->function + (instruction->address - move->begin), is->length);
	memcpy(code + is->raw.disp.offset, &distance, sizeof(distance));
	return append(prologue, code, is->length) ? NULL : too_far();
}

/* A call leaves an address of its own behind, and the others return somewhere or stop. */
static bool may_move(const struct instruction *instruction)
{
	switch (instruction->is.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
		return false;
	default:
		return true;
	}
}

static struct err *move_one(struct move *move, const struct instruction *instruction)
{
	if (!may_move(instruction))
		return err_new(ERR_UNSUPPORTED, "begins with a call, or is too short for a jump");
	if (is_branch(instruction) && instruction->is.raw.imm[0].is_relative)
		return move_branch(move, instruction);
	if (instruction->is.attributes & ZYDIS_ATTRIB_IS_RELATIVE)
		return move_relative(move, instruction);
	return append(move->prologue, move->function + (instruction->address - move->begin),
		      instruction->is.length)
		       ? NULL
		       : too_far();
}

/* What is behind a jump is not reached by what is before it. */
static bool is_end(const struct instruction *instruction)
{
	return instruction->is.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static struct err *move_all(struct move *move)
{
	struct prologue *prologue = move->prologue;
	uint64_t address = prologue->place;
	struct instruction instruction;
	uint8_t jump[PROLOGUE_JUMP_BYTES];
	bool has_end = false;
	struct err *err = NULL;

	while (!err && address - prologue->place < PROLOGUE_JUMP_BYTES) {
		if (has_end || !decode(move, address, &instruction))
			return err_new(ERR_UNSUPPORTED, "is too short for a jump");
		err = move_one(move, &instruction);
		has_end = is_end(&instruction);
		address += instruction.is.length;
	}
	if (err)
		return err;
	prologue->behind = address;
	if (has_end)
		return NULL;
	return prologue_jump(move->at + prologue->code_bytes, address, jump) &&
			       append(prologue, jump, sizeof(jump))
		       ? NULL
		       : too_far();
}

/* --- what stays -------------------------------------------------------------------------------- */

/*
 * A branch back into what is moved would go wrong; one to its beginning, too, for what it has in
 * registers is the function's own business. A call may begin it again.
 */
static bool is_wrong(const struct prologue *prologue, const struct instruction *instruction,
		     uint64_t begin)
{
	const bool is_call = instruction->is.meta.category == ZYDIS_CATEGORY_CALL;
	uint64_t target;

	return target_of(instruction, &target) && target < prologue->behind &&
	       target >= (is_call ? prologue->place + 1 : begin);
}

static struct err *move_init(struct move *move)
{
	return ZYAN_SUCCESS(ZydisDecoderInit(&move->decoder, ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64))
		       ? NULL
		       : err_new(ERR_UNSUPPORTED, "cannot be decoded");
}

struct err *prologue_check(const uint8_t *function, size_t bytes, uint64_t begin,
			   const struct prologue *prologue)
{
	struct move move = { function, bytes, begin };
	struct instruction instruction;
	struct err *err = move_init(&move);

	for (uint64_t address = begin; !err && address < begin + bytes;
	     address += instruction.is.length) {
		if (!decode(&move, address, &instruction))
			err = err_new(ERR_UNSUPPORTED,
				      "has an instruction that is not known, at +0x%llx",
				      (unsigned long long)(address - begin));
		else if (is_wrong(prologue, &instruction, begin))
			err = err_new(ERR_UNSUPPORTED, "jumps into its own first instructions");
	}
	return err;
}

struct err *prologue_move(const uint8_t *function, size_t bytes, uint64_t begin, uint64_t at,
			  struct prologue *prologue)
{
	struct move move = { function, bytes, begin, at, .prologue = prologue };
	struct instruction first;
	struct err *err = move_init(&move);

	*prologue = (struct prologue) { .place = begin };
	if (err)
		return err;
	if (decode(&move, begin, &first) && first.is.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		prologue->place += first.is.length;
	return move_all(&move);
}
