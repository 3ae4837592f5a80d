/*
 * containers: what the standard library's containers and smart pointers allocate, lost and held.
 * Some hold their memory by a pointer into its middle.
 *
 *	Run: freed: nothing
 *	Run: string_held: reachable 133 in 2
 *	Run: string_lost: definite 32 in 1, indirect 101 in 1
 *	Run: short_string_lost: definite 32 in 1
 *	Run: string_variable: reachable 201 in 1
 *	Run: vector_held: reachable 424 in 2
 *	Run: vector_lost: definite 24 in 1, indirect 400 in 1
 *	Run: vector_of_strings_lost: definite 24 in 1, indirect 1330 in 11
 *	Run: vector_of_pointers_held: reachable 524 in 12
 *	Run: list_held: reachable 264 in 11
 *	Run: list_lost: definite 24 in 1, indirect 240 in 10
 *	Run: map_held: reachable 5648 in 101
 *	Run: map_lost: definite 48 in 1, indirect 4000 in 100
 *	Run: map_of_strings_lost: definite 48 in 1, indirect 1650 in 20
 *	Run: set_held: reachable 4048 in 101
 *	Run: deque_held: reachable 2192 in 6
 *	Run: deque_lost: definite 80 in 1, indirect 2112 in 5
 *	Run: unordered_map_held: reachable 2672 in 102
 *	Run: unordered_map_lost: definite 56 in 1, indirect 2616 in 101
 *	Run: queue_lost: definite 80 in 1, indirect 576 in 2
 *	Run: unique_held: reachable 105 in 1
 *	Run: unique_released: definite 105 in 1
 *	Run: unique_variable: nothing
 *	Run: shared_held: reachable 56 in 2
 *	Run: shared_made_held: reachable 48 in 1
 *	Run: shared_cycle: definite 48 in 1, indirect 48 in 1
 *	Run: shared_new_cycle: definite 32 in 1, indirect 80 in 3
 *	Run: weak_cycle: nothing
 *	Run: weak_keeps_memory: reachable 48 in 1
 *	Run: function_held: reachable 256 in 1
 *	Run: function_lost: definite 32 in 1, indirect 256 in 1
 *	Run: any_held: reachable 304 in 1
 *	Run: tree_of_unique_lost: definite 24 in 1, indirect 336 in 14
 *	Run: static_in_function: nothing
 *	Run: static_pointer_in_function: reachable 133 in 2
 *	Run: thread_joined: nothing
 *	Run: thread_running, dtv 1: reachable 24 in 1
 *	Run: thread_local_string: nothing
 *	Run: async_done: nothing
 */
#include <any>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include "leak.h"

static void *volatile held[4];

template <class T> FRAME static T *lose(T *made)
{
	return static_cast<T *>(keep(made));
}

template <class T> FRAME static void hold(T *made)
{
	held[0] = keep(made);
}

FRAME static std::string text(size_t length)
{
	return std::string(length, 'x');
}

static void freed()
{
	std::map<int, std::string> map;
	std::vector<std::unique_ptr<int>> vector;

	for (int i = 0; i < 100; i++) {
		map[i] = text(100);
		vector.push_back(std::make_unique<int>(i));
	}
}

/* --- strings and vectors ----------------------------------------------------------------------- */

static void string_held()
{
	hold(new std::string(text(100)));
}

static void string_lost()
{
	lose(new std::string(text(100)));
}

static void short_string_lost()
{
	lose(new std::string(text(10)));
}

/* Without its destructor, as if the program were killed. */
alignas(std::string) static char string_place[sizeof(std::string)];

static void string_variable()
{
	new (string_place) std::string(text(200));
}

static void vector_held()
{
	hold(new std::vector<int>(100));
}

static void vector_lost()
{
	lose(new std::vector<int>(100));
}

static void vector_of_strings_lost()
{
	lose(new std::vector<std::string>(10, text(100)));
}

static void vector_of_pointers_held()
{
	auto *vector = new std::vector<void *>();

	vector->reserve(10);
	for (int i = 0; i < 10; i++)
		vector->push_back(block(42));
	hold(vector);
}

/* --- lists, trees and tables ------------------------------------------------------------------- */

static void list_held()
{
	hold(new std::list<int>(10, 1));
}

static void list_lost()
{
	lose(new std::list<int>(10, 1));
}

template <class Key, class Value> FRAME static std::map<Key, Value> *make_map(int count)
{
	auto *map = new std::map<Key, Value>();

	for (int i = 0; i < count; i++)
		(*map)[i] = Value();
	return map;
}

static void map_held()
{
	hold(make_map<long, std::pair<long, long>>(100));
}

static void map_lost()
{
	lose(make_map<int, int>(100));
}

static void map_of_strings_lost()
{
	auto *map = make_map<int, std::string>(10);

	for (auto &entry : *map)
		entry.second = text(92);
	lose(map);
}

static void set_held()
{
	auto *set = new std::set<long>();

	for (int i = 0; i < 100; i++)
		set->insert(i);
	hold(set);
}

static void deque_held()
{
	hold(new std::deque<int>(500, 1));
}

static void deque_lost()
{
	lose(new std::deque<int>(500, 1));
}

FRAME static std::unordered_map<int, int> *make_table()
{
	auto *table = new std::unordered_map<int, int>();

	for (int i = 0; i < 100; i++)
		(*table)[i] = i;
	return table;
}

static void unordered_map_held()
{
	hold(make_table());
}

static void unordered_map_lost()
{
	lose(make_table());
}

static void queue_lost()
{
	lose(new std::queue<int>(std::deque<int>(1, 1)));
}

/* --- smart pointers ---------------------------------------------------------------------------- */

struct sized {
	char bytes[105];
};

alignas(8) static char pointer_place[32];

static void unique_held()
{
	new (pointer_place) std::unique_ptr<sized>(new sized());
}

static void unique_released()
{
	lose(std::make_unique<sized>().release());
}

static std::unique_ptr<sized> unique_global;

static void unique_variable()
{
	unique_global = std::make_unique<sized>();
}

struct other {
	std::shared_ptr<other> next;
	std::weak_ptr<other> back;
};

static void shared_held()
{
	new (pointer_place) std::shared_ptr<other>(new other());
}

static void shared_made_held()
{
	new (pointer_place) std::shared_ptr<other>(std::make_shared<other>());
}

static void shared_cycle()
{
	auto one = std::make_shared<other>();

	one->next = std::make_shared<other>();
	one->next->next = one;
}

static void shared_new_cycle()
{
	std::shared_ptr<other> one(new other());

	one->next = std::shared_ptr<other>(new other());
	one->next->next = one;
}

static void weak_cycle()
{
	auto one = std::make_shared<other>();

	one->next = std::make_shared<other>();
	one->next->back = one;
}

/* The object is destroyed, but its memory is one block with the counts. */
static void weak_keeps_memory()
{
	new (pointer_place) std::weak_ptr<other>(std::make_shared<other>());
}

struct tree {
	std::unique_ptr<tree> left, right;
	long number;
};

FRAME static std::unique_ptr<tree> make_tree(int depth)
{
	auto made = std::make_unique<tree>();

	if (depth > 1) {
		made->left = make_tree(depth - 1);
		made->right = make_tree(depth - 1);
	}
	return made;
}

static void tree_of_unique_lost()
{
	lose(make_tree(4).release());
}

/* --- functions and values ---------------------------------------------------------------------- */

struct large {
	long words[32];
};

FRAME static std::function<long()> make_function()
{
	const large captured = {};

	return [captured] { return captured.words[5]; };
}

alignas(std::function<long()>) static char function_place[sizeof(std::function<long()>)];

static void function_held()
{
	new (function_place) std::function<long()>(make_function());
}

static void function_lost()
{
	lose(new std::function<long()>(make_function()));
}

struct larger {
	char bytes[304];
};

alignas(std::any) static char any_place[sizeof(std::any)];

static void any_held()
{
	new (any_place) std::any(larger());
}

static void static_in_function()
{
	static std::string mine = text(100);
	static std::vector<int> numbers(50);

	keep(&mine);
	keep(&numbers);
}

static void static_pointer_in_function()
{
	static auto *mine = new std::string(text(100));

	keep(&mine);
}

/* --- threads ----------------------------------------------------------------------------------- */

static std::atomic<bool> is_ready;

static void thread_joined()
{
	std::thread thread([] { delete lose(new std::string(text(50))); });

	thread.join();
}

static void stay(int, int)
{
	wipe();
	is_ready = true;
	for (;;)
		pause();
}

static void thread_running()
{
	std::thread thread(stay, 1, 2);

	thread.detach();
	while (!is_ready)
		usleep(1000);
	usleep(50000);
}

static thread_local std::string local;

static void thread_local_string()
{
	local = text(100);
	std::thread([] { local = text(200); }).join();
}

static void async_done()
{
	auto future = std::async(std::launch::async, [] { return text(100); });

	NEED(future.get().size() == 100);
}

static const struct leak_case cases[] = {
	CASE(freed),
	CASE(string_held),
	CASE(string_lost),
	CASE(short_string_lost),
	CASE(string_variable),
	CASE(vector_held),
	CASE(vector_lost),
	CASE(vector_of_strings_lost),
	CASE(vector_of_pointers_held),
	CASE(list_held),
	CASE(list_lost),
	CASE(map_held),
	CASE(map_lost),
	CASE(map_of_strings_lost),
	CASE(set_held),
	CASE(deque_held),
	CASE(deque_lost),
	CASE(unordered_map_held),
	CASE(unordered_map_lost),
	CASE(queue_lost),
	CASE(unique_held),
	CASE(unique_released),
	CASE(unique_variable),
	CASE(shared_held),
	CASE(shared_made_held),
	CASE(shared_cycle),
	CASE(shared_new_cycle),
	CASE(weak_cycle),
	CASE(weak_keeps_memory),
	CASE(tree_of_unique_lost),
	CASE(function_held),
	CASE(function_lost),
	CASE(any_held),
	CASE(static_in_function),
	CASE(static_pointer_in_function),
	CASE(thread_joined),
	CASE(thread_running),
	CASE(thread_local_string),
	CASE(async_done),
};

LEAK_MAIN(cases)
