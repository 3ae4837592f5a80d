/*
 * library: a static object of a library for objects.cpp that frees what it was given.
 */
#include <cstdlib>

extern "C" void *library_hold(void *made);

static struct library_owner {
	void *volatile mine = nullptr;

	~library_owner()
	{
		std::free(mine);
	}
} owner;

void *library_hold(void *made)
{
	owner.mine = made;
	return made;
}
