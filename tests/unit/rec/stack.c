/*
 * Stacks taken by way of what is kept of earlier ones, against plain walks: whatever changes between
 * two events, deep or shallow, on one stack or another, the node that comes of it stands for the
 * frames that a walk by rules alone finds.
 */
#include "../test.h"
#include <stdlib.h>

#include "rec/tables.h"

enum {
	STACKS = 12, /* more than are kept */
	WORDS = 8192,
	FUNCTIONS = 40,
	CODE = 0x1000,
	FRAMES_MAX = 1200,
	EXTRA = 8, /* what lay there before is still there */
	NODES_MAX = 8 << 20,
	CHUNK_BYTES = 1 << 20
};

struct rec_process rec;

/* A function's frame is so many words, with or without the frame pointer saved in it. */
static struct {
	struct rec_lane lane;
	uint8_t *chunk;
	struct tape_node *nodes; /* by number */
	struct tape_live live;
	uint64_t stacks[STACKS][WORDS];
	uint64_t random;
	uint64_t probes;
	bool is_plain; /* no function has a frame pointer */
} test;

void *rec_map(size_t bytes)
{
	return sys_map_private(bytes);
}

void rec_unmap(void *memory, size_t bytes)
{
	sys_munmap(memory, bytes);
}

static uint64_t function_of(uint64_t lookup_pc)
{
	return (lookup_pc - CODE) / 16;
}

static bool saves_fp(uint64_t function)
{
	return function % 3 != 2;
}

static bool needs_fp(uint64_t function)
{
	return function % 3 == 0;
}

static uint64_t frame_words(uint64_t function)
{
	return 3 + function % 5;
}

/* Function 0 is the outermost. With a frame pointer: it is saved below the return address. */
uint32_t rec_rule_get(struct rec_lane *lane, uint64_t lookup_pc)
{
	const uint64_t function = function_of(lookup_pc);

	(void)lane;
	assert_in_range(lookup_pc, CODE, CODE + FUNCTIONS * 16);
	if (function == 1)
		return unwind_rule_make(UNWIND_END, 0, 0);
	if (needs_fp(function))
		return unwind_rule_make(UNWIND_BP, 2, 2);
	return unwind_rule_make(UNWIND_SP, saves_fp(function) ? 2 : 0,
				(uint32_t)frame_words(function));
}

bool rec_chunk_next(struct rec_lane *lane)
{
	const struct tape_node *node = (const struct tape_node *)(test.chunk + rec.chunk_bytes);
	uint32_t number = lane->next_node - lane->chunk->node_count;

	assert_true(lane->next_node < NODES_MAX);
	for (; number < lane->next_node; number++)
		test.nodes[number] = *--node;
	lane->chunk->first_node = lane->next_node;
	lane->chunk->node_count = 0;
	lane->nodes = test.chunk + rec.chunk_bytes;
	return true;
}

bool rec_lane_grow_memo(struct rec_lane *lane)
{
	const uint32_t capacity = lane->memo.now.capacity * 4 + 6;
	void *memory = rec_map(unwind_memo_bytes(capacity));

	rec_unmap(unwind_memo_memory(&lane->memo), unwind_memo_bytes(lane->memo.now.capacity));
	unwind_memo_init(&lane->memo, memory, capacity);
	return true;
}

void rec_lost(enum tape_loss kind)
{
	(void)kind;
	fail();
}

bool rec_module_full_step(struct unwind_regs *regs, uint64_t stack_begin, uint64_t stack_end,
			  bool *end_ret)
{
	(void)regs, (void)stack_begin, (void)stack_end, (void)end_ret;
	fail();
	return false;
}

bool rec_code_holds(uint64_t pc)
{
	(void)pc;
	return false;
}

bool rec_stack_use_holds(uint64_t begin, uint64_t end)
{
	const uint64_t first = (uintptr_t)test.stacks, last = first + sizeof(test.stacks);

	test.probes++;
	assert_true(begin >= first);
	assert_true(end <= last);
	return true;
}

bool rec_board_forbids(void)
{
	return false;
}

void rec_stack_use_deeper(struct rec_lane *lane, uint64_t sp)
{
	(void)lane, (void)sp;
}

static uint64_t random_next(uint64_t below)
{
	test.random = test.random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (test.random >> 33) % below;
}

/*
 * A stack as a program has it: which functions, from the outermost inwards, and their words. A
 * function with a frame pointer may have taken some more room.
 */
struct fake {
	uint64_t *words;
	uint64_t functions[FRAMES_MAX];
	uint64_t extra[FRAMES_MAX];
	uint64_t other[FRAMES_MAX]; /* what else the frame pointer is used for; 0: nothing */
	uint64_t calls[FRAMES_MAX]; /* return address of what it calls */
	uint64_t at[FRAMES_MAX];    /* stack pointer in each, as an index into words */
	uint64_t fp[FRAMES_MAX];    /* frame pointer in each */
	size_t count;
};

static void fake_begin(struct fake *fake, uint64_t *words)
{
	fake->words = words;
	fake->functions[0] = 1;
	fake->at[0] = WORDS - 8;
	fake->fp[0] = 0;
	fake->calls[0] = CODE + 16 + 1 + random_next(8);
	fake->count = 1;
}

/* Frame i where its caller leaves room for it. */
static void fake_place(struct fake *fake, size_t i)
{
	const uint64_t function = fake->functions[i], cfa = fake->at[i - 1];

	fake->at[i] = cfa - frame_words(function) - fake->extra[i];
	fake->words[cfa - 1] = fake->calls[i - 1];
	fake->fp[i] = fake->fp[i - 1];
	if (saves_fp(function))
		fake->words[cfa - 2] = fake->fp[i - 1];
	if (needs_fp(function))
		fake->fp[i] = (uint64_t)&fake->words[cfa - 2];
	else if (fake->other[i])
		fake->fp[i] = fake->other[i];
}

/* The innermost frame calls a function, from where calls[] says. */
static void fake_call(struct fake *fake, uint64_t function)
{
	const size_t i = fake->count++;

	fake->functions[i] = function;
	fake->extra[i] = needs_fp(function) ? random_next(2) * EXTRA : 0;
	fake->other[i] = saves_fp(function) && !needs_fp(function) ? random_next(1 << 20) : 0;
	fake->calls[i] = CODE + function * 16 + 1 + random_next(3);
	fake_place(fake, i);
}

/* The next frame from `from` on, outwards, that has a frame pointer and that much more room. */
static size_t frame_with(const struct fake *fake, size_t from, uint64_t extra)
{
	for (; from > 0; from--)
		if (needs_fp(fake->functions[from]) && fake->extra[from] == extra)
			break;
	return from;
}

/* Under frames that stay where they are: two have other room, or one calls from another place. */
static void fake_disturb(struct fake *fake)
{
	const uint64_t extra = random_next(2) * EXTRA;
	const size_t i = frame_with(fake, random_next(fake->count), extra);
	const size_t j = frame_with(fake, i, EXTRA - extra);

	if (random_next(8) == 0)
		fake->calls[i] = CODE + fake->functions[i] * 16 + 1 + random_next(3);
	if (i && j) {
		fake->extra[i] = EXTRA - extra;
		fake->extra[j] = extra;
	}
	for (size_t k = 1; k < fake->count; k++)
		fake_place(fake, k);
}

static uint64_t function_any(void)
{
	uint64_t function;

	do
		function = 2 + random_next(FUNCTIONS - 2);
	while (test.is_plain && needs_fp(function));
	return function;
}

/* Returns to a frame and goes down again, perhaps elsewhere. */
static void fake_change(struct fake *fake, size_t keep, size_t depth)
{
	fake->count = keep < fake->count ? keep : fake->count;
	fake->calls[fake->count - 1] =
		CODE + fake->functions[fake->count - 1] * 16 + 1 + random_next(3);
	while (fake->count < depth)
		fake_call(fake, function_any());
}

/* Another function in the place of frame i: what is inside of it mostly stays where it is. */
static void fake_replace(struct fake *fake, size_t i)
{
	uint64_t function;

	do
		function = function_any();
	while (frame_words(function) != frame_words(fake->functions[i]));
	fake->functions[i] = function;
	fake->extra[i] = 0;
	fake->other[i] = saves_fp(function) && !needs_fp(function) ? random_next(1 << 20) : 0;
	fake->calls[i] = CODE + function * 16 + 1 + random_next(3);
	for (size_t k = i; k < fake->count; k++)
		fake_place(fake, k);
}

/* What the event's node must stand for. */
static void event_check(const struct fake *fake)
{
	const size_t last = fake->count - 1;
	const struct rec_frame frame = {
		.pc = fake->calls[last],
		.sp = (uint64_t)&fake->words[fake->at[last]],
		.bp = fake->fp[last],
	};
	uint32_t node;

	fake->words[fake->at[last] - 1] = frame.pc; /* of the hook itself */
	node = rec_stack_take(&test.lane, &frame);
	rec_chunk_next(&test.lane);
	for (size_t i = fake->count; i-- > 0;) {
		assert_in_range(node, TAPE_NODE_FIRST, test.lane.next_node - 1);
		assert_int_equal(test.nodes[node].pc_low, (uint32_t)fake->calls[i]);
		node = test.nodes[node].parent;
	}
	assert_int_equal(node, TAPE_NODE_ROOT);
}

/* How much of a stack was new: not known where the recorder checks itself. */
static uint32_t fresh_frames(void)
{
	assert_false(rec.options.selfcheck);
	return test.lane.memo.fresh;
}

static int setup(void **state)
{
	void *memory = rec_map(unwind_memo_bytes(REC_MEMO_ENTRIES));

	(void)state;
	memset(&test, 0, sizeof(test));
	test.nodes = calloc(NODES_MAX, sizeof(*test.nodes));
	test.chunk = calloc(1, CHUNK_BYTES);
	if (!test.nodes || !test.chunk || !memory || !rec_tables_init(&test.lane))
		return -1;
	unwind_memo_init(&test.lane.memo, memory, REC_MEMO_ENTRIES);
	test.lane.chunk = (struct tape_chunk *)test.chunk;
	test.lane.cursor = test.chunk + sizeof(struct tape_chunk);
	test.lane.nodes = test.chunk + CHUNK_BYTES;
	test.lane.next_node = test.lane.chunk->first_node = TAPE_NODE_FIRST;
	rec.chunk_bytes = CHUNK_BYTES;
	rec.live = &test.live;
	rec.options.selfcheck = false;
	return 0;
}

static int teardown(void **state)
{
	const struct unwind_memo *memo = &test.lane.memo;

	(void)state;
	rec_unmap(unwind_memo_memory(memo), unwind_memo_bytes(memo->now.capacity));
	rec_tables_deinit(&test.lane);
	free(test.nodes);
	free(test.chunk);
	return test.live.lost[TAPE_SELFCHECK_DIFFERENCES] == 0 ? 0 : -1;
}

static void a_deep_stack_is_not_walked_again_after_a_shallow_event(void **state)
{
	static struct fake fake, deep;
	static uint64_t words[WORDS];

	(void)state;
	fake_begin(&fake, test.stacks[0]);
	fake_change(&fake, 1, 4);
	fake_change(&fake, 4, 150);
	deep = fake;
	memcpy(words, fake.words, sizeof(words));
	for (int i = 0; i < 3; i++) {
		fake = deep; /* its words as they were */
		memcpy(fake.words, words, sizeof(words));
		event_check(&fake);
		assert_true(i == 0 || fresh_frames() == 0);
		fake_change(&fake, 4, 6);
		event_check(&fake);
		assert_true(fresh_frames() <= 3);
	}
}

static void stacks_in_turn_are_kept_side_by_side(void **state)
{
	static struct fake fakes[4];
	uint32_t fresh = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		fake_begin(&fakes[i], test.stacks[i]);
		fake_change(&fakes[i], 1, 40);
	}
	for (size_t round = 0; round < 10; round++)
		for (size_t i = 0; i < 4; i++) {
			event_check(&fakes[i]);
			fresh += round ? fresh_frames() : 0;
		}
	assert_in_range(fresh, 0, 36); /* two frames may have one place in the table of joins */
}

/* One change of one kind, and an event. */
static void drift(struct fake *fakes, size_t stacks, uint32_t kind)
{
	struct fake *fake = &fakes[random_next(stacks)];
	const size_t deep = 20 + random_next(60);

	switch (kind) {
	case 0: /* the innermost frames only */
		fake_change(fake, fake->count - random_next(u64_min(fake->count, 4)),
			    fake->count + random_next(3));
		break;
	case 1: /* from anywhere on */
		fake_change(fake, 1 + random_next(fake->count), deep);
		break;
	case 2: /* shallow */
		fake_change(fake, 3, 3 + random_next(3));
		break;
	case 3: /* deeper than there was room for */
		fake_change(fake, fake->count, random_next(50) ? deep : 700);
		break;
	default:
		fake_disturb(fake);
		break;
	}
	if (fake->count == 0 || fake->at[fake->count - 1] < 64)
		fake_change(fake, 1, 5);
	event_check(fake);
}

static void any_sequence_of_stacks_is_what_plain_walks_find(void **state)
{
	static struct fake fakes[STACKS];

	(void)state;
	rec.options.selfcheck = true;
	for (size_t i = 0; i < STACKS; i++)
		fake_begin(&fakes[i], test.stacks[i]);
	for (uint32_t i = 0; i < 100000; i++)
		drift(fakes, i < 60000 ? 1 + i / 10000 : STACKS, (uint32_t)random_next(7));
	assert_true(test.live.lost[TAPE_SELFCHECKS] > 90000);
	assert_int_equal(test.live.lost[TAPE_SELFCHECK_DIFFERENCES], 0);
}

static void frames_that_stay_may_hang_on_others(void **state)
{
	static struct fake fake;

	(void)state;
	for (uint32_t i = 0; i < 40000; i++) {
		if (i % 10000 == 0) {
			test.is_plain = i / 10000 % 2;
			fake_begin(&fake, test.stacks[0]);
		}
		if (random_next(4) == 0) /* and the inner frames change before anybody looks */
			fake_disturb(&fake);
		if (i % 50 == 0)
			fake_change(&fake, 1 + random_next(fake.count), 25 + random_next(15));
		else if (random_next(3) == 0)
			fake_replace(&fake, fake.count - 1 - random_next(12));
		else
			fake_change(&fake, fake.count - random_next(4),
				    fake.count + (fake.count < 30) - random_next(2));
		if (fake.count < 15)
			fake_change(&fake, fake.count, 15);
		event_check(&fake);
	}
}

/* Deeper by less than there is room for, and together by more. */
static void a_stack_that_outgrows_its_room_is_right(void **state)
{
	static struct fake fake;

	(void)state;
	rec.options.selfcheck = true;
	fake_begin(&fake, test.stacks[0]);
	for (size_t depth = 5; depth < 1000; depth += 30) {
		fake_change(&fake, fake.count, depth);
		event_check(&fake);
		fake_change(&fake, fake.count - 2, depth + 1);
		event_check(&fake);
	}
	for (size_t depth = 1000; depth > 20; depth -= 45) {
		fake_change(&fake, depth, depth + 3);
		event_check(&fake);
	}
}

static void what_is_left_in_vain_is_left_less(void **state)
{
	static struct fake fake;
	uint32_t here = 0, changes = 0;

	(void)state;
	fake_begin(&fake, test.stacks[0]);
	fake_change(&fake, 1, 4);
	for (int i = 0; i < 3000; i++) {
		fake_change(&fake, 4, 16);
		event_check(&fake);
		fake_change(&fake, 4, 6);
		event_check(&fake);
		changes += i >= 2000 && test.lane.memo.here != here;
		here = test.lane.memo.here;
	}
	assert_in_range(changes, 1, 200); /* of 1,000, but never none: programs change */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_deep_stack_is_not_walked_again_after_a_shallow_event, setup, teardown),
		cmocka_unit_test_setup_teardown(stacks_in_turn_are_kept_side_by_side, setup,
						teardown),
		cmocka_unit_test_setup_teardown(any_sequence_of_stacks_is_what_plain_walks_find,
						setup, teardown),
		cmocka_unit_test_setup_teardown(frames_that_stay_may_hang_on_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_stack_that_outgrows_its_room_is_right, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_left_in_vain_is_left_less, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
