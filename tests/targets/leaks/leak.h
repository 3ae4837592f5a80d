/*
 * leak: what programs with lost memory share. The head comment of each has a line for every way to
 * run it, which tests/e2e/test_leak_classes.py reads:
 *
 *	Run: CASE: WHAT             a scan at the end must find this
 *	Run: CASE, exit 3: WHAT     or ", signal 9"
 *	Run: CASE, dtv 2: WHAT      and the vectors of two threads' thread-local memory, which libc
 *	                            holds by pointers into their middle
 *
 * WHAT is "nothing" or a list of "CLASS BYTES in BLOCKS" with the classes definite, indirect,
 * possible and reachable. A class that is not there has no blocks. Blocks that the loader, libc and
 * libstdc++ keep for themselves do not count.
 *
 * A scan sees every word, also those that nobody will read any more. So a block is zeroed when it
 * is made, a case runs in frames of its own, and what it left on the stack and in registers is wiped
 * before the program ends.
 */
#ifndef MEMTAPE_TESTS_LEAK_H
#define MEMTAPE_TESTS_LEAK_H

#include <string.h>

#include "target.h"

#define MAYBE_UNUSED __attribute__((unused))

struct leak_case {
	const char *name;
	void (*run)(void);
};

#define CASE(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}

/* A block of a structure: two pointers, and bytes that make its size its own. */
struct node {
	void *first, *second;
};

FRAME MAYBE_UNUSED static void *block(size_t bytes)
{
	void *ptr = need_block(malloc(bytes));

	memset(ptr, 0, bytes);
	return keep(ptr);
}

/* Writes a pointer into memory, so that the compiler cannot know better. */
MAYBE_UNUSED static void put(void *where, const void *ptr)
{
	memcpy(where, &ptr, sizeof(ptr));
	keep(where);
}

/* A new block with pointers to two others. */
FRAME MAYBE_UNUSED static void *node(size_t bytes, const void *first, const void *second)
{
	char *made = (char *)block(bytes);

	put(made, first);
	put(made + sizeof(void *), second);
	return made;
}

MAYBE_UNUSED static void *within(void *ptr, ptrdiff_t offset)
{
	return (char *)ptr + offset;
}

FRAME MAYBE_UNUSED static void wipe_stack(void)
{
	volatile uint64_t words[8192];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = 0;
}

FRAME MAYBE_UNUSED static void wipe_registers(void)
{
#ifdef __x86_64__
	__asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\t"
			 "xor %%esi, %%esi\n\txor %%edi, %%edi\n\txor %%r8d, %%r8d\n\t"
			 "xor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t"
			 "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"
			 "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
			 "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\tpxor %%xmm8, %%xmm8\n\t"
			 "pxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
			 "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\t"
			 "pxor %%xmm14, %%xmm14\n\tpxor %%xmm15, %%xmm15"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#endif
}

MAYBE_UNUSED static void wipe(void)
{
	wipe_stack();
	wipe_registers();
}

/* Of main: runs the case that the first argument names. */
FRAME MAYBE_UNUSED static void run_case(const struct leak_case *cases, size_t count, int argc,
					char **argv)
{
	for (size_t i = 0; i < count && argc > 1; i++) {
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return;
		}
	}
	need(0, "finding the case");
}

#define LEAK_MAIN(cases)                                                                           \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		run_case(cases, sizeof(cases) / sizeof((cases)[0]), argc, argv);                   \
		wipe();                                                                            \
		return 0;                                                                          \
	}

#endif
