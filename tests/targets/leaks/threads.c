/*
 * threads: blocks that are held by threads - their stacks, registers, thread-local memory and
 * arguments - while they run, when they have ended, and when one of them ends the process.
 *
 *	Run: local_of_main: reachable 601 in 1
 *	Run: local_of_running, dtv 1: reachable 602 in 1
 *	Run: local_of_joined: definite 603 in 1
 *	Run: local_of_detached: definite 604 in 1
 *	Run: local_array: reachable 6050 in 10
 *	Run: local_middle: possible 606 in 1
 *	Run: local_list: reachable 6070 in 10
 *	Run: specific_of_main: reachable 608 in 1
 *	Run: specific_of_running, dtv 1: reachable 609 in 1
 *	Run: specific_of_joined: definite 610 in 1
 *	Run: specific_freed: nothing
 *	Run: fiftieth_specific: reachable 1123 in 2
 *	Run: stack_of_running, dtv 1: reachable 612 in 1
 *	Run: stack_of_waiting, dtv 1: reachable 613 in 1
 *	Run: stack_of_reading, dtv 1: reachable 614 in 1
 *	Run: stack_of_spinning, dtv 1: reachable 615 in 1
 *	Run: stack_of_many, dtv 8: reachable 4928 in 8
 *	Run: stack_of_joined: definite 617 in 1
 *	Run: below_stack_of_running, dtv 1: definite 618 in 1
 *	Run: register_of_running, dtv 1: reachable 619 in 1
 *	Run: vector_register_of_running, dtv 1: reachable 620 in 1
 *	Run: argument_of_running, dtv 1: reachable 621 in 1
 *	Run: detached_running, dtv 1: reachable 622 in 1
 *	Run: result_not_joined, dtv 1: reachable 623 in 1
 *	Run: result_lost: definite 624 in 1
 *	Run: result_of_detached: definite 643 in 1
 *	Run: results_of_three, dtv 1: definite 1287 in 2, reachable 645 in 1
 *	Run: arena_of_ended: definite 625 in 1, reachable 626 in 1
 *	Run: arenas_of_ended: definite 12520 in 20, indirect 5000 in 20, reachable 12540 in 20
 *	Run: arena_of_running, dtv 1: definite 628 in 1, reachable 1258 in 2
 *	Run: stack_in_mapping, dtv 1: reachable 630 in 1
 *	Run: stack_in_block, dtv 1: reachable 131703 in 2
 *	Run: exit_in_thread, exit 3, dtv 1: definite 632 in 1, reachable 1267 in 2
 *	Run: return_while_others_run, dtv 2: definite 635 in 1, reachable 1272 in 2
 *	Run: killed_while_others_run, signal 15, dtv 2: definite 635 in 1, reachable 1909 in 3
 *	Run: main_has_ended, dtv 1: reachable 1277 in 2
 *	Run: second_generation: definite 640 in 1, reachable 641 in 1
 *	Run: cancelled: definite 642 in 1
 *	Run: cancelled_with_cleanup: nothing
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "leak.h"

typedef void *thread_fn(void *);

static __thread void *volatile local;
static __thread void *volatile local_pointers[10];
static void *volatile held[64];
static volatile uintptr_t hidden;
static atomic_int ready_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

FRAME static void pause_ms(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	nanosleep(&pause, NULL);
}

/* Waits until so many threads say they are there, and gives them time to be where they stay. */
FRAME static void await(int count)
{
	while (atomic_load(&ready_count) < count)
		pause_ms(1);
	pause_ms(50);
}

FRAME static pthread_t start(thread_fn *function, void *argument)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, function, argument));
	return thread;
}

FRAME static void start_and_await(thread_fn *function)
{
	start(function, NULL);
	await(1);
}

FRAME static void run_thread(thread_fn *function)
{
	NEED(!pthread_join(start(function, NULL), NULL));
}

FRAME static int thread_count(void)
{
	DIR *folder = opendir("/proc/self/task");
	int count = 0;

	NEED(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
}

FRAME static void run_detached(thread_fn *function)
{
	NEED(!pthread_detach(start(function, NULL)));
	while (thread_count() > 1)
		pause_ms(1);
}

FRAME static void stay(void)
{
	wipe();
	atomic_fetch_add(&ready_count, 1);
	for (;;)
		pause();
}

/* --- thread-local variables ------------------------------------------------------------------- */

static void local_of_main(void)
{
	local = block(601);
}

static void *set_and_stay(void *argument)
{
	local = block(602);
	stay();
	return argument;
}

static void local_of_running(void)
{
	start_and_await(set_and_stay);
}

static void *set_603(void *argument)
{
	local = block(603);
	return argument;
}

static void local_of_joined(void)
{
	run_thread(set_603);
}

static void *set_604(void *argument)
{
	local = block(604);
	return argument;
}

static void local_of_detached(void)
{
	run_detached(set_604);
}

static void local_array(void)
{
	for (int i = 0; i < 10; i++)
		local_pointers[i] = block(605);
}

static void local_middle(void)
{
	local_pointers[7] = within(block(606), 600);
}

static void local_list(void)
{
	void *list = NULL;

	for (int i = 0; i < 10; i++)
		list = node(607, list, NULL);
	local = list;
}

/* --- values of keys --------------------------------------------------------------------------- */

static pthread_key_t key;

static void specific_of_main(void)
{
	NEED(!pthread_key_create(&key, NULL));
	NEED(!pthread_setspecific(key, block(608)));
}

static void *specific_and_stay(void *argument)
{
	NEED(!pthread_setspecific(key, block(609)));
	stay();
	return argument;
}

static void specific_of_running(void)
{
	NEED(!pthread_key_create(&key, NULL));
	start_and_await(specific_and_stay);
}

static void *specific_610(void *argument)
{
	NEED(!pthread_setspecific(key, block(610)));
	return argument;
}

static void specific_of_joined(void)
{
	NEED(!pthread_key_create(&key, NULL));
	run_thread(specific_610);
}

static void specific_freed(void)
{
	NEED(!pthread_key_create(&key, free));
	run_thread(specific_610);
}

/* libc has room for 32 and allocates 512 bytes for the next 32. */
static void fiftieth_specific(void)
{
	for (int i = 0; i < 50; i++)
		NEED(!pthread_key_create(&key, NULL));
	NEED(!pthread_setspecific(key, block(611)));
}

/* --- stacks ----------------------------------------------------------------------------------- */

static void *hold_612(void *argument)
{
	void *volatile mine = block(612);

	stay();
	keep((void *)&mine);
	return argument;
}

static void stack_of_running(void)
{
	start_and_await(hold_612);
}

static void *hold_and_wait(void *argument)
{
	void *volatile mine = block(613);

	atomic_fetch_add(&ready_count, 1);
	pthread_mutex_lock(&mutex);
	keep((void *)&mine);
	return argument;
}

static void stack_of_waiting(void)
{
	pthread_mutex_lock(&mutex);
	start_and_await(hold_and_wait);
}

static void *hold_and_read(void *argument)
{
	void *volatile mine = block(614);
	char byte;

	atomic_fetch_add(&ready_count, 1);
	NEED(read(ends[0], &byte, 1) == 1);
	keep((void *)&mine);
	return argument;
}

static void stack_of_reading(void)
{
	NEED(pipe(ends) == 0);
	start_and_await(hold_and_read);
}

static void *hold_and_spin(void *argument)
{
	void *volatile mine = block(615);

	atomic_fetch_add(&ready_count, 1);
	while (atomic_load(&ready_count))
		;
	keep((void *)&mine);
	return argument;
}

static void stack_of_spinning(void)
{
	start_and_await(hold_and_spin);
}

static void *hold_616(void *argument)
{
	void *volatile mine = block(616);

	stay();
	keep((void *)&mine);
	return argument;
}

static void stack_of_many(void)
{
	for (int i = 0; i < 8; i++)
		start(hold_616, NULL);
	await(8);
}

static void *hold_617(void *argument)
{
	void *volatile mine = block(617);

	keep((void *)&mine);
	return argument;
}

static void stack_of_joined(void)
{
	run_thread(hold_617);
}

FRAME static void leave_below(void)
{
	void *volatile words[16384];

	memset((void *)words, 0, sizeof(words));
	words[0] = block(618);
	keep((void *)words);
}

static void *leave_below_and_stay(void *argument)
{
	leave_below();
	wipe_registers();
	atomic_fetch_add(&ready_count, 1);
	for (;;)
		pause();
	return argument;
}

static void below_stack_of_running(void)
{
	start_and_await(leave_below_and_stay);
}

/* --- registers: the address is nowhere in memory ---------------------------------------------- */

#ifdef __x86_64__
static void *register_and_stay(void *argument)
{
	hidden = ~(uintptr_t)block(619);
	wipe();
	__asm__ volatile("mov %0, %%r12\n\tnot %%r12\n\tlock incl %1\n"
			 "1:\tmov %2, %%eax\n\tsyscall\n\tjmp 1b"
			 :
			 : "m"(hidden), "m"(ready_count), "i"(SYS_pause)
			 : "rax", "rcx", "r11", "r12", "memory");
	return argument;
}

static void *vector_register_and_stay(void *argument)
{
	hidden = ~(uintptr_t)block(620);
	wipe();
	__asm__ volatile("mov %0, %%rax\n\tnot %%rax\n\tmovq %%rax, %%xmm9\n\tlock incl %1\n"
			 "1:\tmov %2, %%eax\n\tsyscall\n\tjmp 1b"
			 :
			 : "m"(hidden), "m"(ready_count), "i"(SYS_pause)
			 : "rax", "rcx", "r11", "xmm9", "memory");
	return argument;
}

static void register_of_running(void)
{
	start_and_await(register_and_stay);
}

static void vector_register_of_running(void)
{
	start_and_await(vector_register_and_stay);
}
#endif

/* --- arguments and results -------------------------------------------------------------------- */

static void *stay_with(void *argument)
{
	stay();
	return keep(argument);
}

static void argument_of_running(void)
{
	start(stay_with, block(621));
	await(1);
}

static void detached_running(void)
{
	NEED(!pthread_detach(start(stay_with, block(622))));
	await(1);
}

static void *return_623(void *argument)
{
	(void)argument;
	return block(623);
}

/* It can still be joined: the result is not lost. */
static void result_not_joined(void)
{
	start(return_623, NULL);
	while (thread_count() > 1)
		pause_ms(1);
}

static void *return_624(void *argument)
{
	(void)argument;
	return block(624);
}

static void result_lost(void)
{
	run_thread(return_624);
}

static void *return_643(void *argument)
{
	(void)argument;
	return block(643);
}

static void *return_644(void *argument)
{
	(void)argument;
	return block(644);
}

static void *return_645(void *argument)
{
	(void)argument;
	return block(645);
}

static void result_of_detached(void)
{
	run_detached(return_643);
}

/* A detached one, a joined one, and one that can still be joined; all have stacks of their own. */
static void results_of_three(void)
{
	pthread_t detached = start(return_643, NULL), joined = start(return_644, NULL);

	start(return_645, NULL);
	while (thread_count() > 1)
		pause_ms(1);
	NEED(!pthread_detach(detached));
	NEED(!pthread_join(joined, NULL));
}

/* --- arenas ----------------------------------------------------------------------------------- */

static void *allocate_and_end(void *argument)
{
	block(625);
	held[0] = block(626);
	return argument;
}

static void arena_of_ended(void)
{
	run_thread(allocate_and_end);
}

static void *allocate_in_many(void *argument)
{
	pthread_barrier_t *all = argument;

	pthread_barrier_wait(all);
	node(626, block(250), NULL);
	held[atomic_fetch_add(&ready_count, 1)] = block(627);
	pthread_barrier_wait(all);
	return NULL;
}

static void arenas_of_ended(void)
{
	pthread_barrier_t all;
	pthread_t threads[20];

	NEED(!pthread_barrier_init(&all, NULL, 20));
	for (int i = 0; i < 20; i++)
		threads[i] = start(allocate_in_many, &all);
	for (int i = 0; i < 20; i++)
		pthread_join(threads[i], NULL);
}

static void *allocate_and_stay(void *argument)
{
	block(628);
	held[0] = node(629, block(629), NULL);
	stay();
	return argument;
}

static void arena_of_running(void)
{
	start_and_await(allocate_and_stay);
}

/* --- stacks of the program's own --------------------------------------------------------------- */

enum { STACK = 131072 };

static void *hold_630(void *argument)
{
	void *volatile mine = block(630);

	stay();
	keep((void *)&mine);
	return argument;
}

static void *hold_631(void *argument)
{
	void *volatile mine = block(631);

	stay();
	keep((void *)&mine);
	return argument;
}

FRAME static void start_on(void *stack, thread_fn *function)
{
	pthread_attr_t attributes;
	pthread_t thread;

	NEED(!pthread_attr_init(&attributes));
	NEED(!pthread_attr_setstack(&attributes, stack, STACK));
	NEED(!pthread_create(&thread, &attributes, function, NULL));
	pthread_attr_destroy(&attributes);
	await(1);
}

static void stack_in_mapping(void)
{
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(stack != MAP_FAILED);
	start_on(stack, hold_630);
}

static void stack_in_block(void)
{
	held[0] = block(STACK);
	start_on((void *)held[0], hold_631);
}

/* --- the end of the process ------------------------------------------------------------------- */

static void *exit_3(void *argument)
{
	void *volatile mine = block(633);

	await(1);
	block(632);
	wipe();
	exit(3);
	keep((void *)&mine);
	return argument;
}

static void exit_in_thread(void)
{
	void *volatile mine = block(634);
	const pthread_t thread = start(exit_3, NULL);

	atomic_fetch_add(&ready_count, 1);
	pthread_join(thread, NULL);
	keep((void *)&mine);
}

static void *hold_636(void *argument)
{
	void *volatile mine = block(636);

	stay();
	keep((void *)&mine);
	return argument;
}

static void return_while_others_run(void)
{
	start(hold_636, NULL);
	start(hold_636, NULL);
	block(635);
	await(2);
}

static void killed_while_others_run(void)
{
	void *volatile mine = block(637);

	return_while_others_run();
	wipe();
	raise(SIGTERM);
	keep((void *)&mine);
}

/* The first thread's local memory is there as long as the process. */
static void *return_later(void *argument)
{
	void *volatile mine = block(639);

	await(1);
	wipe();
	exit(0);
	keep((void *)&mine);
	return argument;
}

static void main_has_ended(void)
{
	local = block(638);
	start(return_later, NULL);
	wipe();
	atomic_fetch_add(&ready_count, 1);
	pthread_exit(NULL);
}

/* The second thread has the stack of the first, and clears it. */
static void *use_stack(void *argument)
{
	local = block(640);
	return argument;
}

static void *use_stack_again(void *argument)
{
	held[0] = block(641);
	wipe();
	return argument;
}

static void second_generation(void)
{
	run_thread(use_stack);
	run_thread(use_stack_again);
}

static void *wait_with_block(void *argument)
{
	void *volatile mine = block(642);

	atomic_fetch_add(&ready_count, 1);
	for (;;)
		pause();
	keep((void *)&mine);
	return argument;
}

static void *wait_with_cleanup(void *argument)
{
	pthread_cleanup_push(free, block(643));
	atomic_fetch_add(&ready_count, 1);
	for (;;)
		pause();
	pthread_cleanup_pop(1);
	return argument;
}

FRAME static void cancel(thread_fn *function)
{
	const pthread_t thread = start(function, NULL);

	await(1);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void cancelled(void)
{
	cancel(wait_with_block);
}

static void cancelled_with_cleanup(void)
{
	cancel(wait_with_cleanup);
}

static const struct leak_case cases[] = {
	CASE(local_of_main),
	CASE(local_of_running),
	CASE(local_of_joined),
	CASE(local_of_detached),
	CASE(local_array),
	CASE(local_middle),
	CASE(local_list),
	CASE(specific_of_main),
	CASE(specific_of_running),
	CASE(specific_of_joined),
	CASE(specific_freed),
	CASE(fiftieth_specific),
	CASE(stack_of_running),
	CASE(stack_of_waiting),
	CASE(stack_of_reading),
	CASE(stack_of_spinning),
	CASE(stack_of_many),
	CASE(stack_of_joined),
	CASE(below_stack_of_running),
#ifdef __x86_64__
	CASE(register_of_running),
	CASE(vector_register_of_running),
#endif
	CASE(argument_of_running),
	CASE(detached_running),
	CASE(result_not_joined),
	CASE(result_lost),
	CASE(result_of_detached),
	CASE(results_of_three),
	CASE(arena_of_ended),
	CASE(arenas_of_ended),
	CASE(arena_of_running),
	CASE(stack_in_mapping),
	CASE(stack_in_block),
	CASE(exit_in_thread),
	CASE(return_while_others_run),
	CASE(killed_while_others_run),
	CASE(main_has_ended),
	CASE(second_generation),
	CASE(cancelled),
	CASE(cancelled_with_cleanup),
};

LEAK_MAIN(cases)
