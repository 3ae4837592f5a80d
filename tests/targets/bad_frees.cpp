/*
 * bad_frees: what must not be freed, or not so. Each run does one thing, which glibc ends or not;
 * what findings say of it is in tests/e2e/test_bad_frees.py.
 *
 * Run: twice, signal 6
 *	size 1001: 1 malloc in make, freed in free_first
 * Run: reused, signal 6
 *	size 1002: 2 malloc in make, freed
 * Run: inside, signal 6
 *	size 1003: 1 malloc in make, leaked
 * Run: stack, signal 6
 * Run: realloc
 *	size 1004: 1 malloc in make, freed in free_first
 * Run: mismatched
 *	size 1005: 3 operator new in make_new, freed in free_first
 *	size 1006: 2 operator new[] in make_array, freed in delete_one
 *	size 1007: 1 malloc in make, freed in delete_one
 *	size 1008: 1 operator new in make_new, freed in grow
 * Run: fine
 *	size 1010: 1 posix_memalign in make_all, freed in make_all
 *	size 1011: 1 operator new in make_all, freed in make_all
 *	size 1012: 1 operator new[] in make_all, freed in make_all
 *	size 1013: 1 aligned_alloc in make_all, freed in make_all
 * Run: crowd
 *	size 1020: 40000 malloc in pass_on, freed
 */
#include <atomic>
#include <cstring>
#include <new>
#include <pthread.h>

#include "target.h"

extern "C" {

FRAME static void *make(size_t size)
{
	void *block = need_block(malloc(size));

	no_tail_call();
	return block;
}

FRAME static void *make_new(size_t size)
{
	void *block = need_block(operator new(size));

	no_tail_call();
	return block;
}

FRAME static void *make_array(size_t size)
{
	void *block = need_block(operator new[](size));

	no_tail_call();
	return block;
}

FRAME static void free_first(void *block)
{
	free(keep(block));
	no_tail_call();
}

FRAME static void free_again(void *block)
{
	free(keep(block));
	no_tail_call();
}

FRAME static void delete_one(void *block)
{
	operator delete(keep(block));
	no_tail_call();
}

FRAME static void grow(void *block)
{
	free(need_block(realloc(keep(block), 2000)));
	no_tail_call();
}

FRAME static void make_all()
{
	void *block;

	NEED(posix_memalign(&block, 64, 1010) == 0);
	free(keep(block));
	operator delete(need_block(operator new(1011)), (size_t)1011);
	operator delete[](need_block(operator new[](1012)));
	free(need_block(aligned_alloc(16, 1013)));
	free(NULL);
	operator delete(keep(NULL));
	no_tail_call();
}

/* Blocks go from thread to thread, and their addresses with them. */
enum { THREADS = 4, ROUNDS = 10000, SLOTS = 64 };

static std::atomic<void *> slots[SLOTS];

FRAME static void *pass_on(void *argument)
{
	size_t at = (size_t)argument;

	for (size_t i = 0; i < ROUNDS; i++) {
		at = (at * 1103515245 + 12345) % 2147483648;
		free(slots[at / 65536 % SLOTS].exchange(need_block(malloc(1020))));
	}
	return NULL;
}

FRAME static void run_crowd()
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		NEED(pthread_create(&threads[i], NULL, pass_on, (void *)(i + 1)) == 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < SLOTS; i++)
		free(slots[i].exchange(NULL));
}

static void run_reused()
{
	void *block = make(1002), *other;

	free_first(block);
	other = make(1002); /* the same address: another owner */
	NEED(other == block);
	free_first(block); /* what was not its own any more */
	free_again(other);
}

static void run_mismatched()
{
	for (int i = 0; i < 3; i++)
		free_first(make_new(1005));
	for (int i = 0; i < 2; i++)
		delete_one(make_array(1006));
	delete_one(make(1007));
	grow(make_new(1008));
}
}

int main(int argc, char **argv)
{
	const char *run = argc > 1 ? argv[1] : "fine";
	char on_stack[128] = {}; /* a size of 0, which glibc refuses */

	if (strcmp(run, "twice") == 0) {
		void *block = make(1001);

		free_first(block);
		free_again(block);
	} else if (strcmp(run, "reused") == 0) {
		run_reused();
	} else if (strcmp(run, "inside") == 0) {
		free_again((char *)make(1003) + 16);
	} else if (strcmp(run, "stack") == 0) {
		free_again(keep(on_stack + 16));
	} else if (strcmp(run, "realloc") == 0) {
		void *block = make(1004);

		free_first(block);
		grow(block);
	} else if (strcmp(run, "mismatched") == 0) {
		run_mismatched();
	} else if (strcmp(run, "left") == 0) {
		keep(make_new(1009)); /* to the end of the process */
	} else if (strcmp(run, "crowd") == 0) {
		run_crowd();
	} else {
		make_all();
	}
	return 0;
}
