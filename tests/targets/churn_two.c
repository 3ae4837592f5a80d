/*
 * churn_two: same size and symbols as churn_one, other frames: what was remembered about an
 * address of churn_one is wrong here.
 */
#include "target.h"

FRAME void *churn_inner_two(size_t size);
FRAME void *churn_outer_two(size_t size, void *a, void *b);

FRAME void *churn_inner_two(size_t size)
{
	return need_block(malloc(size));
}

FRAME void *churn_outer_two(size_t size, void *a, void *b)
{
	void *block = churn_inner_two(size);

	keep(a);
	keep(b);
	return keep(block);
}

__attribute__((visibility("default"))) void *churn_entry(void);

void *churn_entry(void)
{
	volatile char local[1000];

	local[5] = 7;
	return keep(churn_outer_two(1802, (void *)&local[5], NULL));
}
