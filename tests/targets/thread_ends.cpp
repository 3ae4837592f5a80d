/*
 * thread_ends: destructors of thread-local objects and of pthread keys allocate and free when the
 * recorder may already have put its own thread state away.
 *
 * Must be found:
 *	size 2001: 100 operator new in make_local, freed in destroy_local
 *	size 2002: 100 malloc in destroy_local, freed in destroy_local
 *	size 2003: 400 malloc in key_destructor, freed in key_destructor
 *	size 2004: 100 malloc in use_key, freed in key_destructor
 */
#include <pthread.h>

#include "target.h"

static pthread_key_t key;

FRAME static void *make_local()
{
	return need_block(::operator new(2001));
}

FRAME static void destroy_local(void *block)
{
	free(need_block(malloc(2002)));
	::operator delete(block);
	no_tail_call();
}

struct local {
	void *block = make_local();
	~local()
	{
		destroy_local(block);
	}
};

static thread_local local object;

/* Sets itself again: glibc calls it four times, the last of them after everybody else's. */
FRAME static void key_destructor(void *value)
{
	if ((uintptr_t)value > 8)
		free(value);
	value = (uintptr_t)value > 8 ? (void *)1 : (char *)value + 1;
	free(need_block(malloc(2003)));
	pthread_setspecific(key, value);
	no_tail_call();
}

FRAME static void use_key()
{
	pthread_setspecific(key, need_block(malloc(2004)));
	no_tail_call();
}

static void *life(void *arg)
{
	keep(object.block);
	use_key();
	return arg;
}

int main()
{
	pthread_t thread;

	NEED(!pthread_key_create(&key, key_destructor));
	for (int i = 0; i < 100; i++) {
		NEED(!pthread_create(&thread, nullptr, life, nullptr));
		NEED(!pthread_join(thread, nullptr));
	}
	puts("ends 100");
	return 0;
}
