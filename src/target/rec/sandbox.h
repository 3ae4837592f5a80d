/*
 * sandbox: which system calls the recorder may make, and what it does if there are none. A part of
 * rec.h, which includes it.
 */
#ifndef MEMTAPE_REC_SANDBOX_H
#define MEMTAPE_REC_SANDBOX_H

#include "rec/rec.h"

/* reserve.c */
void rec_slots_reserve(void);  /* before system calls are no longer allowed */
void rec_collector_poll(void); /* nor is the collector woken then */
void rec_slots_forget(void);
struct tape_chunk *rec_slot_reserved(struct rec_lane *lane); /* the next one, or NULL */
bool rec_slot_is_reserved(const void *chunk);

void rec_collector_wake(void); /* chunk.c: something was sealed, or is requested */

/* board.c */
void rec_board_init(void);    /* when there is a tape */
bool rec_board_is_read(void); /* a collector asks for us */
void rec_board_put(const struct rec_lane *lane, uint32_t tid);
void rec_board_clear(const struct rec_lane *lane);
void rec_board_settle(void); /* before the process ends, for a last look */
void rec_board_scan(
	uint64_t sp);	       /* likewise, for options.leaks; the program's stack begins there */
void rec_board_snapshot(void); /* which memory is resident, and */
bool rec_board_ask_scan(void); /* a leak scan, while the process runs; false: none was begun */
bool rec_board_forbids(void);  /* what the collector has seen; then it is the program's own */

/* thread_name.c; all are the calling thread's */
bool rec_thread_name_inherited(char name[16]); /* of one that has just begun; false: unknown */
void rec_thread_name_known(char name[16]);     /* as far as known; or "" */
void rec_thread_name_given(unsigned long thread, const char *name);	      /* or another's */
void rec_thread_name_taken(const char *name, const struct rec_frame *caller); /* by prctl() */

/* sandbox.c */
void rec_sandbox_init(void);
uint32_t rec_sandbox_filter_count(void); /* that there were at the start */
void rec_reserve_map(void);
void *rec_map(size_t bytes); /* zeroed private memory, or NULL; never freed but by */
void rec_unmap(void *memory, size_t bytes);
uint32_t rec_tid(uint32_t lane_index); /* of this thread, or a number that is no thread's */
bool rec_thread_name(char name[16]);   /* of this thread; false, and empty: unknown */
void rec_yield(void);
long rec_syscall_sandbox(long number, long a, long b, long c, long d, long e, long f);

static inline bool rec_may_call(void)
{
	return likely(__atomic_load_n((const uint32_t *)&rec.sandbox, __ATOMIC_RELAXED) !=
		      REC_SANDBOX_OWN) &&
	       likely(!rec_board_forbids());
}

/* System calls that no libc makes for us. */
static inline bool rec_may_ask_itself(void)
{
	return __atomic_load_n((const uint32_t *)&rec.sandbox, __ATOMIC_RELAXED) ==
		       REC_SANDBOX_NONE &&
	       rec_may_call();
}

/* The same for calls that a collector makes where there is one. */
static inline bool rec_may_ask(void)
{
	return rec_may_ask_itself() && !rec_board_is_read();
}

/* Whether the eight bytes there can be read. */
static inline bool rec_is_readable_word(const volatile void *address)
{
	return sys_can_read(address);
}

#endif
