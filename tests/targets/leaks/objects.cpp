/*
 * objects: arrays with a count in front, objects that are held by a pointer to one of several base
 * classes, aligned objects, exceptions, and destructors that free at the end.
 *
 *	Run: object_held: reachable 64 in 1
 *	Run: object_lost: definite 64 in 1
 *	Run: numbers_held: reachable 80 in 1
 *	Run: array_held: reachable 168 in 1
 *	Run: array_lost: definite 168 in 1
 *	Run: array_with_contents: reachable 378 in 11
 *	Run: array_with_contents_lost: definite 168 in 1, indirect 210 in 10
 *	Run: second_element: possible 168 in 1
 *	Run: empty_array: definite 8 in 1
 *	Run: first_base: reachable 32 in 1
 *	Run: second_base: reachable 32 in 1
 *	Run: third_base: reachable 48 in 1
 *	Run: plain_base: possible 32 in 1
 *	Run: member: possible 32 in 1
 *	Run: virtual_base: reachable 40 in 1
 *	Run: second_base_lost: definite 16 in 1, indirect 32 in 1
 *	Run: vector_of_second_bases: reachable 400 in 11
 *	Run: aligned_held: reachable 128 in 1
 *	Run: aligned_lost: definite 128 in 1
 *	Run: nothrow_lost: definite 72 in 1
 *	Run: destructor_frees: nothing
 *	Run: library_destructor_frees: nothing
 *	Run: destroyed_in_order: nothing
 *	Run: destructor_loses: definite 88 in 1
 *	Run: exception_kept: possible 184 in 1
 *	Run: exception_caught: nothing
 *	Run: unwound: definite 90 in 1
 *	Run: uncaught, signal 6: possible 184 in 1
 *	Run: exit_skips_destructors, exit 3: reachable 91 in 1
 *	Run: pointer_to_member_block: reachable 116 in 2
 */
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "leak.h"

static void *volatile held[4];

FRAME static void hold(void *made)
{
	held[0] = keep(made);
}

struct object {
	long words[8];
};

static void object_held()
{
	hold(new object());
}

static void object_lost()
{
	keep(new object());
}

/* --- arrays ------------------------------------------------------------------------------------ */

struct element {
	void *contents;
	long number;

	element() : contents(nullptr), number(0)
	{
	}
	~element()
	{
		free(contents);
	}
};

static void numbers_held()
{
	hold(new long[10]());
}

static void array_held()
{
	hold(new element[10]);
}

static void array_lost()
{
	keep(new element[10]);
}

FRAME static element *make_array()
{
	auto *array = new element[10];

	for (int i = 0; i < 10; i++)
		array[i].contents = block(21);
	return array;
}

static void array_with_contents()
{
	hold(make_array());
}

static void array_with_contents_lost()
{
	keep(make_array());
}

static void second_element()
{
	hold(new element[10] + 1);
}

/* The pointer is to the end of a block that holds only the count: not to the block. */
static void empty_array()
{
	hold(new element[(size_t)keep(nullptr)]);
}

/* --- base classes ------------------------------------------------------------------------------ */

struct animal {
	virtual ~animal() = default;
	virtual int legs()
	{
		return 4;
	}
	long weight = 0;
};

struct machine {
	virtual ~machine() = default;
	virtual int wheels()
	{
		return 4;
	}
	long power = 0;
};

struct toy {
	virtual ~toy() = default;
	virtual int price()
	{
		return 4;
	}
	long age = 0;
};

struct plain {
	long one = 0, two = 0;
};

struct robot : animal, machine {
	int legs() override
	{
		return 2;
	}
	int wheels() override
	{
		return 2;
	}
};

struct toy_robot : animal, machine, toy {
};

struct plain_animal : animal, plain {
};

struct virtual_animal : virtual animal {
	virtual int arms()
	{
		return 2;
	}
	long one = 0, two = 0;
};

static void first_base()
{
	hold(static_cast<animal *>(new robot()));
}

static void second_base()
{
	hold(static_cast<machine *>(new robot()));
}

static void third_base()
{
	hold(static_cast<toy *>(new toy_robot()));
}

/* No vtable there. */
static void plain_base()
{
	hold(static_cast<plain *>(new plain_animal()));
}

static void member()
{
	hold(&(new robot())->weight);
}

static void virtual_base()
{
	hold(static_cast<animal *>(new virtual_animal()));
}

static void second_base_lost()
{
	node(16, static_cast<machine *>(new robot()), nullptr);
}

alignas(8) static char vector_place[sizeof(std::vector<machine *>)];

static void vector_of_second_bases()
{
	auto *vector = new (vector_place) std::vector<machine *>();

	vector->reserve(10);
	for (int i = 0; i < 10; i++)
		vector->push_back(new robot());
}

/* --- other ways to allocate -------------------------------------------------------------------- */

struct alignas(64) aligned {
	char bytes[128];
};

static void aligned_held()
{
	hold(new aligned());
}

static void aligned_lost()
{
	keep(new aligned());
}

static void nothrow_lost()
{
	keep(memset(::operator new(72, std::nothrow), 0, 72));
}

/* --- destructors ------------------------------------------------------------------------------- */

static struct owner {
	void *volatile mine = nullptr;

	~owner()
	{
		free(mine);
	}
} last_owner, first_owner;

static struct loser {
	bool is_on = false;

	~loser()
	{
		if (!is_on)
			return;
		block(88);
		wipe();
	}
} global_loser;

extern "C" void *library_hold(void *made);

static void destructor_frees()
{
	first_owner.mine = block(87);
}

static void library_destructor_frees()
{
	library_hold(block(86));
}

/* The second is destroyed first, and held by the first's block. */
static void destroyed_in_order()
{
	first_owner.mine = block(87);
	last_owner.mine = node(85, first_owner.mine, nullptr);
}

static void destructor_loses()
{
	global_loser.is_on = true;
}

static void exit_skips_destructors()
{
	std::unique_ptr<char[]> mine(new char[91]());

	keep(&mine);
	wipe();
	exit(3);
	keep(&mine);
}

/* --- exceptions -------------------------------------------------------------------------------- */

struct trouble {
	char bytes[56];
};

FRAME static void throw_trouble()
{
	throw trouble();
}

FRAME static std::exception_ptr catch_trouble()
{
	try {
		throw_trouble();
	} catch (...) {
		return std::current_exception();
	}
	return nullptr;
}

alignas(8) static char exception_place[sizeof(std::exception_ptr)];

/* Held behind the 128 bytes that the runtime has in front of an exception. */
static void exception_kept()
{
	new (exception_place) std::exception_ptr(catch_trouble());
}

static void exception_caught()
{
	catch_trouble();
}

FRAME static void lose_and_throw()
{
	keep(block(90));
	throw_trouble();
}

static void unwound()
{
	try {
		lose_and_throw();
	} catch (const trouble &) {
	}
}

static void uncaught()
{
	wipe();
	throw_trouble();
}

/* A pointer into a vector's memory is a pointer to the beginning if it is to the first element. */
static void pointer_to_member_block()
{
	auto *vector = new std::vector<int>(23);

	held[1] = vector;
	held[2] = &(*vector)[5];
}

static const struct leak_case cases[] = {
	CASE(object_held),
	CASE(object_lost),
	CASE(numbers_held),
	CASE(array_held),
	CASE(array_lost),
	CASE(array_with_contents),
	CASE(array_with_contents_lost),
	CASE(second_element),
	CASE(empty_array),
	CASE(first_base),
	CASE(second_base),
	CASE(third_base),
	CASE(plain_base),
	CASE(member),
	CASE(virtual_base),
	CASE(second_base_lost),
	CASE(vector_of_second_bases),
	CASE(aligned_held),
	CASE(aligned_lost),
	CASE(nothrow_lost),
	CASE(destructor_frees),
	CASE(library_destructor_frees),
	CASE(destroyed_in_order),
	CASE(destructor_loses),
	CASE(exception_kept),
	CASE(exception_caught),
	CASE(unwound),
	CASE(uncaught),
	CASE(exit_skips_destructors),
	CASE(pointer_to_member_block),
};

LEAK_MAIN(cases)
