/*
 * vectors: walks what the kernel has put on the stack as runtimes do that ask no libc: from argv
 * over the environment to the auxiliary vector, and from main's third argument. Prints what it
 * finds, which must be the same with a recorder; names that come again are left out.
 */
#include <string.h>
#include <sys/auxv.h>

#include "target.h"

extern char **environ;

static unsigned long find(char **environment, unsigned long type)
{
	const unsigned long *auxv;

	while (*environment)
		environment++;
	auxv = (const unsigned long *)(environment + 1);
	while (auxv[0] != AT_NULL && auxv[0] != type)
		auxv += 2;
	return auxv[1];
}

static int is_first(char **all, char **entry)
{
	while (all < entry)
		if (strcmp(*all++, *entry) == 0)
			return 0;
	return 1;
}

int main(int argc, char **argv, char **environment)
{
	printf("page %lu %lu, getauxval %lu\n", find(argv + argc + 1, AT_PAGESZ),
	       find(environment, AT_PAGESZ), getauxval(AT_PAGESZ));
	for (char **entry = argv + argc + 1; *entry; entry++)
		if (is_first(argv + argc + 1, entry))
			puts(*entry);
	puts("--");
	for (char **entry = environment; *entry; entry++)
		puts(*entry);
	puts("--");
	for (char **entry = environ; *entry; entry++)
		puts(*entry);
	NEED(setenv("VECTORS", "1", 1) == 0);
	NEED(strcmp(getenv("VECTORS"), "1") == 0);
	NEED(unsetenv("VECTORS") == 0);
	NEED(find(argv + argc + 1, AT_PAGESZ) == 4096);
	return 0;
}
