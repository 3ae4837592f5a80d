/* killed.md: takes more and more until the kernel would have had enough, and is killed. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void *table_grow(size_t bytes)
{
	void *table = malloc(bytes);

	memset(table, 1, bytes);
	return table;
}

int main(void)
{
	for (size_t i = 1; i <= 200; i++)
		if (!table_grow(i * 1000))
			return 1;
	raise(SIGKILL);
	return 0;
}
