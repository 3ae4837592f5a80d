/*
 * exceptions: thrown through frames that allocate, from all depths; the recorder remembers stacks
 * that the unwinder has cut off behind its back.
 *
 * Run: many
 *	size 2401: 100000 operator new in throw_deep, freed in throw_deep
 * Run: shallow
 *	size 2401: 10000 operator new in throw_deep, freed in throw_deep
 * Run: deep
 *	size 2402: 4110 operator new in descend, freed in descend
 *	size 2403: 200 malloc in catch_deep, freed in catch_deep
 * Run: threads
 *	size 2402: 8220 operator new in descend, freed in descend
 */
#include <cstring>
#include <pthread.h>
#include <stdexcept>

#include "target.h"

struct holder {
	void *block;
	explicit holder(size_t size) : block(need_block(::operator new(size)))
	{
	}
	~holder()
	{
		::operator delete(block);
	}
};

FRAME static void throw_deep(int round)
{
	holder mine(2401);

	if (round >= 0)
		throw round;
	no_tail_call();
}

FRAME static int descend(int depth)
{
	holder mine(2402);

	if (depth == 0)
		throw std::runtime_error("from the bottom");
	int below = descend(depth - 1);
	no_tail_call();
	return below + 1;
}

FRAME static int catch_deep(int depth)
{
	void *block = need_block(malloc(2403));
	int caught = 0;

	try {
		caught = descend(depth);
	} catch (const std::exception &error) {
		caught = (int)strlen(error.what());
	}
	free(block);
	return caught;
}

static int catch_shallow(int rounds)
{
	int caught = 0;

	for (int i = 0; i < rounds; i++) {
		try {
			throw_deep(i);
		} catch (int round) {
			caught += round == i;
		}
	}
	return caught;
}

static void *catch_all_depths(void *arg)
{
	int sum = 0;

	for (int i = 0; i < 200; i++)
		sum += catch_deep(i % 41);
	need(sum == 200 * 15, "exceptions");
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "shallow";

	if (!strcmp(how, "shallow"))
		printf("caught %d\n", catch_shallow(10000));
	if (!strcmp(how, "many"))
		printf("caught %d\n", catch_shallow(100000));
	if (!strcmp(how, "deep"))
		catch_all_depths(nullptr);
	if (!strcmp(how, "threads")) {
		pthread_t thread[2];

		for (pthread_t &t : thread)
			NEED(!pthread_create(&t, nullptr, catch_all_depths, nullptr));
		for (pthread_t &t : thread)
			NEED(!pthread_join(t, nullptr));
	}
	puts(how);
	return 0;
}
