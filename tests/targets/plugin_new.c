/* A plugin with operators new and delete of its own, as one that has its C++ library inside. */
#include <stdlib.h>

#include "target.h"

void *_Znwm(size_t size);
void _ZdlPv(void *block);
void plugin_work(void);

FRAME void *_Znwm(size_t size)
{
	return need_block(malloc(size));
}

FRAME void _ZdlPv(void *block)
{
	free(block);
	no_tail_call();
}

FRAME void plugin_work(void)
{
	for (int i = 0; i < 50; i++)
		_ZdlPv(_Znwm(PLUGIN_SIZE));
	no_tail_call();
}
