/*
 * nothrow: frames that no exception may leave, some of them on the stack while one is under way: a
 * noexcept function that catches inside, and a destructor, noexcept as all are, run by the
 * unwinding itself.
 *
 * Must be found:
 *	size 3301: 200 operator new in behind_noexcept, freed in behind_noexcept
 *	size 3302: 200 operator new in clean_up, freed in clean_up
 */
#include "target.h"

FRAME static void throws(int value)
{
	if (value >= 0)
		throw value;
	no_tail_call();
}

FRAME static void clean_up(void)
{
	operator delete(need_block(operator new(3302)));
	no_tail_call();
}

struct Cleaner {
	FRAME ~Cleaner()
	{
		clean_up();
		no_tail_call();
	}
};

FRAME static int cleans(int value)
{
	Cleaner cleaner;

	throws(value);
	return 0;
}

FRAME static void behind_noexcept(void)
{
	operator delete(need_block(operator new(3301)));
	no_tail_call();
}

FRAME static int catches(int value) noexcept
{
	int caught = 0;

	behind_noexcept();
	try {
		caught = cleans(value);
	} catch (int thrown) {
		caught = thrown + 1;
	}
	return caught;
}

int main()
{
	long sum = 0;

	for (int i = 0; i < 200; i++)
		sum += catches(i);
	printf("nothrow %ld\n", sum);
	return 0;
}
