/*
 * departed: goes where daemons go - another directory, all descriptors closed - and goes on.
 *
 * Must be found:
 *	size 2401: 60000 malloc in depart, freed in depart
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

FRAME static void depart(void)
{
	for (int i = 0; i < 60000; i++)
		free(need_block(malloc(2401)));
	no_tail_call();
}

int main(void)
{
	if (chdir("/") != 0 || close(0) != 0)
		return 1;
	syscall(SYS_close_range, 3, ~0u, 0);
	depart();
	puts("departed");
	return 0;
}
