/* malloc_by_memalign: a library whose malloc calls another function that is hooked. Preloaded. */
#include <malloc.h>
#include <stdlib.h>

void *malloc(size_t bytes)
{
	return memalign(16, bytes);
}
