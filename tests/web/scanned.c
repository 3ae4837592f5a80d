/*
 * scanned: a program that ends with blocks of every class of a leak scan.
 *
 * Must be found:
 *	definitely lost: 40 of 500 bytes, in lose; indirectly lost: 40 of 300 bytes, in hang
 *	possibly lost: 1 of 9000 bytes, in middle
 *	still reachable: a list of 30 blocks of 1024 bytes, in keep, from the variable the_list
 * and for half a second nobody writes to them.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME __attribute__((noinline, noclone))

struct item {
	struct item *next;
	char rest[1016];
};

struct item *the_list;
char *the_middle;

FRAME void *hang(void)
{
	return malloc(300);
}

FRAME void **lose(void)
{
	return malloc(500);
}

FRAME void keep(void)
{
	struct item *item = malloc(sizeof(*item));

	item->next = the_list;
	the_list = item;
}

FRAME void middle(void)
{
	the_middle = malloc(9000);
	the_middle += 100;
}

FRAME void clear(void)
{
	char room[8192];

	memset(room, 0, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
}

int main(void)
{
	for (int i = 0; i < 40; i++) {
		void **lost = lose();

		*lost = hang();
	}
	for (int i = 0; i < 30; i++)
		keep();
	middle();
	clear();
	usleep(500000);
	return 0;
}
