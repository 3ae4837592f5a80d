/*
 * endless: four bytes every second, for ever. The last of them is on the stack, those before it are
 * lost. It writes a line for each.
 *
 * Must be found when it is killed after three lines: 8 bytes in 2 blocks definitely lost, 4 bytes
 * in 1 block reachable.
 */
#include <unistd.h>

#include "leak.h"

int main(void)
{
	for (;;) {
		int *number = malloc(sizeof(int));

		*number = 1;
		NEED(write(STDOUT_FILENO, "allocated\n", 10) == 10);
		sleep(1);
		keep(number);
	}
}
