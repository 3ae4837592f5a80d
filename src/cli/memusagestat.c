#include "cli/memusagestat.h"

#include <stdio.h>

#include "cli/input.h"
#include "cli/plot_options.h"
#include "memusage/memusage_file.h"
#include "plot/timeline.h"

enum { WIDTH_DEFAULT = 800, HEIGHT_DEFAULT = 600, DPI = 96, DIGITS_MAX = 6 };

/* A number at the start of the text, like atoi; 0 or none: the default. */
static struct err *size_parse(const char *text, unsigned least, unsigned otherwise,
			      unsigned *size_ret)
{
	size_t len;
	unsigned long value = 0;

	*size_ret = otherwise;
	if (!text)
		return NULL;
	text += strspn(text, " \t+");
	if (*text == '-')
		return err_new(ERR_USAGE, "%s: the size of a picture must be positive", text);
	len = strspn(text, "0123456789");
	for (size_t i = 0; i < len && value <= CANVAS_SIDE_MAX; i++)
		value = value * 10 + (unsigned long)(text[i] - '0');
	if (value > CANVAS_SIDE_MAX)
		return err_new(ERR_USAGE, "%s: a picture has at most %d pixels a side", text,
			       (int)CANVAS_SIDE_MAX);
	if (value > 0)
		*size_ret = (unsigned)u64_max(value, least);
	return NULL;
}

static struct err *chart_make(const struct memusagestat_options *options, struct plot *plot)
{
	struct canvas_settings *canvas = &plot->chart.canvas;
	struct err *err =
		size_parse(options->width, CANVAS_WIDTH_MIN, WIDTH_DEFAULT, &canvas->width);

	if (!err)
		err = size_parse(options->height, CANVAS_HEIGHT_MIN, HEIGHT_DEFAULT,
				 &canvas->height);
	if (err)
		return err;
	if (!canvas_format_of(plot->options->output, &canvas->format))
		canvas->format = CANVAS_PNG;
	canvas->dpi = DPI;
	plot->chart.theme = &theme_light;
	return canvas_check(canvas);
}

/* A tape's data file, in an unnamed file that lives as long as *data_ret is open. */
static struct err *data_make(const char *tape_path, bool has_mappings, bool needs_stack,
			     FILE **data_ret, uint64_t *clock_hz_ret)
{
	const struct calls_settings settings = { .has_mappings = has_mappings };
	CLEAN(free) struct calls *calls = malloc(sizeof(*calls));
	FILE *data = tmpfile();
	struct err *err = NULL;

	if (!calls)
		err = err_nomem();
	else if (!data)
		err = err_errno("make a temporary file");
	if (!err)
		err = calls_count(tape_path, &settings, calls);
	if (!err && needs_stack && !calls->knows_stack)
		err = err_new(
			ERR_USAGE,
			"%s has no stack depths; record with `memtape memusage -d FILE.mtape`",
			tape_path);
	if (!err)
		err = memusage_file_write(tape_path, has_mappings, calls, data);
	if (!err && fflush(data) != 0)
		err = err_errno("write a temporary file");
	if (err) {
		if (data)
			fclose(data);
		return err;
	}
	*clock_hz_ret = calls->clock_hz;
	*data_ret = data;
	return NULL;
}

struct err *plot_memusage_of_tape(const struct plot *asked, bool with_mappings, bool needs_stack,
				  FILE *out)
{
	struct plot_options options = *asked->options;
	struct plot plot = *asked;
	char path[64];
	FILE *data;
	struct err *err =
		data_make(options.input, with_mappings, needs_stack, &data, &options.clock_hz);

	if (err)
		return err;
	str_format(path, sizeof(path), "/proc/self/fd/%d", fileno(data));
	options.input = path;
	plot.options = &options;
	plot.arena = (struct arena) { 0 };
	err = plot_memusage(&plot, out);
	arena_deinit(&plot.arena);
	fclose(data);
	return err;
}

static struct err *plot_input(struct plot *plot, const struct memusagestat_options *asked,
			      FILE *out)
{
	enum input_kind kind;
	struct err *err = input_kind_of(plot->options->input, &kind);

	if (err || kind != INPUT_TAPE)
		return err ? err : plot_memusage(plot, out);
	return plot_memusage_of_tape(plot, asked->has_mappings, false, out);
}

struct err *memusagestat_draw(const struct memusagestat_options *asked, const char *input)
{
	CLEAN(str_deinit) struct str name = { 0 };
	struct plot_options options = {
		.input = input,
		.output = asked->output,
		.x = asked->is_by_time ? PLOT_X_TIME : PLOT_X_NUMBER,
		.is_by_time = asked->is_by_time,
		.by = PLOT_BY_NONE,
		.rss = PLOT_RSS_DEFAULT,
		.shows_total = asked->shows_total,
		.clock_hz = asked->clock_hz,
		.stack = asked->shows_total ? TIMELINE_STACK_SAME : TIMELINE_STACK_OWN,
		.title = asked->title ? asked->title : names_short_path(input),
	};
	struct plot plot = { .options = &options };
	struct reading_output output;
	struct err *err;

	if (!asked->output) {
		str_printf(&name, "%s.png", input);
		options.output = str_text(&name);
	}
	err = name.failed ? err_nomem() : chart_make(asked, &plot);
	if (!err)
		err = reading_output_open(&output, options.output, true, input);
	if (err)
		return err;
	err = reading_output_close(&output, plot_input(&plot, asked, output.file));
	arena_deinit(&plot.arena);
	return err;
}
