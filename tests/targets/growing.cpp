/*
 * growing: a container that grows by copying, and two programs that do not grow by copying though
 * they allocate as much: with the size reserved, and with blocks of all sizes in turn. And a string
 * that is made anew in every call.
 *
 * Run: vector
 *	size 4194304: 8 operator new in collect, freed
 *	size 2097152: 8 operator new in collect, freed
 * Run: reserved
 *	size 4194304: 8 operator new in collect, freed
 * Run: random
 *	size 9001: 1 operator new[] in random_sizes, freed in random_sizes
 * Run: calls
 *	size 301: 40000 operator new in answer, freed
 */
#include <stdint.h>
#include <string.h>

#include <deque>
#include <string>
#include <vector>

#include "target.h"

static volatile uint64_t sink;

/* 8, 16, 32 ... 4194304 bytes: 19 steps, which copy all but the last. */
FRAME static void collect(bool is_reserved)
{
	std::vector<uint64_t> values;

	if (is_reserved)
		values.reserve(1 << 19);
	for (uint64_t i = 0; i < 1 << 19; i++)
		values.push_back(i);
	sink = sink + values.back();
}

/* A window of four blocks of any size, the oldest freed after the next one is allocated. */
FRAME static void random_sizes(void)
{
	std::deque<char *> window;
	uint64_t state = 1;

	for (int i = 0; i < 40000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		window.push_back(new char[1 + (state >> 33) % 4000]);
		if (window.size() > 4) {
			delete[] window.front();
			window.pop_front();
		}
	}
	window.push_back(new char[9001]);
	for (char *block : window)
		delete[] block;
	no_tail_call();
}

/* One of a thousand notes lives on, until its turn comes. */
FRAME static void take_note(size_t i)
{
	static char *notes[1000];

	delete[] notes[i % 1000];
	notes[i % 1000] = new char[11 + i % 50];
}

FRAME static void answer(size_t i)
{
	std::string text(300, 'x');

	take_note(i);
	sink = sink + text.size();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "random") == 0)
		random_sizes();
	else if (strcmp(what, "calls") == 0)
		for (size_t i = 0; i < 40000; i++)
			answer(i);
	else
		for (int i = 0; i < 8; i++)
			collect(strcmp(what, "reserved") == 0);
	return 0;
}
