/* churn_one: loaded and unloaded by churn.c at the address where churn_two was a moment before. */
#include "target.h"

FRAME void *churn_helper_one(size_t size);

FRAME void *churn_helper_one(size_t size)
{
	volatile char local[200];

	local[size % 200] = 1;
	return need_block(malloc(size + (size_t)local[size % 200] - 1));
}

__attribute__((visibility("default"))) void *churn_entry(void);

void *churn_entry(void)
{
	return keep(churn_helper_one(1801));
}
