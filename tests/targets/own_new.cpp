/*
 * own_new: a program that replaces operator new with its own, above malloc.
 *
 * The program's operators win over any library's; their malloc is what is recorded.
 *
 * Must be found:
 *	size 1517: 100 malloc in use_new, freed in use_new
 */
#include <new>

#include "target.h"

static unsigned new_count, delete_count;

FRAME void *operator new(size_t size)
{
	new_count++;
	return need_block(malloc(size + 16));
}

FRAME void operator delete(void *block) noexcept
{
	delete_count++;
	free(block);
	no_tail_call();
}

FRAME void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
	no_tail_call();
}

FRAME static void use_new()
{
	for (int i = 0; i < 100; i++)
		::operator delete(keep(::operator new(1501)));
	no_tail_call();
}

int main()
{
	use_new();
	printf("new %u delete %u\n", new_count, delete_count);
	return 0;
}
