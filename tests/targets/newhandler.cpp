/*
 * newhandler: memory "runs out", the new handler gives some back, then bad_alloc is thrown.
 *
 * Must be found:
 *	size 1401: 100 operator new in fill, freed in give_back
 *	size 1402: 50 operator new in catch_bad_alloc, freed in catch_bad_alloc
 */
#include <new>

#include "target.h"

static void *reserve[100];
static unsigned reserve_count;
static volatile size_t too_big = sizeof(size_t) == 8 ? SIZE_MAX / 2 - 4096 : SIZE_MAX - (64 << 20);

FRAME static void fill()
{
	for (reserve_count = 0; reserve_count < 100; reserve_count++)
		reserve[reserve_count] = need_block(::operator new(1401));
}

FRAME static void give_back()
{
	if (!reserve_count) {
		std::set_new_handler(nullptr);
		return;
	}
	::operator delete(reserve[--reserve_count]);
	no_tail_call();
}

FRAME static bool catch_bad_alloc()
{
	void *block = need_block(::operator new(1402));

	try {
		need_block(::operator new(too_big));
	} catch (const std::bad_alloc &) {
		::operator delete(block);
		return true;
	}
	return false;
}

int main()
{
	fill();
	std::set_new_handler(give_back);
	NEED(catch_bad_alloc());
	need(reserve_count == 0, "the new handler");
	for (int i = 1; i < 50; i++)
		NEED(catch_bad_alloc());
	need(::operator new(too_big, std::nothrow) == nullptr, "nothrow");
	puts("bad_alloc 50");
	return 0;
}
