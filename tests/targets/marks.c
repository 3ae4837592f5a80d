/*
 * marks: tells the recorder where it is. Without a recorder the calls do nothing.
 *
 * Must be found:
 *	size 4201: 3 malloc in load, leaked
 *	size 4202: 4 malloc in serve, freed in serve
 */
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

int main(void)
{
	load();
	serve();
	memtape_mark(NULL);
	return memtape_is_recording() < 0;
}
