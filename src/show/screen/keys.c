#include "screen/screen.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"

const char *const screen_windows[] = { "10s", "60s", "10m", "1h", "all", NULL };

enum { WINDOWS = 5, ORDERS = 5, KEY_BACKSPACE_1 = 0x7f, KEY_BACKSPACE_2 = 8 };
enum { KEY_CLEAR = 0x15 /* Ctrl-U */, KEY_WORD = 0x17 /* Ctrl-W */ };

/* --- the list's lines ------------------------------------------------------------------------- */

static bool is_listed(const struct screen *screen, const struct process_row *row)
{
	const char *filter = screen->list_filter;
	char pid[24];

	return !filter[0] || strcasestr(row->name, filter) || strcasestr(row->command, filter) ||
	       strcasestr(row->user, filter) ||
	       strstr(str_format(pid, sizeof(pid), "%llu", (unsigned long long)row->pid), filter);
}

/* Those that are recorded come first. */
static const struct process_row *walk(const struct screen *screen, size_t line, size_t *count_ret)
{
	const struct shape_rows *rows = screen->data.list ? &screen->data.list->processes : NULL;
	const struct process_row *items = rows ? rows->items : NULL;
	const struct process_row *found = NULL;
	size_t count = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; rows && i < rows->count; i++) {
			if ((pass == 0) != (items[i].tape != NULL) || !is_listed(screen, &items[i]))
				continue;
			if (count++ == line)
				found = &items[i];
		}
	}
	*count_ret = count;
	return found;
}

const struct process_row *screen_process(const struct screen *screen, size_t line)
{
	size_t count;

	return walk(screen, line, &count);
}

size_t screen_process_count(const struct screen *screen)
{
	size_t count;

	walk(screen, SIZE_MAX, &count);
	return count;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_text(const struct screen *screen)
{
	return screen->page != PAGE_LIST && screen->page != PAGE_SITES;
}

static size_t line_count(const struct screen *screen)
{
	if (screen->page == PAGE_LIST)
		return screen_process_count(screen);
	return screen->data.now ? screen->data.now->sites.count : 0;
}

/* By some lines up or down; a text ends where it ends when it is drawn. */
static void move(struct screen *screen, int64_t by)
{
	const size_t count = is_text(screen) ? 10000 : line_count(screen);
	size_t *at = is_text(screen) ? &screen->scroll : &screen->selected;
	const size_t last = count > 0 ? count - 1 : 0, from = u64_min(*at, last);

	if (by < 0)
		*at = from > (uint64_t)-by ? from - (uint64_t)-by : 0;
	else
		*at = u64_min(from + (uint64_t)by, last);
}

static bool move_by_key(struct screen *screen, uint32_t key)
{
	switch (key) {
	case SCREEN_UP:
	case 'k':
		move(screen, -1);
		return true;
	case SCREEN_DOWN:
	case 'j':
		move(screen, 1);
		return true;
	case SCREEN_PAGE_UP:
		move(screen, -(int64_t)screen->rows);
		return true;
	case SCREEN_PAGE_DOWN:
		move(screen, screen->rows);
		return true;
	case SCREEN_HOME:
	case 'g':
		move(screen, -INT32_MAX);
		return true;
	case SCREEN_END:
	case 'G':
		move(screen, INT32_MAX);
		return true;
	default:
		return false;
	}
}

/* --- what is typed ---------------------------------------------------------------------------- */

static size_t utf8_of(uint32_t code, char bytes[4])
{
	if (code < 0x80) {
		bytes[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		bytes[0] = (char)(0xc0 | code >> 6);
		bytes[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		bytes[0] = (char)(0xe0 | code >> 12);
		bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	bytes[0] = (char)(0xf0 | code >> 18);
	bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
	bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
	bytes[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

static void type(char *text, uint32_t code)
{
	const size_t len = strlen(text);
	char bytes[4];
	const size_t count = utf8_of(code, bytes);

	if (len + count >= SCREEN_TEXT_BYTES)
		return;
	memcpy(text + len, bytes, count);
	text[len + count] = '\0';
}

static void erase(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && ((uint8_t)text[len - 1] & 0xc0) == 0x80)
		len--;
	text[len > 0 ? len - 1 : 0] = '\0';
}

static void erase_word(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && text[len - 1] == ' ')
		len--;
	while (len > 0 && text[len - 1] != ' ')
		len--;
	text[len] = '\0';
}

static char *filter_of(struct screen *screen)
{
	return screen->page == PAGE_LIST ? screen->list_filter : screen->filter;
}

static enum screen_wish filter_take(struct screen *screen)
{
	char *filter = filter_of(screen);
	const bool has_changed = strcmp(filter, screen->text) != 0;

	screen->prompt = PROMPT_NONE;
	strcpy(filter, screen->text);
	if (!has_changed)
		return WISH_NOTHING;
	screen->selected = 0;
	return screen->page == PAGE_LIST ? WISH_NOTHING : WISH_ASK;
}

static enum screen_wish press_in_filter(struct screen *screen, uint32_t key)
{
	if (key == SCREEN_ENTER)
		return filter_take(screen);
	if (key == SCREEN_ESCAPE)
		screen->prompt = PROMPT_NONE;
	else if (key == SCREEN_BACKSPACE || key == KEY_BACKSPACE_1 || key == KEY_BACKSPACE_2)
		erase(screen->text);
	else if (key == KEY_CLEAR)
		screen->text[0] = '\0';
	else if (key == KEY_WORD)
		erase_word(screen->text);
	else if (key >= ' ' && key < SCREEN_UP)
		type(screen->text, key);
	return WISH_NOTHING;
}

static enum screen_wish press_in_question(struct screen *screen, uint32_t key)
{
	screen->prompt = PROMPT_NONE;
	return key == 'y' || key == 'Y' ? WISH_ATTACH : WISH_NOTHING;
}

/* --- pages ------------------------------------------------------------------------------------ */

static void page_turn(struct screen *screen, enum screen_page page)
{
	screen->page = page;
	screen->scroll = 0;
}

static enum screen_wish back(struct screen *screen)
{
	switch (screen->page) {
	case PAGE_HELP:
		page_turn(screen, screen->help_of);
		return WISH_NOTHING;
	case PAGE_STACK:
	case PAGE_FINDINGS:
		page_turn(screen, PAGE_SITES);
		return WISH_NOTHING;
	case PAGE_SITES:
		if (screen->filter[0]) {
			screen->filter[0] = '\0';
			return WISH_ASK;
		}
		if (!screen->has_list)
			return WISH_NOTHING;
		page_turn(screen, PAGE_LIST);
		screen->selected = screen->listed;
		return WISH_LIST;
	case PAGE_LIST:
		screen->list_filter[0] = '\0';
		return WISH_NOTHING;
	}
	return WISH_NOTHING;
}

static void attach_suggest(struct screen *screen, const struct process_row *row)
{
	if (row->obstacle) {
		screen->prompt = PROMPT_NOTICE;
		str_format(screen->text, sizeof(screen->text), "%s",
			   row->refusal ? row->refusal : row->obstacle);
		return;
	}
	screen->prompt = PROMPT_ATTACH;
	screen->chosen_pid = row->pid;
	str_format(screen->text, sizeof(screen->text),
		   "%llu is not recorded: record it until memtape top ends? (y/n)",
		   (unsigned long long)row->pid);
}

static enum screen_wish process_choose(struct screen *screen, bool attaches)
{
	const size_t count = screen_process_count(screen);
	const struct process_row *row =
		screen_process(screen, count > 0 ? u64_min(screen->selected, count - 1) : 0);

	if (!row)
		return WISH_NOTHING;
	if (row->tape && !attaches) {
		screen->chosen_pid = row->pid;
		screen->listed = screen->selected;
		screen->selected = 0;
		page_turn(screen, PAGE_SITES);
		return WISH_OPEN;
	}
	if (!row->tape)
		attach_suggest(screen, row);
	return WISH_NOTHING;
}

static void site_choose(struct screen *screen)
{
	const struct now_answer *now = screen->data.now;
	const struct now_site *sites = now ? now->sites.items : NULL;

	if (!now || now->sites.count == 0)
		return;
	screen->site = sites[u64_min(screen->selected, now->sites.count - 1)].place.hash;
	page_turn(screen, PAGE_STACK);
}

static enum screen_wish order_choose(struct screen *screen, enum now_order order)
{
	screen->order = order;
	screen->selected = 0;
	return WISH_ASK;
}

static enum screen_wish press_in_sites(struct screen *screen, uint32_t key)
{
	/* As the columns stand, for the next one, and for digits. */
	static const enum now_order next[] = { [NOW_BY_LIVE] = NOW_BY_BLOCKS,
					       [NOW_BY_BLOCKS] = NOW_BY_GROWTH,
					       [NOW_BY_GROWTH] = NOW_BY_CHURN,
					       [NOW_BY_CHURN] = NOW_BY_ALLOCATED,
					       [NOW_BY_ALLOCATED] = NOW_BY_LIVE };
	static_assert(array_size(next) == ORDERS, "each has a next one");

	if (key == 's' || key == SCREEN_F1 + 5)
		return order_choose(screen, next[screen->order]);
	if (key >= '1' && key < '1' + ORDERS)
		return order_choose(screen, (enum now_order)(key - '1'));
	if (key == SCREEN_ENTER || key == SCREEN_RIGHT) {
		site_choose(screen);
	} else if (key == 'w') {
		screen->window = (screen->window + 1) % WINDOWS;
		return WISH_ASK;
	} else if (key == 'f' || key == SCREEN_F1 + 4) {
		page_turn(screen, PAGE_FINDINGS);
	} else if (key == 'r') {
		return WISH_REREAD;
	}
	return WISH_NOTHING;
}

static enum screen_wish press_in_list(struct screen *screen, uint32_t key)
{
	if (key == SCREEN_ENTER || key == SCREEN_RIGHT)
		return process_choose(screen, false);
	return key == 'a' ? process_choose(screen, true) : WISH_NOTHING;
}

static void help_show(struct screen *screen)
{
	if (screen->page == PAGE_HELP)
		return;
	screen->help_of = screen->page;
	page_turn(screen, PAGE_HELP);
}

/* The same on all pages. False: it is none of these keys. */
static bool press_anywhere(struct screen *screen, uint32_t key, enum screen_wish *wish_ret)
{
	*wish_ret = WISH_NOTHING;
	if (move_by_key(screen, key))
		return true;
	switch (key) {
	case 'q':
	case SCREEN_F10:
		*wish_ret = WISH_QUIT;
		return true;
	case 'p':
	case ' ':
		screen->is_paused = !screen->is_paused;
		return true;
	case '?':
	case 'h':
	case SCREEN_F1:
		help_show(screen);
		return true;
	case SCREEN_ESCAPE:
	case SCREEN_LEFT:
	case SCREEN_BACKSPACE:
	case KEY_BACKSPACE_1:
	case KEY_BACKSPACE_2:
		*wish_ret = back(screen);
		return true;
	default:
		return false;
	}
}

static void filter_begin(struct screen *screen)
{
	screen->prompt = PROMPT_FILTER;
	strcpy(screen->text, filter_of(screen));
}

enum screen_wish screen_press(struct screen *screen, uint32_t key)
{
	enum screen_wish wish;

	assert((unsigned)screen->order < ORDERS);
	if (screen->prompt == PROMPT_FILTER)
		return press_in_filter(screen, key);
	if (screen->prompt == PROMPT_ATTACH)
		return press_in_question(screen, key);
	if (screen->prompt == PROMPT_NOTICE) {
		screen->prompt = PROMPT_NONE;
		return WISH_NOTHING;
	}
	if (press_anywhere(screen, key, &wish) || is_text(screen))
		return wish;
	if (key == '/' || key == SCREEN_F1 + 3) {
		filter_begin(screen);
		return WISH_NOTHING;
	}
	return screen->page == PAGE_LIST ? press_in_list(screen, key) : press_in_sites(screen, key);
}
