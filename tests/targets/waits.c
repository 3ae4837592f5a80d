/*
 * waits: loses three blocks of 2233 bytes, prints its process's number, and ends when it has read a
 * line.
 */
#include <unistd.h>

#include "target.h"

FRAME static void lose(void)
{
	for (int i = 0; i < 3; i++)
		need_block(malloc(2233));
	no_tail_call();
}

int main(void)
{
	lose();
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return getchar() == EOF;
}
