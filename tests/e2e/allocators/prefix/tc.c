/* gperftools' functions by their own names. Prints sizes, blocks, and how many were freed. */
#include <gperftools/tcmalloc.h>
#include <stdio.h>
#include <stdlib.h>

void *tc_new(size_t size);
void tc_delete(void *ptr);
void *tc_newarray(size_t size);
void tc_deletearray_sized(void *ptr, size_t size);

int main(void)
{
	for (int i = 0; i < 40; i++) {
		void *ptr = NULL;

		free(tc_malloc(70001));
		tc_free(malloc(70002));
		tc_delete(tc_new(70003));
		tc_deletearray_sized(tc_newarray(70004), 70004);
		tc_free(tc_realloc(tc_calloc(1, 70005), 70006));
		if (tc_posix_memalign(&ptr, 64, 70007) == 0)
			tc_free(ptr);
		tc_cfree(tc_valloc(70008));
	}
	for (int size = 70001; size <= 70008; size++)
		printf("%d 40 40\n", size);
	return 0;
}
