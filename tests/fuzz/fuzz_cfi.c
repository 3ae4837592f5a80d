/*
 * Unwind tables from hell: rules and full steps from a hostile .eh_frame_hdr and .eh_frame.
 *
 * Input: 8 bytes of where to look, then a segment as it would be mapped. It is copied to a block of
 * its very size, so that the address sanitizer sees a read next to it.
 */
#include "unwind/rule.h"

#include <elf.h>
#include <stdlib.h>

enum { STACK_WORDS = 64, STEPS_MAX = 8 };

struct where {
	uint16_t header_offset;
	uint16_t header_bytes;
	int32_t pc_offset;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void step(const struct unwind_object *object, uint64_t pc, bool exact)
{
	uint64_t *stack = calloc(STACK_WORDS, sizeof(*stack));
	const uint64_t begin = (uintptr_t)stack;
	const struct unwind_memory bounds = { .begin = begin,
					      .end = begin + STACK_WORDS * sizeof(*stack) };
	struct unwind_regs regs = { .known = (1U << ARCH_REGS) - 1, .exact = exact };
	bool is_end;

	for (int i = 0; i < STACK_WORDS; i++)
		stack[i] = i % 2 ? begin + (uint64_t)i * 8 : pc + (uint64_t)i;
	for (int i = 0; i < ARCH_REGS; i++)
		regs.value[i] = begin + (uint64_t)i * 8;
	regs.value[ARCH_REG_PC] = pc;
	for (int i = 0; i < STEPS_MAX; i++)
		if (!unwind_full_step(object, &regs, &bounds, &is_end))
			break;
	free(stack);
}

static bool take_rule(void *context, uint64_t pc, uint32_t rule)
{
	size_t *count = context;

	(void)pc;
	if (unwind_rule_kind(rule) > UNWIND_SLOW)
		__builtin_trap();
	return ++*count < 100000;
}

static void look_up(const struct unwind_object *object, uint64_t pc)
{
	uint32_t rule = unwind_rule_compile(object, pc);

	if (unwind_rule_kind(rule) > UNWIND_SLOW)
		__builtin_trap();
	step(object, pc, true);
	step(object, pc + 1, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_object object;
	struct where where;
	uint8_t *segment;
	uint64_t pc;

	if (size <= sizeof(where))
		return 0;
	memcpy(&where, data, sizeof(where));
	size -= sizeof(where);
	segment = malloc(size);
	memcpy(segment, data + sizeof(where), size);
	const Elf64_Phdr phdrs[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = size, .p_memsz = size },
		{ .p_type = PT_GNU_EH_FRAME,
		  .p_flags = PF_R,
		  .p_vaddr = where.header_offset,
		  .p_memsz = where.header_bytes },
	};
	pc = (uintptr_t)segment + (uint64_t)where.pc_offset;
	if (unwind_object_init(&object, (uintptr_t)segment, phdrs, array_size(phdrs))) {
		size_t count = 0;

		look_up(&object, pc);
		unwind_rules_each(&object, take_rule, &count);
		object.table = NULL; /* the same without a search table */
		look_up(&object, pc);
	}
	free(segment);
	return 0;
}
