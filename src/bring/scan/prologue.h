/*
 * prologue: the first instructions of a function, moved elsewhere, so that a jump can stand in their
 * place. What is not understood with certainty is not moved.
 *
 * A function that begins with endbr64 keeps it: the jump comes behind it.
 */
#ifndef MEMTAPE_SCAN_PROLOGUE_H
#define MEMTAPE_SCAN_PROLOGUE_H

#include "base/err.h"

enum {
	PROLOGUE_JUMP_BYTES = 5,
	PROLOGUE_CODE_BYTES = 64 /* what is made of them has at most so many */
};

struct prologue {
	uint64_t place;			   /* where the jump is to stand */
	uint64_t behind;		   /* the first instruction that stays */
	uint8_t code[PROLOGUE_CODE_BYTES]; /* does what those before do, and goes on there */
	size_t code_bytes;
};

/*
 * function has the bytes of a function that begins at `begin`; code is to stand at `at`, within 2 GiB.
 * ERR_UNSUPPORTED: why it cannot be, in words that follow the function's name.
 */
struct err *prologue_move(const uint8_t *function, size_t bytes, uint64_t begin, uint64_t at,
			  struct prologue *prologue);

/*
 * Whether nothing in the whole function, whose bytes these are, branches to where the jump is to stand
 * and what it covers. ERR_UNSUPPORTED: it does, or is not understood.
 */
struct err *prologue_check(const uint8_t *function, size_t bytes, uint64_t begin,
			   const struct prologue *prologue);

/* A jump from one place to another. False: it is too far. */
bool prologue_jump(uint64_t from, uint64_t to, uint8_t jump[PROLOGUE_JUMP_BYTES]);

#endif
