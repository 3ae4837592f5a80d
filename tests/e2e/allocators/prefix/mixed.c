/*
 * mimalloc by its own names, in a program whose malloc is mimalloc's, too: a block of the one is
 * given back to the other. Prints sizes, blocks, and how many were freed.
 */
#include <mimalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char text[5000];
	mi_heap_t *heap = mi_heap_new();

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 40; i++) {
		free(mi_malloc(70001));
		mi_free(malloc(70002));
		mi_free(mi_zalloc(70003));
		mi_free(mi_calloc(3, 70003 / 3 + 1)); /* 70005 */
		mi_free_size(mi_malloc_aligned(70006, 64), 70006);
		mi_free(mi_heap_malloc(heap, 70007));
		mi_free(mi_strdup(text));
		mi_free(mi_strndup(text, 4000));
		mi_free(mi_reallocf(mi_mallocn(2, 35004), 70009)); /* 70008 */
		free(calloc(1, 70010));
		free(realloc(mi_malloc(70011), 70012));
		mi_free(NULL);
	}
	for (int size = 70001; size <= 70012; size++)
		if (size != 70004)
			printf("%d 40 40\n", size);
	printf("5000 40 40\n4001 40 40\n");
	return 0;
}
