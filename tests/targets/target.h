/*
 * target: what the programs to be recorded share.
 *
 * Every target says in its head comment what a tape of it must hold, in lines the tests read:
 *
 *	Run: ARGS                     one way to run it, what follows is about it (default: once,
 *	                              without arguments); "Run: ARGS, exit 3" or ", signal 6",
 *	                              ", loss allowed", ", losses 5" (at most so many)
 *	size N: COUNT FN in FRAME     exactly COUNT allocations of N bytes were made by FN, all of
 *	                              them below a function FRAME of this program
 *	..., freed in FRAME           all of them were freed, below FRAME
 *	..., freed                    all of them were freed
 *	..., leaked                   none of them was freed
 *
 * Sizes are made up to be unique in the process: libc allocates too.
 */
#ifndef MEMTAPE_TESTS_TARGET_H
#define MEMTAPE_TESTS_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A frame of its own in every build, under its own name. */
#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif

/* Hides a pointer from the optimiser: the allocation stays, the call is no tail call. */
static inline void *keep(void *ptr)
{
	__asm__ volatile("" : "+r"(ptr) : : "memory");
	return ptr;
}

/* After a last call: it must not become a jump, its caller's frame is asked for. */
static inline void no_tail_call(void)
{
	__asm__ volatile("" : : : "memory");
}

/* A target that cannot do what it states ends with code 99. */
static inline void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "target: %s failed\n", what);
	_Exit(99);
}

static inline void *need_block(void *block)
{
	need(block != NULL, "an allocation");
	return keep(block);
}

#define NEED(expr) need((expr) != 0, #expr)

#endif
