/*
 * thread_name: names of threads, without system calls if a collector reads names from outside
 * (collect/threads.h): a thread starts with its creator's, and the hooks see most others.
 */
#include "rec/other.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/poison.h"

/* A thread was named by another, so its lane does not know. */
static _Atomic bool names_may_be_others;

static void keep(struct rec_lane *lane, const char *name)
{
	memset(lane->name, 0, sizeof(lane->name));
	memcpy(lane->name, name, strnlen(name, sizeof(lane->name) - 1));
}

bool rec_thread_name_inherited(char name[16])
{
	if (!rec_board_is_read() || !rec_tls.birth || !rec_tls.birth_name[0] ||
	    atomic_load(&names_may_be_others))
		return false;
	memcpy(name, rec_tls.birth_name, sizeof(rec_tls.birth_name));
	return true;
}

void rec_thread_name_known(char name[16])
{
	const struct rec_lane *own = rec_tls.own;

	memset(name, 0, 16);
	if (own)
		memcpy(name, own->name, sizeof(own->name));
}

void rec_thread_name_given(unsigned long thread, const char *name)
{
	if (thread != (unsigned long)pthread_self())
		atomic_store(&names_may_be_others, true);
	else if (rec_tls.own)
		keep(rec_tls.own, name);
}

/* The kernel has read this many bytes of it, or up to a zero. */
void rec_thread_name_taken(const char *name, const struct rec_frame *caller)
{
	struct other other = other_begin(caller);
	struct tape_thread thread = { 0 };

	if (other.lane && other.lane == rec_tls.own) {
		thread.tid = other.lane->tid;
		keep(other.lane, name);
		rec_note(other.lane, TAPE_EXT_THREAD_NAME, &thread, sizeof(thread),
			 other.lane->name, strlen(other.lane->name));
	}
	other_end(&other);
}
