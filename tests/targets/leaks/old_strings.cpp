/*
 * old_strings: strings of libstdc++'s old ABI, which are a pointer to their characters, behind
 * length, capacity and count in the same block.
 *
 *	Run: held: reachable 125 in 1
 *	Run: lost: definite 8 in 1, indirect 125 in 1
 *	Run: shared_copies: reachable 125 in 1
 *	Run: with_room: reachable 1025 in 1
 *	Run: cut: reachable 125 in 1
 *	Run: third_character: possible 125 in 1
 *	Run: array_held: reachable 1338 in 11
 *	Run: only_looks_like_one: possible 125 in 1
 *	Run: freed: nothing
 */
#define _GLIBCXX_USE_CXX11_ABI 0
#include <new>
#include <string>

#include "leak.h"

static void *volatile held_pointer;
alignas(8) static char place[sizeof(std::string) * 4];

FRAME static std::string text(size_t length)
{
	return std::string(length, 'x');
}

static void held()
{
	new (place) std::string(text(100));
}

static void lost()
{
	keep(new std::string(text(100)));
}

static void shared_copies()
{
	auto *first = new (place) std::string(text(100));

	new (place + 8) std::string(*first);
	new (place + 16) std::string(*first);
}

static void with_room()
{
	auto *made = new (place) std::string();

	made->reserve(1000);
	made->append("short");
}

static void cut()
{
	auto *made = new (place) std::string(text(100));

	made->resize(3);
}

static void third_character()
{
	auto *made = new (place) std::string(text(100));

	held_pointer = const_cast<char *>(made->data()) + 2;
	memset(place, 0, sizeof(place));
	keep(place);
}

static void array_held()
{
	auto *array = new std::string[10];

	for (int i = 0; i < 10; i++)
		array[i] = text(100);
	held_pointer = array;
}

static void only_looks_like_one()
{
	auto *made = static_cast<uint64_t *>(block(125));

	made[0] = 101;
	made[1] = 100;
	held_pointer = made + 3;
}

static void freed()
{
	std::string one = text(100), two = one;

	keep(&two);
}

static const struct leak_case cases[] = {
	CASE(held),
	CASE(lost),
	CASE(shared_copies),
	CASE(with_room),
	CASE(cut),
	CASE(third_character),
	CASE(array_held),
	CASE(only_looks_like_one),
	CASE(freed),
};

LEAK_MAIN(cases)
