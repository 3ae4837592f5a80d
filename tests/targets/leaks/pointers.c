/*
 * pointers: where in a block a pointer points, where the pointer itself is, and what only looks
 * like one.
 *
 *	Run: first_byte: reachable 301 in 1
 *	Run: second_byte: possible 302 in 1
 *	Run: last_byte: possible 303 in 1
 *	Run: end: definite 304 in 1
 *	Run: before: definite 305 in 1
 *	Run: odd_place: definite 306 in 1
 *	Run: four_bytes_off: definite 307 in 1
 *	Run: tagged: possible 308 in 1
 *	Run: tagged_high: definite 309 in 1
 *	Run: inverted: definite 310 in 1
 *	Run: exclusive_or: definite 930 in 3
 *	Run: shifted: definite 311 in 1
 *	Run: one_byte: reachable 1 in 1
 *	Run: one_byte_end: definite 1 in 1
 *	Run: no_bytes: reachable 0 in 1
 *	Run: no_bytes_lost: definite 0 in 1
 *	Run: no_bytes_end: definite 0 in 1
 *	Run: no_bytes_many: definite 0 in 3, reachable 0 in 2
 *	Run: length_before: reachable 320 in 1
 *	Run: wrong_length_before: possible 320 in 1
 *	Run: length_two_before: possible 328 in 1
 *	Run: length_in_a_lost_list: definite 16 in 1, indirect 320 in 1
 *	Run: count_before: reachable 328 in 1
 *	Run: wrong_count_before: possible 331 in 1
 *	Run: no_count_before: possible 328 in 1
 *	Run: small_block_ends_with_a_pointer: reachable 345 in 2
 *	Run: pointer_cut_off: definite 337 in 1, reachable 15 in 1
 *	Run: static_local: reachable 338 in 1
 *	Run: initialised: reachable 339 in 1
 *	Run: constant_after_start: definite 340 in 1
 *	Run: array_of_pointers: reachable 34100 in 100
 *	Run: in_a_union: reachable 342 in 1
 *	Run: dead_frame: definite 343 in 1
 *	Run: dead_main: definite 344 in 1
 *	Run: local_at_exit: reachable 345 in 1
 *	Run: argument_at_exit: reachable 346 in 1
 *	Run: deep_at_exit: reachable 3470 in 10
 *	Run: variable_array_at_exit: reachable 348 in 1
 *	Run: below_the_stack: definite 349 in 1
 *	Run: register_at_exit: reachable 350 in 1
 */
#include <alloca.h>

#include "leak.h"

static void *volatile held[100];
static void *volatile initialised_to = (void *)&held;
static volatile uintptr_t number;

static void first_byte(void)
{
	held[0] = block(301);
}

static void second_byte(void)
{
	held[0] = within(block(302), 1);
}

static void last_byte(void)
{
	held[0] = within(block(303), 302);
}

static void end(void)
{
	held[0] = within(block(304), 304);
}

static void before(void)
{
	held[0] = within(block(305), -1);
}

/* Pointers are looked for where they are aligned. */
static void odd_place(void)
{
	put(within((void *)held, 3), block(306));
}

static void four_bytes_off(void)
{
	put(within((void *)held, 4), block(307));
}

static void tagged(void)
{
	number = (uintptr_t)block(308) | 1;
}

static void tagged_high(void)
{
	number = (uintptr_t)block(309) | (uintptr_t)1 << 63;
}

static void inverted(void)
{
	number = ~(uintptr_t)block(310);
}

/* A list whose links are the exclusive or of both neighbours. */
static void exclusive_or(void)
{
	uintptr_t *first = block(310), *second = block(310), *third = block(310);

	*first = ~(uintptr_t)second;
	*second = (uintptr_t)first ^ (uintptr_t)third;
	*third = ~(uintptr_t)second;
	keep(first);
}

static void shifted(void)
{
	number = (uintptr_t)block(311) << 16;
}

/* --- small blocks ---------------------------------------------------------------------------- */

static void one_byte(void)
{
	held[0] = block(1);
}

static void one_byte_end(void)
{
	held[0] = within(block(1), 1);
}

static void no_bytes(void)
{
	held[0] = block(0);
}

static void no_bytes_lost(void)
{
	block(0);
}

static void no_bytes_end(void)
{
	held[0] = within(block(0), 1);
}

static void no_bytes_many(void)
{
	for (int i = 0; i < 5; i++)
		held[i / 3] = block(0);
}

/* --- lengths and counts in front of what is pointed to ---------------------------------------- */

FRAME static void *numbered(size_t bytes, uint64_t first)
{
	uint64_t *made = block(bytes);

	made[0] = first;
	return keep(made + 1);
}

static void length_before(void)
{
	held[0] = numbered(320, 312);
}

static void wrong_length_before(void)
{
	held[0] = numbered(320, 313);
}

static void length_two_before(void)
{
	held[0] = within(numbered(328, 320), 8);
}

static void length_in_a_lost_list(void)
{
	node(16, numbered(320, 312), NULL);
}

/* 40 elements of 8 bytes. */
static void count_before(void)
{
	held[0] = numbered(328, 40);
}

static void wrong_count_before(void)
{
	held[0] = numbered(331, 40);
}

static void no_count_before(void)
{
	held[0] = numbered(328, 0);
}

static void small_block_ends_with_a_pointer(void)
{
	held[0] = block(8);
	put(held[0], block(337));
}

/* The last 7 bytes of the pointer's place are in the block. */
static void pointer_cut_off(void)
{
	char *made = block(15);
	void *lost = block(337);

	held[0] = made;
	memcpy(made + 8, &lost, 7);
	keep(made);
}

/* --- places of pointers ---------------------------------------------------------------------- */

static void static_local(void)
{
	MAYBE_UNUSED static void *volatile mine;

	mine = block(338);
}

static void initialised(void)
{
	initialised_to = block(339);
}

static void constant_after_start(void)
{
	held[0] = block(340);
	held[0] = NULL;
}

static void array_of_pointers(void)
{
	for (int i = 0; i < 100; i++)
		held[i] = block(341);
}

static void in_a_union(void)
{
	static union {
		double number;
		void *ptr;
	} volatile either MAYBE_UNUSED;

	either.ptr = block(342);
}

/* --- stacks and registers -------------------------------------------------------------------- */

FRAME static void leave_in_frame(void)
{
	void *volatile local = block(343);

	keep((void *)local);
}

static void dead_frame(void)
{
	leave_in_frame();
}

/* The test's own main does it: see below. */
static void dead_main(void)
{
}

FRAME static void leave(void)
{
	wipe();
	exit(0);
}

static void local_at_exit(void)
{
	void *volatile local = block(345);

	leave();
	keep((void *)&local);
}

FRAME static void leave_with(void *volatile argument)
{
	leave();
	keep((void *)&argument);
}

static void argument_at_exit(void)
{
	leave_with(block(346));
}

FRAME static void go_down(int depth)
{
	void *volatile local = block(347);

	if (depth > 1)
		go_down(depth - 1);
	else
		leave();
	keep((void *)&local);
}

static void deep_at_exit(void)
{
	go_down(10);
}

static void variable_array_at_exit(void)
{
	void *volatile *array = alloca((size_t)keep((void *)800));

	memset((void *)array, 0, 800);
	array[50] = block(348);
	keep((void *)array);
	leave();
}

/* Far below the stack pointer, in pages that were used. */
FRAME static void leave_below(void)
{
	void *volatile words[16384];

	memset((void *)words, 0, sizeof(words));
	words[0] = block(349);
	keep((void *)words);
}

static void below_the_stack(void)
{
	leave_below();
	wipe_registers();
	exit(0);
}

/* Nobody but a register knows the block when exit() is called. */
static void register_at_exit(void)
{
#ifdef __x86_64__
	number = ~(uintptr_t)block(350);
	wipe();
	__asm__ volatile("mov %0, %%rbx\n\tnot %%rbx\n\txor %%edi, %%edi\n\tcall exit@PLT"
			 :
			 : "m"(number)
			 : "rbx", "rdi", "memory");
#else
	held[0] = block(350);
#endif
}

static const struct leak_case cases[] = {
	CASE(first_byte),
	CASE(second_byte),
	CASE(last_byte),
	CASE(end),
	CASE(before),
	CASE(odd_place),
	CASE(four_bytes_off),
	CASE(tagged),
	CASE(tagged_high),
	CASE(inverted),
	CASE(exclusive_or),
	CASE(shifted),
	CASE(one_byte),
	CASE(one_byte_end),
	CASE(no_bytes),
	CASE(no_bytes_lost),
	CASE(no_bytes_end),
	CASE(no_bytes_many),
	CASE(length_before),
	CASE(wrong_length_before),
	CASE(length_two_before),
	CASE(length_in_a_lost_list),
	CASE(count_before),
	CASE(wrong_count_before),
	CASE(no_count_before),
	CASE(small_block_ends_with_a_pointer),
	CASE(pointer_cut_off),
	CASE(static_local),
	CASE(initialised),
	CASE(constant_after_start),
	CASE(array_of_pointers),
	CASE(in_a_union),
	CASE(dead_frame),
	CASE(dead_main),
	CASE(local_at_exit),
	CASE(argument_at_exit),
	CASE(deep_at_exit),
	CASE(variable_array_at_exit),
	CASE(below_the_stack),
	CASE(register_at_exit),
};

/* At the lower end of main's frame: what runs after main does not reach down there. */
struct main_frame {
	void *lost;
	char far[65536];
};

int main(int argc, char **argv)
{
	volatile struct main_frame frame;

	memset((void *)&frame, 0, sizeof(frame));
	run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	if (strcmp(argv[1], "dead_main") == 0)
		frame.lost = block(344);
	wipe();
	keep((void *)&frame);
	return 0;
}
