/*
 * execs: becomes the program that its first word names, with the words behind that one.
 *
 * Must be found:
 *	size 2231: 3 malloc in each_image, freed in each_image
 */
#include <unistd.h>

#include "target.h"

FRAME static void each_image(void)
{
	for (int i = 0; i < 3; i++)
		free(need_block(malloc(2231)));
	no_tail_call();
}

int main(int argc, char **argv)
{
	each_image();
	if (argc > 1) {
		execv(argv[1], argv + 1);
		return 1;
	}
	printf("last of %d\n", argc);
	return 0;
}
