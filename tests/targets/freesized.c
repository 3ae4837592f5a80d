/*
 * freesized: C23's free_sized and free_aligned_sized, where the process has them.
 *
 * They are looked up at run time: the libc of today lacks them, a recorder that offers them must
 * make them work. Without them free stands in, so that the program is the same either way.
 *
 * Must be found:
 *	size 1201: 10 malloc in blocks_sized, freed in blocks_sized
 *	size 1216: 10 aligned_alloc in blocks_aligned_sized, freed in blocks_aligned_sized
 */
#include <dlfcn.h>

#include "target.h"

typedef void free_sized_fn(void *block, size_t size);
typedef void free_aligned_sized_fn(void *block, size_t align, size_t size);

FRAME static void blocks_sized(void)
{
	free_sized_fn *release = (free_sized_fn *)dlsym(RTLD_DEFAULT, "free_sized");

	for (int i = 0; i < 10; i++) {
		void *block = need_block(malloc(1201));

		if (release)
			release(block, 1201);
		else
			free(block);
	}
	if (release)
		release(NULL, 5);
	no_tail_call();
}

FRAME static void blocks_aligned_sized(void)
{
	free_aligned_sized_fn *release =
		(free_aligned_sized_fn *)dlsym(RTLD_DEFAULT, "free_aligned_sized");

	for (int i = 0; i < 10; i++) {
		void *block = need_block(aligned_alloc(64, 1216));

		if (release)
			release(block, 64, 1216);
		else
			free(block);
	}
	no_tail_call();
}

int main(void)
{
	blocks_sized();
	blocks_aligned_sized();
	return 0;
}
