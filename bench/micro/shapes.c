/*
 * shapes: where programs allocate and free, as far as it matters to who takes stacks.
 *
 *	shapes SHAPE DEPTH PATHS PAIRS
 *
 * SHAPE is one of
 *	shallow		blocks are allocated DEPTH frames deep, all return, and a frame near main
 *			frees the block: event loops, interpreters, request handlers
 *	whole		the same, but paths differ from the outermost frame on
 *	two		two places in turn, below frames that stay: both allocate and free
 *	coroutines	four stacks take turns, each DEPTH frames deep: allocate, free, switch
 *
 * In `shallow` PATHS different paths are taken, pseudo-random ones, that differ in the innermost
 * frames. DEPTH counts everything from _start on, about; the least is 16.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "random.h"

enum { KEPT = 64, COROUTINES = 4, COROUTINE_BYTES = 256 << 10 };

static void *kept[KEPT];

static __attribute__((noinline)) void replace(size_t i)
{
	kept[i % KEPT] = malloc(16 + i % 13 * 24);
}

static __attribute__((noinline)) void let_go(size_t i)
{
	free(kept[i % KEPT]);
	kept[i % KEPT] = NULL;
}

static __attribute__((noinline)) void right(unsigned long depth, uint64_t bits, size_t i);

/* Bits 0 to 62 are of the innermost frames, and of those further out too, where bit 63 is set. */
static inline uint64_t bit(uint64_t bits, unsigned long depth)
{
	return depth < 63 ? bits >> depth & 1 : bits >> 63 & bits >> depth % 63;
}

/*
 * Bits of the path decide from the innermost frame outwards. Something to do after the calls, or
 * the compiler would make them jumps.
 */
static __attribute__((noinline)) void left(unsigned long depth, uint64_t bits, size_t i)
{
	if (!depth)
		replace(i);
	else if (bit(bits, depth))
		left(depth - 1, bits, i);
	else
		right(depth - 1, bits, i);
	__asm__ volatile("");
}

static __attribute__((noinline)) void right(unsigned long depth, uint64_t bits, size_t i)
{
	if (!depth)
		replace(i);
	else if (bit(bits, depth))
		right(depth - 1, bits, i);
	else
		left(depth - 1, bits, i);
	__asm__ volatile("");
}

static __attribute__((noinline)) void shallow(unsigned long depth, size_t pairs, uint64_t paths)
{
	for (size_t i = 0; i < pairs; i++) {
		left(depth, next() % paths << 1, i);
		let_go(i);
	}
}

static __attribute__((noinline)) void whole(unsigned long depth, size_t pairs)
{
	for (size_t i = 0; i < pairs; i++) {
		left(depth, next() | UINT64_C(1) << 63, i);
		let_go(i);
	}
}

static __attribute__((noinline)) void pair_here(unsigned long depth, size_t i)
{
	if (depth)
		pair_here(depth - 1, i);
	else
		kept[i % KEPT] = malloc(16 + i % 13 * 24), let_go(i);
	__asm__ volatile("");
}

static __attribute__((noinline)) void pair_there(unsigned long depth, size_t i)
{
	if (depth)
		pair_there(depth - 1, i);
	else
		kept[i % KEPT] = malloc(16 + i % 17 * 24), let_go(i);
	__asm__ volatile("");
}

static __attribute__((noinline)) void two(unsigned long depth, size_t pairs)
{
	for (size_t i = 0; i < pairs; i++)
		if (i & 1)
			pair_here(depth, i);
		else
			pair_there(depth, i);
}

static ucontext_t scheduler, coroutines[COROUTINES];
static size_t coroutine_pairs;

static __attribute__((noinline)) void coroutine_work(unsigned long depth, int self)
{
	if (depth) {
		coroutine_work(depth - 1, self);
	} else {
		for (size_t i = 0; i < coroutine_pairs; i++) {
			replace(i);
			let_go(i);
			swapcontext(&coroutines[self], &scheduler);
		}
	}
	__asm__ volatile("");
}

static void coroutine_begin(int self, int depth)
{
	coroutine_work((unsigned long)depth, self);
}

static void in_coroutines(unsigned long depth, size_t pairs)
{
	coroutine_pairs = pairs / COROUTINES;
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = malloc(COROUTINE_BYTES);
		coroutines[i].uc_stack.ss_size = COROUTINE_BYTES;
		coroutines[i].uc_link = &scheduler;
		makecontext(&coroutines[i], (void (*)(void))coroutine_begin, 2, i, (int)depth);
	}
	for (size_t i = 0; i < coroutine_pairs; i++)
		for (int j = 0; j < COROUTINES; j++)
			swapcontext(&scheduler, &coroutines[j]);
}

int main(int argc, char **argv)
{
	enum { OTHER_FRAMES = 8 };
	unsigned long depth;
	size_t pairs;

	if (argc != 5) {
		fputs("usage: shapes SHAPE DEPTH PATHS PAIRS\n", stderr);
		return 2;
	}
	depth = strtoul(argv[2], NULL, 10);
	depth -= depth > OTHER_FRAMES ? OTHER_FRAMES : depth;
	pairs = strtoull(argv[4], NULL, 10);
	if (strcmp(argv[1], "shallow") == 0)
		shallow(depth, pairs, strtoull(argv[3], NULL, 10));
	else if (strcmp(argv[1], "whole") == 0)
		whole(depth, pairs);
	else if (strcmp(argv[1], "two") == 0)
		two(depth, pairs);
	else if (strcmp(argv[1], "coroutines") == 0)
		in_coroutines(depth, pairs);
	else
		return 2;
	return 0;
}
