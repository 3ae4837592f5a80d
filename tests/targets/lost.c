/*
 * lost: blocks that nothing points to any more, blocks that only those hold, and blocks that are
 * still held: the kinds of leaks that memcheck tells apart.
 *
 * Must be found:
 *	size 112: 5 malloc in link_new, leaked
 *	size 777: 3 malloc in forget, leaked
 *	size 900: 2 malloc in hold, leaked
 *	size 64: 20 malloc in pass, freed in pass
 */
#include <string.h>

#include "target.h"

struct link {
	struct link *next;
	char rest[104];
};

static void *held[2];

FRAME static struct link *link_new(struct link *next)
{
	struct link *link = need_block(malloc(sizeof(*link)));

	memset(link, 0, sizeof(*link));
	link->next = next;
	no_tail_call();
	return link;
}

FRAME static void chain(void)
{
	struct link *first = NULL;

	for (int i = 0; i < 5; i++)
		first = link_new(first);
	no_tail_call();
}

FRAME static void forget(void)
{
	need_block(malloc(777));
	no_tail_call();
}

FRAME static void hold(int i)
{
	held[i] = need_block(malloc(900));
	no_tail_call();
}

FRAME static void pass(void)
{
	free(need_block(malloc(64)));
	no_tail_call();
}

int main(void)
{
	chain();
	for (int i = 0; i < 3; i++)
		forget();
	hold(0);
	hold(1);
	for (int i = 0; i < 20; i++)
		pass();
	keep(held);
	return 0;
}
