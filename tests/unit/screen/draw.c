/* The screen of memtape top as a function of what is known, and what its keys do; without a terminal. */
#include "../test.h"

#include "screen/screen.h"

#include <locale.h>
#include <string.h>

#include "base/str.h"

static const struct timeline_step steps[] = {
	{ .live_bytes_end = 100, .allocated_count = 3, .rss_bytes = 4096 },
	{ .live_bytes_end = 200, .allocated_count = 1, .rss_bytes = 8192 },
};

static const struct frame frames[] = {
	{ .function = "grow", .file = "/src/a.c", .line = 7, .module = "/bin/prog" },
	{ .function = "main", .file = "/src/a.c", .line = 20, .module = "/bin/prog" },
};

static const struct now_site sites[] = {
	{ .place = { .function = "grow",
		     .file = "/src/a.c",
		     .line = 7,
		     .module = "/bin/prog",
		     .hash = 1 },
	  .rates = { .live_bytes = 3 << 20,
		     .live_count = 1234,
		     .growth_rate = 2048,
		     .allocated_rate = 97.4,
		     .allocated_bytes_rate = 4096,
		     .allocated_count = 5 },
	  .stacks = 1,
	  .callers = { .items = frames, .count = 2 } },
	{ .place = { .function = "std::vector<int, std::allocator<int> >::_M_realloc_insert<int "
				 "const&>(__gnu_cxx::__normal_iterator<int*, std::vector<int> >, "
				 "int const&)",
		     .file = "/usr/include/c++/12/bits/vector.tcc",
		     .line = 440,
		     .hash = 2 },
	  .rates = { .live_bytes = 1 << 10,
		     .live_count = 2,
		     .growth_rate = -512,
		     .allocated_rate = 0.25 } },
	{ .place = { .function = "evil\033[31m\n", .hash = 3 } },
};

static const struct now_answer now = {
	.program = "prog",
	.pid = 4711,
	.duration_ns = UINT64_C(80000000000),
	.rss_bytes = 8192,
	.total = { .live_bytes = 3 << 20,
		   .growth_rate = 1536,
		   .allocated_rate = 97.65,
		   .allocated_bytes_rate = 4096 },
	.peak_bytes = 4 << 20,
	.timeline = { .items = steps, .count = 2 },
	.sites = { .items = sites, .count = 3 },
};

static const struct finding_answer finding[] = {
	{ .title = "Live bytes grow",
	  .place = { .function = "grow" },
	  .bytes = 5 << 20,
	  .evidence = "E.",
	  .advice = "A.",
	  .command = "groups" },
};

static const struct findings_answer findings = { .findings = { .items = finding, .count = 1 },
						 .total = 3 };

static const struct process_row processes[] = {
	{ .pid = 10,
	  .name = "big",
	  .command = "/bin/big --x",
	  .user = "root",
	  .rss_bytes = 9 << 20,
	  .obstacle = "static",
	  .refusal = "it is linked statically" },
	{ .pid = 11, .name = "mid", .command = "", .user = "ann", .rss_bytes = 5 << 20 },
	{ .pid = 12,
	  .name = "rec",
	  .command = "/bin/rec",
	  .user = "ann",
	  .rss_bytes = 1 << 20,
	  .tape = "/tmp/rec.mtape" },
};

static const struct process_list list = { .processes = { .items = processes, .count = 3 } };

static struct screen program(void)
{
	return (struct screen) {
		.data = { .is_utf8 = true,
			  .now = &now,
			  .findings = &findings,
			  .tape = "/tmp/a b.mtape",
			  .pid = 4711,
			  .state = "recording",
			  .duration_ns = now.duration_ns,
			  .rss_bytes = 8192 },
		.page = PAGE_SITES,
		.window = SCREEN_WINDOW_USUAL,
		.rows = 1,
	};
}

static struct screen listing(void)
{
	return (struct screen) { .data = { .is_utf8 = true, .list = &list },
				 .page = PAGE_LIST,
				 .has_list = true,
				 .rows = 1 };
}

/* All lines, without blanks at their ends. */
static const char *drawn(struct screen *screen, unsigned width, unsigned height, struct str *out)
{
	CLEAN(cells_deinit) struct cells cells = { 0 };

	str_clear(out);
	assert_true(cells_reset(&cells, width, height));
	screen_draw(screen, &cells);
	for (unsigned y = 0; y < height; y++) {
		for (unsigned x = 0; x < width; x++)
			str_add(out, cells_at(&cells, x, y)->text);
		while (out->len > 0 && out->ptr[out->len - 1] == ' ')
			out->ptr[--out->len] = '\0';
		str_add_char(out, '\n');
	}
	assert_false(out->failed);
	return str_text(out);
}

static void a_program_fits_80_columns(void **state)
{
	struct screen screen = program();
	CLEAN(str_deinit) struct str out = { 0 };

	(void)state;
	assert_string_equal(
		drawn(&screen, 80, 10, &out),
		" prog  pid 4711  recorded 80.0 s                                      recording\n"
		" Heap       3.0 MiB  +1.5 KiB/s          ▄█\n"
		" RSS        8.0 KiB  heap peak 4.0 MiB   ▄█\n"
		" Allocs        98/s  4.0 KiB/s           █▃\n"
		" ! Live bytes grow: grow  5.0 MiB, and 2 more: f\n"
		"      LIVE    BLOCKS    GROWTH/s  ALLOCS/s    BYTES/s  FUNCTION\n"
		"   3.0 MiB     1,234    +2.0 KiB        97    4.0 KiB  grow  a.c:7\n"
		"   1.0 KiB         2      -512 B       0.3        0 B  …::_M_realloc_insert<…>()\n"
		"       0 B         0         0 B         0        0 B  evil?[31m?\n"
		"?Help /Filter sSort wWindow fFindings pPause EnterStack qQuit        window "
		"60s\n");
	assert_int_equal(screen.rows, 3);
}

static void no_size_is_too_small_or_too_large(void **state)
{
	static const enum screen_page pages[] = { PAGE_LIST, PAGE_SITES, PAGE_STACK, PAGE_FINDINGS,
						  PAGE_HELP };
	CLEAN(str_deinit) struct str out = { 0 };

	(void)state;
	for (unsigned width = 0; width < 130; width += width < 12 ? 1 : 13)
		for (unsigned height = 0; height < 40; height += height < 10 ? 1 : 7)
			for (size_t page = 0; page < array_size(pages); page++)
				for (int filtered = 0; filtered < 2; filtered++) {
					struct screen screen = program();

					screen.data.list = &list;
					screen.page = pages[page];
					screen.site = 1;
					screen.selected = screen.scroll = 1000;
					strcpy(screen.filter, filtered ? "size > 1" : "");
					drawn(&screen, width, height, &out);
					assert_in_range(screen.rows, 1, 40);
				}
}

static void what_is_not_known_is_said(void **state)
{
	struct screen screen = program();
	CLEAN(str_deinit) struct str out = { 0 };
	struct now_answer nothing = { .program = "", .rss_bytes = SHAPE_NONE };

	(void)state;
	screen.data.findings = NULL;
	screen.data.rss_bytes = SHAPE_NONE;
	screen.data.duration_ns = UINT64_C(93000000000);
	screen.is_paused = true;
	assert_non_null(
		strstr(drawn(&screen, 80, 10, &out), "PAUSED  figures 13 s old  recording\n"));
	assert_non_null(strstr(str_text(&out), " RSS      not known "));
	assert_non_null(strstr(str_text(&out), " Looking for findings ...\n"));
	screen.data.has_ended = true;
	assert_null(strstr(drawn(&screen, 80, 10, &out), "figures"));
	screen.data.trouble = "it is broken";
	assert_non_null(strstr(drawn(&screen, 80, 10, &out), "\n it is broken\n"));
	screen.data.now = &nothing;
	assert_non_null(strstr(drawn(&screen, 80, 10, &out), "\n Nothing is alive.\n"));
	strcpy(screen.filter, "size > 1");
	assert_non_null(
		strstr(drawn(&screen, 80, 10, &out), "\n No allocation matches the filter.\n"));
	screen.data.now = NULL;
	screen.data.trouble = NULL;
	assert_non_null(strstr(drawn(&screen, 80, 10, &out), "\n Reading the tape ...\n"));
}

static void recorded_processes_come_first(void **state)
{
	struct screen screen = listing();
	CLEAN(str_deinit) struct str out = { 0 };

	(void)state;
	assert_string_equal(drawn(&screen, 80, 6, &out),
			    " memtape top  3 processes\n"
			    "     PID  USER            RSS  RUNS FOR  STATE        COMMAND\n"
			    "      12  ann         1.0 MiB      0 ns  recorded     rec\n"
			    "      10  root        9.0 MiB      0 ns  (static)     big --x\n"
			    "      11  ann         5.0 MiB      0 ns               mid\n"
			    "?Help /Filter EnterOpen aAttach pPause qQuit\n");
	strcpy(screen.list_filter, "ANN");
	assert_int_equal(screen_process_count(&screen), 2);
	assert_int_equal(screen_process(&screen, 1)->pid, 11);
	assert_null(screen_process(&screen, 2));
	strcpy(screen.list_filter, "10");
	assert_int_equal(screen_process(&screen, 0)->pid, 10);
}

/* Presses all of them; returns the last one's wish. */
static enum screen_wish press(struct screen *screen, const char *keys)
{
	enum screen_wish wish = WISH_NOTHING;

	for (; *keys; keys++)
		wish = screen_press(screen, (uint32_t)(unsigned char)*keys);
	return wish;
}

static void keys_choose_order_window_and_filter(void **state)
{
	struct screen screen = program();

	(void)state;
	assert_int_equal(press(&screen, "s"), WISH_ASK);
	assert_int_equal(screen.order, NOW_BY_BLOCKS); /* as the columns stand */
	assert_int_equal(press(&screen, "ssss"), WISH_ASK);
	assert_int_equal(screen.order, NOW_BY_LIVE);
	assert_int_equal(press(&screen, "3"), WISH_ASK);
	assert_int_equal(screen.order, NOW_BY_CHURN);
	assert_int_equal(press(&screen, "w"), WISH_ASK);
	assert_string_equal(screen_windows[screen.window], "10m");
	press(&screen, "wwww");
	assert_string_equal(screen_windows[screen.window], "60s");
	assert_int_equal(press(&screen, "r"), WISH_REREAD);
	assert_int_equal(press(&screen, "/size > 1"), WISH_NOTHING); /* is typed, q as well */
	assert_string_equal(screen.filter, "");
	assert_int_equal(press(&screen, "\n"), WISH_ASK);
	assert_string_equal(screen.filter, "size > 1");
	assert_int_equal(press(&screen, "/\n"), WISH_NOTHING); /* nothing has changed */
	assert_int_equal(press(&screen, "/ and xq\x7f\x08\027\x1b"), WISH_NOTHING);
	assert_string_equal(screen.filter, "size > 1");
	assert_int_equal(press(&screen, "/\025\n"), WISH_ASK);
	assert_string_equal(screen.filter, "");
	assert_int_equal(press(&screen, "p"), WISH_NOTHING);
	assert_true(screen.is_paused);
	assert_int_equal(press(&screen, "q"), WISH_QUIT);
}

static void what_is_typed_has_an_end_and_is_utf8(void **state)
{
	struct screen screen = program();

	(void)state;
	press(&screen, "/");
	for (int i = 0; i < 1000; i++)
		screen_press(&screen, 0x4e2d);
	assert_int_equal(strlen(screen.text), SCREEN_TEXT_BYTES - SCREEN_TEXT_BYTES % 3 -
						      (SCREEN_TEXT_BYTES % 3 ? 0 : 3));
	screen_press(&screen, SCREEN_BACKSPACE);
	assert_int_equal(strlen(screen.text) % 3, 0);
	screen_press(&screen, SCREEN_UP); /* is no character */
	assert_int_equal(strlen(screen.text) % 3, 0);
}

static void pages_lead_back(void **state)
{
	struct screen screen = program();
	CLEAN(str_deinit) struct str out = { 0 };

	(void)state;
	screen_press(&screen, SCREEN_UP);
	screen_press(&screen, SCREEN_END);
	assert_int_equal(screen.selected, 2);
	screen_press(&screen, SCREEN_DOWN);
	screen_press(&screen, SCREEN_HOME);
	assert_int_equal(screen.selected, 0);
	press(&screen, "\n");
	assert_int_equal(screen.page, PAGE_STACK);
	assert_non_null(strstr(drawn(&screen, 80, 24, &out),
			       "\n  0  grow\n     /src/a.c:7  prog\n  1  main\n"));
	press(&screen, "?");
	assert_int_equal(screen.page, PAGE_HELP);
	press(&screen, "\x1b");
	assert_int_equal(screen.page, PAGE_STACK);
	press(&screen, "\x1b");
	press(&screen, "f");
	assert_non_null(
		strstr(drawn(&screen, 80, 24, &out), "memtape report '/tmp/a b.mtape' groups\n"));
	assert_int_equal(press(&screen, "\x1b"), WISH_NOTHING);
	assert_int_equal(screen.page, PAGE_SITES);
	assert_int_equal(press(&screen, "\x1b"), WISH_NOTHING); /* there is no list behind it */
	assert_int_equal(screen.page, PAGE_SITES);
}

static void enter_goes_into_what_is_recorded_and_asks_otherwise(void **state)
{
	struct screen screen = listing();
	CLEAN(str_deinit) struct str out = { 0 };

	(void)state;
	screen.rows = 5;
	press(&screen, "j\n");
	assert_non_null(strstr(drawn(&screen, 80, 6, &out), "\n it is linked statically\n"));
	press(&screen, "xj\n"); /* the first one dismisses that */
	assert_int_equal(screen.prompt, PROMPT_ATTACH);
	assert_non_null(strstr(drawn(&screen, 80, 6, &out),
			       "11 is not recorded: record it until memtape top ends? (y/n)\n"));
	assert_int_equal(press(&screen, "q"), WISH_NOTHING); /* is no yes */
	assert_int_equal(press(&screen, "a"), WISH_NOTHING);
	assert_int_equal(press(&screen, "y"), WISH_ATTACH);
	assert_int_equal(screen.chosen_pid, 11);
	assert_int_equal(press(&screen, "kk\n"), WISH_OPEN);
	assert_int_equal(screen.chosen_pid, 12);
	assert_int_equal(screen.page, PAGE_SITES);
	assert_int_equal(press(&screen, "\x1b"), WISH_LIST);
	assert_int_equal(screen.page, PAGE_LIST);
	screen.data.list = NULL;
	assert_int_equal(press(&screen, "\n"), WISH_NOTHING);
}

static int begin(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_fits_80_columns),
		cmocka_unit_test(no_size_is_too_small_or_too_large),
		cmocka_unit_test(what_is_not_known_is_said),
		cmocka_unit_test(recorded_processes_come_first),
		cmocka_unit_test(keys_choose_order_window_and_filter),
		cmocka_unit_test(what_is_typed_has_an_end_and_is_utf8),
		cmocka_unit_test(pages_lead_back),
		cmocka_unit_test(enter_goes_into_what_is_recorded_and_asks_otherwise),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
