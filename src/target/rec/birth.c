/*
 * birth: who created a thread. The pthread_t that pthread_create() stored for its caller must not
 * be read afterwards: the thread runs by then, and a detached one may have freed the job containing
 * it. Nor would a pthread_t variable of ours do, because the thread may read its own from the
 * caller's. So the thread carries a number: it begins in thread_begin(), which notes the number and
 * jumps to the program's start function, leaving no frame. Both sides write the number to the tape.
 *
 * Between the call and the thread's beginning, the number and the program's two words lie in one of
 * a few places; if all are taken, a thread begins as it would without us, and its creator is
 * unknown.
 */
#include "rec/birth.h"

#include <stdatomic.h>

#include "core/poison.h"

enum { PLACES = 256 };

struct birth {
	_Atomic uint32_t is_taken;
	uint32_t number;
	char name[16]; /* of the creating thread */
	void *(*start)(void *);
	void *argument;
};

static struct birth births[PLACES];
static _Atomic uint32_t last_number;

static void *thread_begin(void *place)
{
	struct birth *birth = place;
	void *(*start)(void *) = birth->start;
	void *argument = birth->argument;

	rec_tls.birth = birth->number;
	memcpy(rec_tls.birth_name, birth->name, sizeof(birth->name));
	atomic_store_explicit(&birth->is_taken, 0, memory_order_release);
	return start(argument);
}

uint32_t rec_birth_begin(void *(**start)(void *), void **argument)
{
	const uint32_t number = atomic_fetch_add(&last_number, 1) + 1;

	for (uint32_t i = 0; i < PLACES && number != 0; i++) {
		struct birth *birth = &births[(number + i) % PLACES];
		uint32_t nobody = 0;

		if (!atomic_compare_exchange_strong(&birth->is_taken, &nobody, 1))
			continue;
		birth->number = number;
		rec_thread_name_known(birth->name);
		birth->start = *start;
		birth->argument = *argument;
		*start = thread_begin;
		*argument = birth;
		return number;
	}
	return 0;
}

void rec_birth_cancel(void *argument)
{
	struct birth *birth = argument;

	CHECK(birth >= births && birth < births + PLACES);
	CHECK(atomic_load(&birth->is_taken) == 1);
	atomic_store(&birth->is_taken, 0);
}

void rec_births_forget(void)
{
	for (uint32_t i = 0; i < PLACES; i++)
		atomic_store(&births[i].is_taken, 0);
}
