#include "cli/top_once.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "answer/speak.h"
#include "base/monotonic.h"
#include "cli/process_list.h"
#include "screen/screen.h"

enum { WIDTH = 120, HEAD_LINES = 8 };

/* --- a screen without a terminal -------------------------------------------------------------- */

static void row_add(struct str *out, const struct cells *cells, unsigned y)
{
	const size_t begin = out->len;

	for (unsigned x = 0; x < cells->width; x++)
		str_add(out, cells_at(cells, x, y)->text);
	while (!out->failed && out->len > begin && out->ptr[out->len - 1] == ' ')
		out->ptr[--out->len] = '\0';
	str_add_char(out, '\n');
}

/* All lines of it but the last, which is about keys. */
static struct err *screen_print(struct screen *screen, size_t line_count)
{
	const unsigned width = reading_width(stdout) ? reading_width(stdout) : WIDTH;
	CLEAN(cells_deinit) struct cells cells = { 0 };
	CLEAN(str_deinit) struct str text = { 0 };

	setlocale(LC_CTYPE, "C.UTF-8"); /* what is printed is UTF-8 elsewhere, too */
	screen->data.is_utf8 = true;
	screen->selected = SIZE_MAX;
	if (!cells_reset(&cells, width, (unsigned)u64_min(line_count + HEAD_LINES, CELLS_SIDE_MAX)))
		return err_nomem();
	screen_draw(screen, &cells);
	for (unsigned y = 0; y + 1 < cells.height && y < line_count + HEAD_LINES - 2; y++)
		row_add(&text, &cells, y);
	if (text.failed)
		return err_nomem();
	fputs(str_text(&text), stdout);
	return NULL;
}

static struct err *print_flushed(struct err *err)
{
	if (!err && (fflush(stdout) != 0 || ferror(stdout)))
		return err_errno("write to standard output");
	return err;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct err *list_speak(const struct process_list *list)
{
	const struct emit_settings settings = { .format = EMIT_JSON, .compact = true };
	CLEAN(emit_destroy) struct emit *emit = emit_create(stdout, &settings);
	const struct speaker speaker = { .emit = emit };
	struct err *err = emit ? speak_object(&speaker, &shape_process_list, list) : err_nomem();

	return err ? err : emit_finish(emit);
}

static struct err *list_show(const struct top_once *once)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct process_list list = { 0 };
	struct screen screen = { .page = PAGE_LIST, .data.list = &list };
	struct err *err = process_list_find(&arena, &list);

	if (err)
		return err;
	return once->is_json ? list_speak(&list) : screen_print(&screen, list.processes.count);
}

/* --- a tape ----------------------------------------------------------------------------------- */

static struct err *tape_speak(const struct top_tape *tape, const struct top_look *look)
{
	const struct emit_settings settings = { .format = EMIT_JSON, .compact = true };
	CLEAN(emit_destroy) struct emit *emit = emit_create(stdout, &settings);
	struct err *err = emit ? NULL : err_nomem();

	if (err)
		return err;
	emit_object(emit, NULL);
	emit_text(emit, "tape", top_tape_path(tape));
	emit_text(emit, "state", look->state);
	err = top_look_speak(look, emit);
	emit_end(emit);
	return err ? err : emit_finish(emit);
}

static struct err *tape_print(const struct top_once *once, const struct top_tape *tape,
			      const struct top_look *look)
{
	struct screen screen = {
		.page = PAGE_SITES,
		.order = once->top.asked.order,
		.data = {
			.now = look->now,
			.findings = look->findings,
			.tape = top_tape_path(tape),
			.pid = top_tape_pid(tape),
			.state = look->state,
			.has_ended = look->has_ended,
			.duration_ns = look->duration_ns,
			.rss_bytes = look->rss_bytes,
		},
	};

	return screen_print(&screen, look->now->sites.count);
}

/* One that has all answers. */
static struct err *look_await(struct top_tape *tape, struct top_look **look_ret)
{
	for (;;) {
		struct pollfd at = { .fd = top_tape_fd(tape), .events = POLLIN };
		CLEAN(top_look_destroy) struct top_look *look = NULL;

		if (poll(&at, 1, -1) < 0 && errno != EINTR)
			return err_errno("poll");
		look = top_tape_take(tape);
		if (look && look->trouble[0])
			return err_new(ERR_STATE, "%s", look->trouble);
		if (!look || !look->now || !look->findings)
			continue;
		*look_ret = steal(look);
		return NULL;
	}
}

static struct err *tape_show(const struct top_once *once, struct top_tape *tape)
{
	CLEAN(top_look_destroy) struct top_look *look = NULL;
	struct err *err = look_await(tape, &look);

	if (err)
		return err;
	return once->is_json ? tape_speak(tape, look) : tape_print(once, tape, look);
}

/* --- */

static void wait_until(uint64_t ns)
{
	const struct timespec then = { .tv_sec = (time_t)(ns / 1000000000),
				       .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

struct err *top_once_run(const struct top_once *once)
{
	const uint64_t begin_ns = monotonic_ns();
	CLEAN(top_tape_close) struct top_tape *tape = NULL;
	struct err *err = NULL;

	if (once->tape_path)
		err = top_tape_open(once->tape_path, &once->top, &tape);
	for (uint64_t i = 0; i < once->count && !err; i++) {
		if (i > 0)
			wait_until(begin_ns + i * once->top.interval_ns);
		if (i > 0 && !once->is_json)
			putchar('\n');
		err = print_flushed(tape ? tape_show(once, tape) : list_show(once));
	}
	return err;
}
