/*
 * no_threads: while an input is tested no thread can be started, which all of ours survive. What an
 * input reaches must not depend on who comes first, nor on how many processors there are.
 * Linked with --wrap=pthread_create (meson.build).
 */
#ifndef MEMTAPE_TESTS_FUZZ_NO_THREADS_H
#define MEMTAPE_TESTS_FUZZ_NO_THREADS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static bool threads_are_off; /* libFuzzer has one of its own */

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument)
{
	return threads_are_off ? EAGAIN
			       : __real_pthread_create(thread, attributes, start, argument);
}

#endif
