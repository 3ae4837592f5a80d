/*
 * Code from hell: what is said to come after a call, of either instruction set.
 *
 * The code is copied to a block of its very size, so that the address sanitizer sees a read next to it.
 */
#include "unwind/epilogue.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void follow(const struct epilogue_code *code, uint64_t pc, bool is_thumb)
{
	struct exidx_row row;

	if (epilogue_find(code, pc, is_thumb, &row) == EPILOGUE_ROW &&
	    (row.reg == EXIDX_REG_PC || row.reg >= EXIDX_REGS || row.saved >> EXIDX_REG_PC ||
	     !(row.saved >> EXIDX_REG_LR & 1)))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct epilogue_code code;
	uint8_t *block;
	bool is_thumb;

	if (size == 0 || size > 4096)
		return 0;
	block = malloc(size);
	memcpy(block, data, size);
	code = (struct epilogue_code) { (uintptr_t)block, (uintptr_t)block + size };
	for (uint64_t pc = code.begin; pc < code.begin + 8; pc += 2) {
		follow(&code, pc, true);
		follow(&code, pc, false);
		epilogue_call(&code, pc, &is_thumb);
	}
	free(block);
	return 0;
}
