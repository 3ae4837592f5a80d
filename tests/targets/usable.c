/*
 * usable: what malloc_usable_size() says of blocks of whichever allocator there is, which may not
 * be the one that has this function. Prints it; the answer must be the same with a recorder.
 */
#include <malloc.h>

#include "target.h"

int main(void)
{
	printf("%zu", malloc_usable_size(need_block(malloc(1000))));
	printf(" %zu", malloc_usable_size(need_block(calloc(3, 100))));
	printf(" %zu\n", malloc_usable_size(NULL));
	return 0;
}
