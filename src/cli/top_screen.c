#include "cli/top_screen.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "cli/process_list.h"
#include "cli/serve_attach.h"
#include "screen/screen.h"
#include "screen/terminal.h"

enum { LIST_PART = 100, TAPE_PATIENCE_MS = 5000, TAPE_PAUSE_MS = 20, TEXT_BYTES = 512 };
static const uint64_t LIST_AGE_NS = UINT64_C(10000000000);

struct show {
	const struct top_screen_settings *settings;
	struct screen screen;
	struct terminal *terminal;
	struct cells cells;
	struct top_tape *tape;
	struct top_look *look;
	struct top_asked asked; /* last */
	struct arena list_arena;
	struct process_list list;
	bool has_list;
	uint64_t list_due_ns;
	struct serve_attach attach;
	struct str attached; /* what is said of them in the end */
	char trouble[TEXT_BYTES];
	int signal_fd;
	int signal; /* that ends it; 0: none */
	bool is_over;
};

/* --- drawing ---------------------------------------------------------------------------------- */

static void data_fill(struct show *show)
{
	const struct top_look *look = show->look;
	struct screen_data *data = &show->screen.data;

	*data = (struct screen_data) {
		.is_utf8 = terminal_is_utf8(show->terminal),
		.list = show->has_list ? &show->list : NULL,
		.trouble = show->trouble[0] ? show->trouble : NULL,
	};
	if (!show->tape)
		return;
	data->pid = top_tape_pid(show->tape);
	data->tape = top_tape_path(show->tape);
	if (!look)
		return;
	data->now = look->now;
	data->findings = look->findings;
	data->state = look->state;
	data->has_ended = look->has_ended;
	data->duration_ns = look->duration_ns;
	data->rss_bytes = look->rss_bytes;
	if (!data->trouble && look->trouble[0])
		data->trouble = look->trouble;
}

static struct err *draw(struct show *show)
{
	unsigned width, height;

	terminal_size(show->terminal, &width, &height);
	if (!cells_reset(&show->cells, width, height))
		return err_nomem();
	data_fill(show);
	screen_draw(&show->screen, &show->cells);
	terminal_show(show->terminal, &show->cells);
	return NULL;
}

/* --- the tape --------------------------------------------------------------------------------- */

static struct top_asked asked_of(const struct show *show)
{
	struct top_asked asked = show->settings->top.asked;
	unsigned width, height;

	terminal_size(show->terminal, &width, &height);
	asked.order = show->screen.order;
	asked.last = screen_windows[show->screen.window];
	asked.points = screen_points(width);
	str_format(asked.filter, sizeof(asked.filter), "%s", show->screen.filter);
	return asked;
}

static void ask(struct show *show, bool rereads)
{
	if (!show->tape)
		return;
	show->asked = asked_of(show);
	top_tape_ask(show->tape, &show->asked, rereads);
}

static void tape_leave(struct show *show)
{
	top_look_destroy(steal(show->look));
	top_tape_close(steal(show->tape));
}

static struct err *tape_enter(struct show *show, const char *path)
{
	struct top_settings settings = show->settings->top;

	assert(!show->tape);
	show->asked = settings.asked = asked_of(show);
	return top_tape_open(path, &settings, &show->tape);
}

/* While it is paused, what is known stays. */
static void look_take(struct show *show)
{
	struct top_look *look = top_tape_take(show->tape);

	if (!look)
		return;
	top_look_destroy(show->look);
	show->look = look;
}

/* --- the list --------------------------------------------------------------------------------- */

static struct err *list_find(struct show *show)
{
	const uint64_t begin_ns = monotonic_ns();
	struct arena arena = { 0 };
	struct process_list list = { 0 };
	struct err *err = process_list_find(&arena, &list);
	uint64_t end_ns;

	if (err) {
		arena_deinit(&arena);
		return err;
	}
	arena_deinit(&show->list_arena);
	show->list_arena = arena;
	show->list = list;
	show->has_list = true;
	end_ns = monotonic_ns();
	show->list_due_ns = end_ns + u64_max(show->settings->top.interval_ns,
					     u64_min(LIST_PART * (end_ns - begin_ns), LIST_AGE_NS));
	return NULL;
}

static bool list_is_shown(const struct show *show)
{
	return show->screen.page == PAGE_LIST;
}

static const struct process_row *chosen(const struct show *show)
{
	const struct process_row *rows = show->list.processes.items;

	for (size_t i = 0; i < show->list.processes.count; i++)
		if (rows[i].pid == show->screen.chosen_pid)
			return &rows[i];
	return NULL;
}

/* --- wishes ----------------------------------------------------------------------------------- */

/* What went wrong is shown until the next key. */
static void trouble_take(struct show *show, struct err *err)
{
	if (!err)
		return;
	str_format(show->trouble, sizeof(show->trouble), "%s", err_message(err));
	err_destroy(err);
	show->screen.page = PAGE_LIST;
	show->screen.selected = show->screen.listed;
}

static void open_chosen(struct show *show)
{
	const struct process_row *row = chosen(show);

	trouble_take(show, row && row->tape ? tape_enter(show, row->tape)
					    : err_new(ERR_NOT_FOUND, "it has ended"));
}

/* It may appear, and have its header, a moment after recording has begun. */
static struct err *tape_await(struct show *show, const char *path)
{
	const struct timespec pause = { .tv_nsec = TAPE_PAUSE_MS * 1000000L };
	struct err *err = tape_enter(show, path);

	for (int ms = 0; err && ms < TAPE_PATIENCE_MS; ms += TAPE_PAUSE_MS) {
		nanosleep(&pause, NULL);
		err_destroy(err);
		err = tape_enter(show, path);
	}
	return err;
}

static struct err *attach(struct show *show)
{
	const struct processes_source *source = &show->attach.source;
	struct processes_begun begun = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct err *err;

	str_format(show->trouble, sizeof(show->trouble), "attaching to %llu ...",
		   (unsigned long long)show->screen.chosen_pid);
	err = draw(show);
	show->trouble[0] = '\0';
	if (!err)
		err = source->attach(source->context, show->screen.chosen_pid, &arena, &begun);
	if (err)
		return err;
	str_printf(&show->attached, "memtape: let go of process %llu; its tape is %s\n",
		   (unsigned long long)show->screen.chosen_pid, begun.path);
	show->screen.listed = show->screen.selected;
	show->screen.selected = 0;
	show->screen.page = PAGE_SITES;
	return tape_await(show, begun.path);
}

static void fulfil(struct show *show, enum screen_wish wish)
{
	switch (wish) {
	case WISH_QUIT:
		show->is_over = true;
		return;
	case WISH_ASK:
		ask(show, false);
		return;
	case WISH_REREAD:
		ask(show, true);
		return;
	case WISH_OPEN:
		open_chosen(show);
		return;
	case WISH_ATTACH:
		trouble_take(show, attach(show));
		return;
	case WISH_LIST:
		tape_leave(show);
		show->list_due_ns = 0;
		return;
	case WISH_NOTHING:
		return;
	}
}

/* --- what happens ----------------------------------------------------------------------------- */

static void keys_take(struct show *show)
{
	uint32_t key;

	while (!show->is_over && terminal_key(show->terminal, &key)) {
		show->trouble[0] = '\0';
		data_fill(show);
		fulfil(show, screen_press(&show->screen, key));
	}
}

static void signals_take(struct show *show)
{
	struct signalfd_siginfo info;

	while (read(show->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			continue;
		show->signal = (int)info.ssi_signo;
		show->is_over = true;
	}
}

/* Milliseconds; -1: until something happens. */
static int patience_ms(const struct show *show)
{
	const uint64_t now_ns = monotonic_ns();

	if (!list_is_shown(show) || show->screen.is_paused)
		return -1;
	return show->list_due_ns > now_ns ? (int)((show->list_due_ns - now_ns) / 1000000 + 1) : 0;
}

static void wait(struct show *show)
{
	const bool takes_looks = show->tape && !show->screen.is_paused;
	struct pollfd at[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = show->signal_fd, .events = POLLIN },
		{ .fd = takes_looks ? top_tape_fd(show->tape) : -1, .events = POLLIN },
	};

	if (poll(at, array_size(at), patience_ms(show)) < 0)
		return; /* continued after Ctrl-Z */
	if (at[1].revents)
		signals_take(show);
	if (at[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		show->is_over = true; /* the terminal is gone */
	else if (at[0].revents)
		keys_take(show);
	if (takes_looks && show->tape && at[2].revents)
		look_take(show);
}

/* Curves have a value a column. */
static void resize(struct show *show)
{
	if (show->tape && asked_of(show).points != show->asked.points)
		ask(show, false);
}

static struct err *loop(struct show *show)
{
	struct err *err = NULL;

	while (!show->is_over && !err) {
		if (list_is_shown(show) && !show->screen.is_paused &&
		    monotonic_ns() >= show->list_due_ns)
			err = list_find(show);
		resize(show);
		if (!err)
			err = draw(show);
		if (!err)
			wait(show);
	}
	return err;
}

/* --- */

static struct err *begin(struct show *show)
{
	const struct top_screen_settings *settings = show->settings;
	struct err *err = terminal_open(settings->wants_colour, &show->terminal);

	show->screen = (struct screen) {
		.page = settings->tape_path ? PAGE_SITES : PAGE_LIST,
		.has_list = !settings->tape_path,
		.order = settings->top.asked.order,
		.window = settings->window,
		.rows = 1,
	};
	str_format(show->screen.filter, sizeof(show->screen.filter), "%s",
		   settings->top.asked.filter);
	return err || !settings->tape_path ? err : tape_enter(show, settings->tape_path);
}

static struct err *run(const struct top_screen_settings *settings, int signal_fd, int *signal_ret)
{
	struct show show = { .settings = settings, .signal_fd = signal_fd };
	struct err *err;

	serve_attach_init(&show.attach, ".");
	err = begin(&show);
	if (!err)
		err = loop(&show);
	terminal_close(show.terminal);
	tape_leave(&show);
	serve_attach_deinit(&show.attach);
	if (show.attached.len > 0)
		fputs(str_text(&show.attached), stderr);
	str_deinit(&show.attached);
	arena_deinit(&show.list_arena);
	cells_deinit(&show.cells);
	*signal_ret = show.signal;
	return err;
}

struct err *top_screen_run(const struct top_screen_settings *settings, int *signal_ret)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH };
	CLEAN(close) int signal_fd = -1;
	sigset_t set, before;
	struct err *err;

	sigemptyset(&set);
	for (size_t i = 0; i < array_size(numbers); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	err = signal_fd < 0 ? err_errno("signalfd") : run(settings, signal_fd, signal_ret);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
