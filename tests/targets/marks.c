/*
 * marks: tells the recorder where it is. Without a recorder the calls do nothing. With an argument
 * it also prints whether it is recorded and whether errno stayed as it was, and sets a mark of 300
 * characters.
 *
 * Must be found:
 *	size 4201: 3 malloc in load, leaked
 *	size 4202: 4 malloc in serve, freed in serve
 */
#include <errno.h>

#include "memtape/memtape.h"
#include "target.h"

FRAME static void load(void)
{
	for (int i = 0; i < 3; i++)
		keep(malloc(4201));
	memtape_mark("loaded");
	no_tail_call();
}

FRAME static void serve(void)
{
	for (int i = 0; i < 4; i++)
		free(keep(malloc(4202)));
	memtape_mark("served \"all\"\n");
	no_tail_call();
}

static void say(void)
{
	static char text[300];

	for (unsigned i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + i % 26);
	errno = 1234;
	memtape_mark(text);
	printf("recording %d errno %d\n", memtape_is_recording(), errno);
}

int main(int argc, char **argv)
{
	(void)argv;
	load();
	serve();
	memtape_mark(NULL);
	if (argc > 1)
		say();
	return memtape_is_recording() < 0;
}
