#include "export/messages.h"

#include <assert.h>
#include <string.h>

void *messages_add(struct arena *arena, bool *failed_ret, void *list, size_t *count, size_t bytes)
{
	assert(bytes > 0);
	void *item = arena_alloc(arena, bytes);
	void **items;

	memcpy(&items, list, sizeof(items));
	if ((*count & (*count - 1)) == 0) { /* 0, 1, 2, 4 ...: full */
		void **more = arena_array(arena, *count ? *count * 2 : 1, sizeof(*more));

		if (more && *count)
			memcpy(more, items, *count * sizeof(*more));
		items = more;
		memcpy(list, &items, sizeof(items));
	}
	if (!item || !items) {
		*failed_ret = true;
		return NULL;
	}
	items[(*count)++] = item;
	return item;
}
