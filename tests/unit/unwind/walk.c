/*
 * Walks its own stack, by rules and by full steps, and compares every pc, stack pointer and frame
 * pointer with libunwind's: in frames of every shape (shapes.c), below signal handlers, on other
 * stacks, and at every single instruction of all that by the processor's trap flag.
 */
#define UNW_LOCAL_ONLY
#include "../test.h"
#include "shapes.h"

#include "arch/native.h"
#include "unwind/rule.h"

#include <libunwind.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { OBJECTS_MAX = 64, FRAMES_MAX = 400, WRONG_SHOWN = 20, ALT_STACK = 1 << 20 };
enum { TRAP_FLAG = 0x100 };

#if defined(__SANITIZE_ADDRESS__)
enum { IS_SANITIZED = true, SIGNALS_ARE_CALLS = false };
#elif defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = true, SIGNALS_ARE_CALLS = true }; /* it keeps them for a good moment */
#else
enum { IS_SANITIZED = false, SIGNALS_ARE_CALLS = false };
#endif

static struct unwind_object objects[OBJECTS_MAX];
static size_t object_count;

static struct {
	uint64_t walks;
	uint64_t frames;
	uint64_t kinds[UNWIND_SLOW + 1];
	uint64_t wrong;
	uint64_t unwind_gave_up;
} tally;

static const char *shape_name = "";

static int object_add(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (object_count < OBJECTS_MAX &&
	    unwind_object_init(&objects[object_count], info->dlpi_addr, info->dlpi_phdr,
			       info->dlpi_phnum))
		object_count++;
	return 0;
}

static const struct unwind_object *object_find(uint64_t pc)
{
	for (size_t i = 0; i < object_count; i++)
		if (pc >= objects[i].begin && pc < objects[i].end)
			return &objects[i];
	return NULL;
}

/* What a walker by rules knows. */
struct place {
	uint64_t pc, sp, bp;
	bool exact;
};

/* What may be read; 0, 0: anything. */
static uint64_t stack_begin, stack_end;

static bool word_load(uint64_t address, uint64_t *ret)
{
	if (stack_end && (address < stack_begin || address > stack_end - sizeof(*ret)))
		return false;
	memcpy(ret, (const void *)address, sizeof(*ret));
	return true;
}

static bool place_step_signal(struct place *place, uint64_t ucontext)
{
	const uint16_t *offsets = arch_context_offset;

	place->exact = true;
	return word_load(ucontext + offsets[ARCH_REG_PC], &place->pc) &&
	       word_load(ucontext + offsets[ARCH_REG_SP], &place->sp) &&
	       word_load(ucontext + offsets[ARCH_REG_FP], &place->bp);
}

/* The caller's place by the rule; for UNWIND_SLOW there is *full, already there. */
static bool place_step(struct place *place, uint32_t rule, const struct unwind_regs *full)
{
	uint64_t saved = unwind_rule_saved(rule), cfa = 0, bp_at = 0;

	switch (unwind_rule_kind(rule)) {
	case UNWIND_SP:
		cfa = place->sp + unwind_rule_offset(rule);
		bp_at = cfa - saved;
		break;
	case UNWIND_BP:
		cfa = place->bp + (uint64_t)unwind_rule_signed_offset(rule);
		bp_at = cfa - saved;
		break;
	case UNWIND_DEREF:
		if (!word_load(place->bp + (uint64_t)unwind_rule_signed_offset(rule), &cfa))
			return false;
		bp_at = place->bp;
		break;
	case UNWIND_SIGNAL:
		return place_step_signal(place, place->sp + unwind_rule_offset(rule));
	case UNWIND_SLOW:
		*place = (struct place) { full->value[ARCH_REG_PC], full->value[ARCH_REG_SP],
					  full->value[ARCH_REG_FP], full->exact };
		return true;
	case UNWIND_NONE:
	case UNWIND_READ: /* not here */
	case UNWIND_BARE:
	case UNWIND_END:
		return false;
	}
	place->sp = cfa;
	place->exact = false;
	return (!saved || word_load(bp_at, &place->bp)) && word_load(cfa - 8, &place->pc);
}

static void regs_from_context(struct unwind_regs *regs, const ucontext_t *context, bool exact)
{
	for (int i = 0; i < ARCH_REGS; i++)
		memcpy(&regs->value[i], (const char *)context + arch_context_offset[i], 8);
	regs->known = (1U << ARCH_REGS) - 1;
	regs->exact = exact;
}

static void complain(const char *what, uint64_t pc, uint64_t ours, uint64_t theirs)
{
	if (tally.wrong++ < WRONG_SHOWN)
		fprintf(stderr, "# %s: at pc %#lx: %s %#lx, libunwind has %#lx\n", shape_name, pc,
			what, ours, theirs);
}

/* The frame cursor stands in against both of our walks. */
static void compare_frame(unw_cursor_t *cursor, uint64_t callee_pc, const struct place *place,
			  const struct unwind_regs *regs)
{
	unw_word_t pc, sp, bp;

	unw_get_reg(cursor, UNW_REG_IP, &pc);
	unw_get_reg(cursor, UNW_REG_SP, &sp);
	unw_get_reg(cursor, UNW_X86_64_RBP, &bp);
	if (place->pc != pc)
		complain("pc by rule", callee_pc, place->pc, pc);
	if (place->sp != sp)
		complain("sp by rule", callee_pc, place->sp, sp);
	if (place->bp != bp)
		complain("bp by rule", callee_pc, place->bp, bp);
	if (regs->value[ARCH_REG_PC] != pc)
		complain("pc by full step", callee_pc, regs->value[ARCH_REG_PC], pc);
	if (regs->value[ARCH_REG_SP] != sp)
		complain("sp by full step", callee_pc, regs->value[ARCH_REG_SP], sp);
	if (regs->value[ARCH_REG_FP] != bp)
		complain("bp by full step", callee_pc, regs->value[ARCH_REG_FP], bp);
	tally.frames++;
}

/*
 * glibc's longjmp() says that the stack pointer is in another register; libunwind takes the CFA
 * for it, which is the jmp_buf.
 */
static bool cursor_left_the_stack(unw_cursor_t *cursor)
{
	unw_word_t sp;

	unw_get_reg(cursor, UNW_REG_SP, &sp);
	return stack_end && (sp < stack_begin || sp > stack_end);
}

/* The end that no table states: libunwind goes on into the function the address points at. */
static bool is_made_up(const struct unwind_object *object, uint64_t pc, uint32_t rule, bool ours,
		       bool is_end)
{
	return rule == UNWIND_END && !ours && is_end &&
	       unwind_rule_kind(unwind_rule_compile(object, pc)) != UNWIND_END;
}

/* From context outwards, three unwinders side by side. */
static void walk_and_compare(ucontext_t *context, bool exact)
{
	const struct unwind_memory stack = { .begin = stack_begin, .end = stack_end };
	struct unwind_regs regs;
	struct place place;
	unw_cursor_t cursor;
	bool is_end = false;

	regs_from_context(&regs, context, exact);
	place = (struct place) { regs.value[ARCH_REG_PC], regs.value[ARCH_REG_SP],
				 regs.value[ARCH_REG_FP], exact };
	unw_init_local2(&cursor, context, exact ? UNW_INIT_SIGNAL_FRAME : 0);
	tally.walks++;
	for (int depth = 0; depth < FRAMES_MAX; depth++) {
		const uint64_t pc = place.pc;
		const struct unwind_object *object = object_find(pc - !place.exact);
		uint32_t rule = object ? unwind_rule_compile(object, pc - !place.exact) : 0;
		bool ours = object && unwind_full_step(object, &regs, &stack, &is_end);
		int theirs;

		tally.kinds[unwind_rule_kind(rule)]++;
		if (rule == UNWIND_NONE) {
			if (ours)
				complain("a step without a rule", pc, 1, 0);
			return; /* libunwind guesses from here on */
		}
		if (is_made_up(object, pc, rule, ours, is_end))
			return;
		theirs = unw_step(&cursor);
		if (theirs < 0 && !ours && !is_end) {
			tally.unwind_gave_up++;
			return;
		}
		if (place_step(&place, rule, &regs) != ours || (theirs > 0) != ours)
			complain("going on", pc, ours, (uint64_t)theirs);
		if (!ours) {
			if (is_end != (rule == UNWIND_END))
				complain("the end", pc, is_end, rule);
			return;
		}
		if (cursor_left_the_stack(&cursor) || !(regs.known >> ARCH_REG_FP & 1)) {
			tally.unwind_gave_up++;
			return;
		}
		compare_frame(&cursor, pc, &place, &regs);
	}
}

static void checkpoint(void)
{
	ucontext_t context;

	getcontext(&context);
	walk_and_compare(&context, false);
}

static void expect_all_right(uint64_t min_walks)
{
	assert_int_equal(tally.wrong, 0);
	assert_true(tally.walks >= min_walks);
	assert_true(tally.frames > tally.walks);
}

static const struct {
	const char *name;
	const struct shape *shapes;
} tables[] = {
#define SHAPES_ROW(name) { #name, name },
	SHAPES_TABLES(SHAPES_ROW)
};

/* Every shape of every table, with several sizes. */
static void run_shapes(void (*callback)(void), int sizes)
{
	static char name[100];

	for (size_t i = 0; i < array_size(tables); i++)
		for (const struct shape *shape = tables[i].shapes; shape->run; shape++)
			for (int size = 1; size <= sizes; size++) {
				snprintf(name, sizeof(name), "%s %s %d", tables[i].name,
					 shape->name, size);
				shape_name = name;
				shape->run(callback, size * size);
			}
}

static int tally_reset(void **state)
{
	(void)state;
	memset(&tally, 0, sizeof(tally));
	stack_begin = stack_end = 0;
	return 0;
}

static int tally_show(void **state)
{
	(void)state;
	print_message(
		"# %lu walks, %lu frames: sp %lu bp %lu deref %lu signal %lu end %lu slow %lu "
		"none %lu; libunwind gave up %lu\n",
		tally.walks, tally.frames, tally.kinds[UNWIND_SP], tally.kinds[UNWIND_BP],
		tally.kinds[UNWIND_DEREF], tally.kinds[UNWIND_SIGNAL], tally.kinds[UNWIND_END],
		tally.kinds[UNWIND_SLOW], tally.kinds[UNWIND_NONE], tally.unwind_gave_up);
	return 0;
}

static void frames_of_every_shape_are_walked_as_by_libunwind(void **state)
{
	(void)state;
	run_shapes(checkpoint, 5);
	expect_all_right(500);
	assert_true(tally.kinds[UNWIND_BP] > 0);
#ifndef __clang__ /* it realigns stacks another way */
	assert_true(tally.kinds[UNWIND_DEREF] > 0);
#endif
	assert_true(tally.kinds[UNWIND_END] > 0);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	walk_and_compare(context, true);
}

static void do_nothing(void)
{
}

/* Pushes and pops behind the table's back, so the table must not go by the stack pointer. */
#ifdef __clang__
__attribute__((noinline))
#else
__attribute__((noinline, optimize("no-omit-frame-pointer")))
#endif
static void
set_trap_flag(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	assert_int_equal(sigaction(signal, &action, NULL), 0);
}

static void give_signals_a_stack(void)
{
	stack_t stack = { .ss_size = ALT_STACK };

	stack.ss_sp =
		mmap(NULL, ALT_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(stack.ss_sp, MAP_FAILED);
	assert_int_equal(sigaltstack(&stack, NULL), 0);
}

/*
 * Where gcc leaves a realigned frame its table has bp saved at [bp] for two instructions too long.
 * Only a signal can show such a pc; then loads have to stay on this thread's stack.
 */
static void bound_loads(void)
{
	pthread_attr_t attr;
	void *begin;
	size_t bytes;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	pthread_attr_getstack(&attr, &begin, &bytes);
	pthread_attr_destroy(&attr);
	stack_begin = (uintptr_t)&attr - (1 << 20);
	stack_end = (uintptr_t)begin + bytes;
}

/* Prologues, epilogues, PLT stubs, the insides of libc: pcs no return address ever shows. */
static void every_single_instruction_is_walked_as_by_libunwind(void **state)
{
	(void)state;
	if (IS_SANITIZED)
		return; /* a sanitizer's every instruction, too, and it blocks signals in places */
	give_signals_a_stack();
	bound_loads();
	handle(SIGTRAP, on_trap, SA_ONSTACK);
	set_trap_flag(true);
	run_shapes(do_nothing, 1);
	set_trap_flag(false);
	expect_all_right(50000);
	assert_true(tally.unwind_gave_up < tally.walks / 100);
}

static void on_user_signal(int signal, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	checkpoint();
	if (signal == SIGUSR1)
		raise(SIGUSR2);
}

static void raise_user_signal(void)
{
	raise(SIGUSR1);
}

static void nested_signal_handlers_are_walked_through(void **state)
{
	(void)state;
	give_signals_a_stack();
	handle(SIGUSR1, on_user_signal, SA_ONSTACK);
	handle(SIGUSR2, on_user_signal, 0);
	run_shapes(raise_user_signal, 2);
	expect_all_right(100);
	assert_true(SIGNALS_ARE_CALLS || tally.kinds[UNWIND_SIGNAL] >= tally.walks);
}

static volatile sig_atomic_t tick_count;

static void on_tick(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	tick_count++;
	checkpoint();
}

static void signals_at_any_moment_are_walked_through(void **state)
{
	struct itimerspec once = { 0 };
	timer_t timer;

	(void)state;
	bound_loads();
	handle(SIGALRM, on_tick, SA_RESTART);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
	tick_count = 0;
	/* One at a time: handlers may take longer than the interval. */
	while (tick_count < 300) {
		once.it_value.tv_nsec = 20000 + random() % 300000;
		assert_int_equal(timer_settime(timer, 0, &once, NULL), 0);
		run_shapes(do_nothing, 4);
	}
	timer_delete(timer);
	expect_all_right(300);
	assert_true(SIGNALS_ARE_CALLS || tally.kinds[UNWIND_SIGNAL] >= tally.walks);
}

static void *thread_main(void *unused)
{
	(void)unused;
	run_shapes(checkpoint, 2);
	return NULL;
}

static void threads_are_walked_to_their_end(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	expect_all_right(100);
	assert_int_equal(tally.kinds[UNWIND_END], tally.walks);
}

static ucontext_t main_context, coroutine_context;

static void coroutine_main(void)
{
	run_shapes(checkpoint, 2);
	swapcontext(&coroutine_context, &main_context);
}

static void coroutines_are_walked_to_their_end(void **state)
{
	const size_t bytes = 1 << 22;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(stack, MAP_FAILED);
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = bytes;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine_main, 0);
	swapcontext(&main_context, &coroutine_context);
	munmap(stack, bytes);
	expect_all_right(100);
	assert_int_equal(tally.kinds[UNWIND_END], tally.walks);
}

/* Loads outside the bounds are refused, and the registers stay as they were. */
static void a_step_does_not_read_outside_the_stack(void **state)
{
	struct unwind_regs regs, before;
	const struct unwind_memory elsewhere = { .begin = 8, .end = 16 };
	struct unwind_memory here = { .end = UINT64_MAX };
	ucontext_t context;
	bool is_end;

	(void)state;
	getcontext(&context);
	regs_from_context(&regs, &context, false);
	before = regs;
	assert_false(
		unwind_full_step(object_find(regs.value[ARCH_REG_PC]), &regs, &elsewhere, &is_end));
	assert_memory_equal(&regs, &before, sizeof(regs));
	here.begin = regs.value[ARCH_REG_SP];
	assert_true(unwind_full_step(object_find(regs.value[ARCH_REG_PC]), &regs, &here, &is_end));
	assert_memory_not_equal(&regs, &before, sizeof(regs));
	tally.walks++;
}

#define WALK_TEST(test) cmocka_unit_test_setup_teardown(test, tally_reset, tally_show)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WALK_TEST(frames_of_every_shape_are_walked_as_by_libunwind),
		WALK_TEST(every_single_instruction_is_walked_as_by_libunwind),
		WALK_TEST(nested_signal_handlers_are_walked_through),
		WALK_TEST(signals_at_any_moment_are_walked_through),
		WALK_TEST(threads_are_walked_to_their_end),
		WALK_TEST(coroutines_are_walked_to_their_end),
		WALK_TEST(a_step_does_not_read_outside_the_stack),
	};

	/*
	 * Its cache takes a return address for the same place as that instruction when trapped at.
	 */
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
	dl_iterate_phdr(object_add, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
