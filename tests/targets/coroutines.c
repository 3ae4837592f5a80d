/*
 * coroutines: a hundred contexts on stacks of their own that allocate in turns; finished ones have
 * their stack unmapped at once, so that whoever looks at a remembered slot of it dies.
 *
 * Must be found:
 *	size 2601: 5000 malloc in step_deep, freed in step_deep
 *	size 2602: 5000 malloc in coroutine, freed in coroutine
 *	size 2603: 5000 malloc in main, freed in main
 */
#include <sys/mman.h>
#include <ucontext.h>

#include "target.h"

enum { COROUTINES = 100, STEPS = 50, STACK_BYTES = 64 << 10 };

static ucontext_t scheduler;
static ucontext_t context[COROUTINES];
static void *stack[COROUTINES];
static int finished[COROUTINES];

FRAME static void step_deep(int depth, int self)
{
	void *block = NULL;

	if (depth > 0) {
		step_deep(depth - 1, self);
		no_tail_call();
		return;
	}
	block = need_block(malloc(2601));
	NEED(!swapcontext(&context[self], &scheduler));
	free(block);
	no_tail_call();
}

FRAME static void coroutine(int self)
{
	for (int i = 0; i < STEPS; i++) {
		void *block = need_block(malloc(2602));

		step_deep((self + i) % 30, self);
		free(block);
	}
	finished[self] = 1;
	NEED(!swapcontext(&context[self], &scheduler));
}

static void begin(int self)
{
	stack[self] =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(stack[self] != MAP_FAILED);
	NEED(!getcontext(&context[self]));
	context[self].uc_stack.ss_sp = stack[self];
	context[self].uc_stack.ss_size = STACK_BYTES;
	context[self].uc_link = NULL;
	makecontext(&context[self], (void (*)(void))coroutine, 1, self);
}

int main(void)
{
	int left = COROUTINES;

	for (int i = 0; i < COROUTINES; i++)
		begin(i);
	while (left) {
		for (int i = 0; i < COROUTINES; i++) {
			if (!stack[i])
				continue;
			NEED(!swapcontext(&scheduler, &context[i]));
			if (finished[i]) {
				NEED(!munmap(stack[i], STACK_BYTES));
				stack[i] = NULL;
				left--;
				continue;
			}
			free(need_block(malloc(2603)));
		}
	}
	puts("coroutines 100");
	return 0;
}
