/* An executable as it lies on the disk, whose names are read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/own_malloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = aligned_alloc(8, (size + 8) & ~(size_t)7); /* as a mapping is */

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	own_malloc_find_in(copy, size, true);
	free(copy);
	return 0;
}
