/* Through a wrapper: whose line the first one is depends on what the user says. */
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone))
static void *volatile kept;
KEEP void *wrap_it(int n)
{
	void *p = malloc(n);

	kept = p;
	return p;
}
KEEP void request(int i)
{
	kept = wrap_it(5000 + i);
	kept = kept;
}
int main(void)
{
	for (int i = 0; i < 20; i++)
		request(i);
	return 0;
}
