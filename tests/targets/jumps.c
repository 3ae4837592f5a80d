/*
 * jumps: longjmp and siglongjmp over frames that have allocated.
 *
 * Must be found:
 *	size 2501: 20800 malloc in climb, freed in main
 *	size 2502: 1000 malloc in main, freed in main
 *	size 2503: 100 malloc in jump_from_handler, freed in main
 */
#include <setjmp.h>
#include <signal.h>

#include "target.h"

static jmp_buf home;
static sigjmp_buf signal_home;
static void *blocks[64];
static volatile unsigned block_count;

FRAME static int climb(int depth)
{
	int below = 0;

	blocks[block_count] = need_block(malloc(2501));
	block_count = block_count + 1;
	if (depth == 0)
		longjmp(home, 1);
	below = climb(depth - 1);
	no_tail_call();
	return below + 1;
}

FRAME static void jump_from_handler(int number)
{
	blocks[0] = need_block(malloc(2503));
	siglongjmp(signal_home, number);
}

int main(void)
{
	for (volatile int i = 0; i < 1000; i++) {
		block_count = 0;
		if (!setjmp(home))
			climb(i % 41);
		for (unsigned j = 0; j < block_count; j++)
			free(blocks[j]);
		free(need_block(malloc(2502)));
	}
	signal(SIGUSR1, jump_from_handler);
	for (volatile int i = 0; i < 100; i++) {
		if (!sigsetjmp(signal_home, 1))
			raise(SIGUSR1);
		free(blocks[0]);
	}
	puts("jumps 1000");
	return 0;
}
