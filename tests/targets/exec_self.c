/*
 * exec_self: replaces itself five times; the tape of the first image must be whole and not
 * overwritten by the later ones.
 *
 * Must be found:
 *	size 2201: 10 malloc in first_image, freed in first_image
 *	size 2202: 0 malloc in later_image
 */
#include <unistd.h>

#include "target.h"

FRAME static void first_image(void)
{
	for (int i = 0; i < 10; i++)
		free(need_block(malloc(2201)));
	no_tail_call();
}

FRAME static void later_image(void)
{
	for (int i = 0; i < 10; i++)
		free(need_block(malloc(2202)));
	no_tail_call();
}

int main(int argc, char **argv)
{
	int round = argc > 1 ? atoi(argv[1]) : 0;
	char next[16];

	if (round)
		later_image();
	else
		first_image();
	if (round == 5) {
		puts("image 5");
		return 0;
	}
	snprintf(next, sizeof(next), "%d", round + 1);
	execl("/proc/self/exe", argv[0], next, NULL);
	return 1;
}
