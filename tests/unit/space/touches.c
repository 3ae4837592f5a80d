#include "../test.h"

#include "base/str.h"
#include "space/space_pages.h"
#include "space/touches.h"

enum { PAGES = 400, LOOKS = 60, ROUNDS = 40, LINES_BYTES = PAGES * 16 };

static const uint64_t FIRST = UINT64_C(0x7f0000000000);
static const uint64_t NOT_WATCHED = UINT64_MAX - 1;

/* xorshift64 */
static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252U;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static uint64_t page_address(size_t page)
{
	return FIRST + page * SPACE_PAGE;
}

/* Writes a line for [from, to), and does in pages what it says. */
static void make_line(struct str *text, size_t from, size_t to, uint64_t look, uint64_t *pages)
{
	static const char kinds[] = "+=-";

	str_printf(text, "%llx %llx ", (unsigned long long)page_address(from),
		   (unsigned long long)page_address(to));
	while (from < to) {
		const size_t count = u64_min(1 + next_random() % 30, to - from);
		const char kind = kinds[next_random() % 3];

		str_printf(text, "%c%zx", kind, count);
		for (size_t i = 0; i < count; i++, from++) {
			if (kind == '+')
				pages[from] = look;
			else if (kind == '-' || pages[from] == NOT_WATCHED)
				pages[from] = TOUCHES_NEVER;
		}
	}
	str_add(text, "\n");
}

static void make_look(struct str *text, uint64_t look, uint64_t *pages)
{
	size_t at = 0;

	while (at < PAGES) {
		const size_t gap = next_random() % 4 ? 0 : next_random() % 50;
		const size_t from = u64_min(at + gap, PAGES);
		const size_t to = u64_min(from + 1 + next_random() % 100, PAGES);

		for (; at < from; at++)
			pages[at] = NOT_WATCHED;
		if (from < to)
			make_line(text, from, to, look, pages);
		at = to;
	}
}

static void check_pages(const struct touches_state *state, const uint64_t *pages)
{
	for (size_t i = 0; i < PAGES; i++) {
		const size_t at = touches_run_at(state, page_address(i));
		const struct touches_run *run = &state->runs.items[at];
		const bool is_watched = at < state->runs.count && run->begin <= page_address(i);

		assert_int_equal(is_watched, pages[i] != NOT_WATCHED);
		if (is_watched)
			assert_int_equal(run->ns, pages[i]);
	}
}

/* Random looks, against one number a page. */
static void looks_build_on_each_other(void **context)
{
	(void)context;
	for (unsigned round = 0; round < ROUNDS; round++) {
		CLEAN(touches_state_deinit) struct touches_state state = { 0 };
		uint64_t pages[PAGES];

		for (size_t i = 0; i < PAGES; i++)
			pages[i] = NOT_WATCHED;
		for (uint64_t look = 1; look <= LOOKS; look++) {
			struct touches_applying applying = { .before = &state, .ns = look };
			CLEAN(str_deinit) struct str text = { 0 };

			make_look(&text, look, pages);
			assert_true(touches_apply(&applying, str_text(&text)));
			touches_run_vec_deinit(&state.runs);
			state.runs = applying.runs;
			check_pages(&state, pages);
		}
	}
}

static void malformed_lines_are_skipped(void **context)
{
	static const char *const lines[] = {
		"",
		"\n",
		"x",
		"7f0000000000",
		"7f0000000000 7f0000001000",
		"7f0000000000 7f0000000000 +1",
		"7f0000001000 7f0000000000 +1",
		"7f0000000001 7f0000001000 +1",
		"7f0000000000 7f0000001000 ",
		"7f0000000000 7f0000001000 1,2",
		"7f0000000000 ffffffffff601000 +1",
		"7f0000000000  7f0000001000 +1",
	};

	(void)context;
	for (size_t i = 0; i < array_size(lines); i++) {
		const struct touches_state none = { 0 };
		struct touches_applying applying = { .before = &none, .ns = 1 };
		CLEAN(str_deinit) struct str text = { 0 };

		str_printf(&text, "%s\n7f0000002000 7f0000003000 +fffffffffffffffff\n", lines[i]);
		assert_true(touches_apply(&applying, str_text(&text)));
		assert_int_equal(applying.runs.count, 1);
		assert_int_equal(applying.runs.items[0].begin, UINT64_C(0x7f0000002000));
		assert_int_equal(applying.runs.items[0].end, UINT64_C(0x7f0000003000));
		touches_run_vec_deinit(&applying.runs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_build_on_each_other),
		cmocka_unit_test(malformed_lines_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
