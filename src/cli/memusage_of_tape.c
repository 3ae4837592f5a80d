#include "cli/memusage_of_tape.h"

#include "cli/input.h"
#include "cli/memusagestat.h"
#include "cli/reading.h"
#include "memusage/memusage_file.h"
#include "memusage/memusage_summary.h"
#include "model/import.h"

bool memusage_is_tape(char **words)
{
	CLEAN(err_destroy) struct err *err = NULL;
	enum input_kind kind = INPUT_OTHER;

	if (!words[0] || words[1])
		return false;
	err = input_kind_of(words[0], &kind);
	return !err && kind == INPUT_TAPE;
}

/* Without this warning a zero could be believed. */
static void missing_print(const struct calls *calls, const char *path)
{
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(str_deinit) struct str words = { 0 };

	model_missing_add(&words, calls->missing);
	str_add(&text, "memusage: ");
	str_add_terminal(&text, path);
	if (words.len > 0) {
		fprintf(stderr, "%s was made of another tool's file and does not know: %s\n",
			str_text(&text), str_text(&words));
	}
	if (!calls->knows_stack && calls->stack_peak == 0)
		fprintf(stderr, "%s has no stack depths: the stack peak is 0\n", str_text(&text));
}

static struct err *data_write(const struct memusage_options *options, const struct calls *calls,
			      const char *path)
{
	struct reading_output output;
	struct err *err;

	if (calls->is_counted)
		return err_new(ERR_STATE,
			       "%s has sums and no events, of which the data could be made", path);
	err = reading_output_open(&output, options->data, true, path);
	if (err)
		return err;
	return reading_output_close(
		&output, memusage_file_write(path, options->has_mappings, calls, output.file));
}

static struct err *picture_draw(const struct memusage_options *options, const char *path)
{
	CLEAN(str_deinit) struct str name = { 0 };
	struct memusagestat_options picture = {
		.title = options->title,
		.is_by_time = options->is_by_time,
		.shows_total = options->shows_total,
		.width = options->width,
		.height = options->height,
		.has_mappings = options->has_mappings,
	};
	const size_t len = strlen(options->png);

	str_add(&name, options->png);
	if (len < 4 || strcmp(options->png + len - 4, ".png") != 0)
		str_add(&name, ".png");
	if (name.failed)
		return err_nomem();
	picture.output = str_text(&name);
	return memusagestat_draw(&picture, path);
}

struct err *memusage_of_tape(const struct memusage_options *options, const char *path)
{
	const struct calls_settings settings = { .has_mappings = options->has_mappings };
	CLEAN(free) struct calls *calls = malloc(sizeof(*calls));
	CLEAN(str_deinit) struct str text = { 0 };
	const char *when = options->colour ? options->colour : "auto";
	struct err *err = calls ? calls_count(path, &settings, calls) : err_nomem();

	if (err)
		return err;
	memusage_summary_add(&text, calls, options->has_mappings,
			     strcmp(when, "auto") == 0 ? reading_wants_colour(stdout)
						       : strcmp(when, "always") == 0);
	if (text.failed)
		return err_nomem();
	fputs(str_text(&text), stdout);
	missing_print(calls, path);
	if (options->data)
		err = data_write(options, calls, path);
	if (!err && options->png)
		err = picture_draw(options, path);
	return err;
}
