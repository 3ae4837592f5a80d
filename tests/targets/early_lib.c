/* early_lib: a library whose constructor allocates before that of any preloaded library runs. */
#include "target.h"

void early_lib_use(void);

FRAME __attribute__((constructor)) static void library_constructor(void)
{
	free(need_block(malloc(3301)));
	need_block(calloc(1, 3302));
	no_tail_call();
}

FRAME __attribute__((destructor)) static void library_destructor(void)
{
	free(need_block(malloc(3303)));
	no_tail_call();
}

FRAME __attribute__((visibility("default"))) void early_lib_use(void)
{
	no_tail_call();
}
