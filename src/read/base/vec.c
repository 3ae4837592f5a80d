#include "base/vec.h"

#include <assert.h>

enum { FIRST_BYTES = 64 };

bool vec_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
	size_t grown = *capacity + *capacity / 2;
	size_t bytes;
	void *moved;

	assert(item_bytes > 0);
	assert(*items || *capacity == 0);
	if (wanted <= *capacity)
		return true;
	if (grown < FIRST_BYTES / item_bytes)
		grown = FIRST_BYTES / item_bytes;
	if (grown < wanted)
		grown = wanted;
	if (size_mul_overflows(grown, item_bytes, &bytes))
		return false;
	moved = realloc(*items, bytes);
	if (!moved)
		return false;
	*items = moved;
	*capacity = grown;
	return true;
}
