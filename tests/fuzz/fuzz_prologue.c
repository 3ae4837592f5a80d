/*
 * First instructions from hell, moved to where a jump leads to them.
 *
 * Input: a function. It is copied to a block of its very size, so that the address sanitizer sees a read
 * next to it.
 */
#include "scan/prologue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void move(const uint8_t *function, size_t size, uint64_t begin, uint64_t at)
{
	struct prologue prologue;
	struct err *err = prologue_move(function, size, begin, at, &prologue);

	if (!err) {
		if (prologue.place < begin || prologue.behind > begin + size ||
		    prologue.behind - prologue.place < PROLOGUE_JUMP_BYTES ||
		    prologue.code_bytes > sizeof(prologue.code) || prologue.code_bytes == 0)
			__builtin_trap();
		err = prologue_check(function, size, begin, &prologue);
	}
	err_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *function = malloc(size + (size == 0));

	if (!function)
		return 0;
	memcpy(function, data, size);
	move(function, size, 0x7f0000001000, 0x7f0000100000);
	move(function, size, 0, UINT64_C(1) << 40);
	move(function, size, UINT64_MAX - 0x1000, 0x1000);
	free(function);
	return 0;
}
