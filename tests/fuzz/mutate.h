/*
 * mutate: changes to an input that has a shape. libFuzzer knows bytes only: in a file of tables
 * hardly any of its changes leaves the tables where they are. Here one part of the file is changed
 * and the rest stays.
 */
#ifndef MEMTAPE_TESTS_FUZZ_MUTATE_H
#define MEMTAPE_TESTS_FUZZ_MUTATE_H

#include <stdlib.h>
#include <string.h>

#include "core/core.h"

/* libFuzzer's own changes; returns how many bytes it is now. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* The same numbers everywhere for the same seed. */
struct dice {
	uint64_t state;
};

static inline uint64_t dice_roll(struct dice *dice, uint64_t sides)
{
	dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (dice->state >> 33) % sides;
}

/* A number where mistakes are made, or not far from the one there was. */
static inline uint64_t mutate_number(struct dice *dice, uint64_t number, unsigned bits)
{
	const uint64_t near = dice_roll(dice, 9);

	switch (dice_roll(dice, 8)) {
	case 0:
		return near;
	case 1:
		return UINT64_MAX - near;
	case 2:
		return (UINT64_C(1) << dice_roll(dice, bits)) + near - 4;
	case 3:
		return number ^ UINT64_C(1) << dice_roll(dice, bits);
	case 4:
		return number * 2;
	case 5:
		return dice_roll(dice, UINT32_MAX);
	default:
		return number + near - 4;
	}
}

/* One number of the part, or one is copied to where another was. */
static inline void mutate_word(struct dice *dice, uint8_t *part, size_t bytes)
{
	const size_t width = u64_min((size_t)1 << dice_roll(dice, 4), bytes);
	const size_t at = dice_roll(dice, bytes / width) * width;
	uint64_t number = 0;

	if (dice_roll(dice, 4) == 0) {
		memmove(part + at, part + dice_roll(dice, bytes / width) * width, width);
		return;
	}
	memcpy(&number, part + at, width);
	number = mutate_number(dice, number, (unsigned)width * 8);
	memcpy(part + at, &number, width);
}

/* Bytes of the part; it stays as long as it is. */
static inline void mutate_bytes(uint8_t *part, size_t bytes)
{
	uint8_t *copy = malloc(bytes);

	if (!copy)
		abort();
	memcpy(copy, part, bytes);
	memcpy(part, copy, LLVMFuzzerMutate(copy, bytes, bytes)); /* what it cut off stays */
	free(copy);
}

/* A change of a part that is not empty, in place. */
static inline void mutate_part(struct dice *dice, uint8_t *part, size_t bytes)
{
	if (dice_roll(dice, 3) == 0)
		mutate_bytes(part, bytes);
	else
		mutate_word(dice, part, bytes);
}

#endif
