/*
 * hooks: every C allocation function, once or a few times, with a size of its own.
 *
 * Must be found:
 *	size 1101: 1 malloc in call_malloc, freed in call_free
 *	size 1102: 1 malloc in call_malloc, leaked
 *	size 1104: 2 calloc in call_calloc, freed in call_free
 *	size 1105: 1 malloc in call_realloc, freed in call_realloc
 *	size 2105: 1 realloc in call_realloc, freed in call_realloc
 *	size 1107: 1 realloc in call_realloc, freed in call_free
 *	size 1109: 1 realloc in call_realloc, leaked
 *	size 1111: 1 malloc in call_realloc_to_nothing, freed in call_realloc_to_nothing
 *	size 1113: 1 malloc in call_realloc_too_big, freed in call_free
 *	size 1120: 1 reallocarray in call_reallocarray, freed in call_reallocarray
 *	size 2240: 1 reallocarray in call_reallocarray, freed in call_free
 *	size 1131: 1 posix_memalign in call_posix_memalign, freed in call_free
 *	size 1152: 1 aligned_alloc in call_aligned_alloc, freed in call_free
 *	size 1161: 1 memalign in call_memalign, freed in call_free
 *	size 1171: 1 valloc in call_valloc, freed in call_free
 *	size 1181: 1 pvalloc in call_pvalloc, freed in call_free
 *	size 0: 1 malloc in call_malloc, freed in call_free
 */
#include <malloc.h>

#include "target.h"

FRAME static void call_free(void *block)
{
	free(block);
	no_tail_call();
}

FRAME static void call_malloc(void)
{
	call_free(need_block(malloc(1101)));
	call_free(need_block(malloc(0)));
	need_block(malloc(1102));
	free(NULL);
}

FRAME static void call_calloc(void)
{
	call_free(need_block(calloc(8, 138)));
	call_free(need_block(calloc(1, 1104)));
}

FRAME static void call_realloc(void)
{
	void *block = need_block(malloc(1105));

	block = need_block(realloc(block, 2105));
	block = need_block(realloc(block, 1107));
	call_free(block);
	need_block(realloc(keep(NULL), 1109)); /* not as the malloc compilers see in it */
}

FRAME static void call_realloc_to_nothing(void)
{
	void *block = need_block(malloc(1111));

	block = keep(realloc(block, 0)); /* glibc: a free */
	need(block == NULL, "realloc to 0 returning NULL");
}

FRAME static void call_realloc_too_big(void)
{
	volatile size_t too_big = SIZE_MAX / 2;
	void *block = need_block(malloc(1113));
	void *same = keep(block);

	need(keep(realloc(block, too_big)) == NULL, "realloc too big returning NULL");
	call_free(same);
}

FRAME static void call_reallocarray(void)
{
	void *block = need_block(reallocarray(keep(NULL), 10, 112));

	call_free(need_block(reallocarray(block, 20, 112)));
}

FRAME static void call_posix_memalign(void)
{
	void *block = NULL;

	need(posix_memalign(&block, 256, 1131) == 0, "posix_memalign");
	need((uintptr_t)block % 256 == 0, "alignment");
	call_free(block);
}

FRAME static void call_aligned_alloc(void)
{
	call_free(need_block(aligned_alloc(128, 1152)));
}

FRAME static void call_memalign(void)
{
	call_free(need_block(memalign(64, 1161)));
}

FRAME static void call_valloc(void)
{
	call_free(need_block(valloc(1171)));
}

FRAME static void call_pvalloc(void)
{
	void *block = need_block(pvalloc(1181));

	need(malloc_usable_size(block) >= 4096, "a whole page from pvalloc");
	call_free(block);
}

int main(void)
{
	call_malloc();
	call_calloc();
	call_realloc();
	call_realloc_to_nothing();
	call_realloc_too_big();
	call_reallocarray();
	call_posix_memalign();
	call_aligned_alloc();
	call_memalign();
	call_valloc();
	call_pvalloc();
	return 0;
}
