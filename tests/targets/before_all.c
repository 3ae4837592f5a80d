/*
 * before_all: allocates before any constructor runs, ours too, so that recording begins in that
 * hook: 111 and 112 bytes, then 222 and 333 in main. Nothing is freed: four events.
 */
#include <stdlib.h>

void *volatile before_all_block;

static void before(int argc, char **argv, char **envp)
{
	(void)argc, (void)argv, (void)envp;
	before_all_block = malloc(111);
	before_all_block = malloc(112);
}

__attribute__((section(".preinit_array"), used)) static void (*before_pointer)(int, char **,
									       char **) = before;

int main(void)
{
	before_all_block = malloc(222);
	before_all_block = malloc(333);
	return before_all_block == NULL;
}
