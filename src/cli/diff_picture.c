#include "cli/diff_picture.h"

#include <assert.h>

#include "report/diff_page.h"

enum { PAGE_BYTES_MAX = 4 << 20, PAGE_FRAMES_MAX = 8192, PAGE_FRAMES_MIN = 32 };

/* "A: monday.mtape at 50% · B: tuesday.mtape" */
static void add_subtitle(struct str *subtitle, const struct diff_picture_question *question)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct diff_subject *subject = &question->found->subjects[side];

		str_add(subtitle, side == DIFF_A ? "A: " : " \u00b7 B: ");
		str_add(subtitle, names_short_path(subject->tape));
		if (subject->moment)
			str_printf(subtitle, " %s", subject->moment);
		if (subject->units > 1)
			str_printf(subtitle, " / %llu", (unsigned long long)subject->units);
	}
	if (question->filter)
		str_printf(subtitle, " \u00b7 only %s", question->filter);
}

/* frames_max 0: a standalone file. */
static struct err *draw(const struct diff_picture_question *question, size_t frames_max,
			struct str *svg)
{
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };

	diff_add_change_words(&title, question->found);
	add_subtitle(&subtitle, question);
	return flame_diff_svg(
		question->tree,
		&(struct flame_settings) {
			.title = question->title ? question->title : str_text(&title),
			.subtitle = question->subtitle ? question->subtitle : str_text(&subtitle),
			.is_part = frames_max > 0,
			.frames_max = frames_max,
			.look = question->look,
		},
		svg);
}

static struct err *text_write(const struct str *text, FILE *out)
{
	return fwrite(str_text(text), 1, text->len, out) == text->len ? NULL : err_errno("write");
}

struct err *diff_picture_write(const struct diff_picture_question *question, FILE *out)
{
	CLEAN(str_deinit) struct str svg = { 0 };
	struct err *err = draw(question, 0, &svg);

	assert(question && out);
	return err ? err : text_write(&svg, out);
}

struct err *diff_picture_write_page(const struct diff_picture_question *question, FILE *out)
{
	size_t bytes = 0;

	assert(question && out);
	for (size_t frames = PAGE_FRAMES_MAX; frames >= PAGE_FRAMES_MIN; frames /= 4) {
		CLEAN(str_deinit) struct str svg = { 0 };
		CLEAN(str_deinit) struct str page = { 0 };
		struct err *err = draw(question, frames, &svg);

		if (!err)
			err = diff_page_write(question->found,
					      &(struct diff_picture) { str_text(&svg),
								       flame_style_hash,
								       flame_script_hash },
					      &page);
		if (err)
			return err;
		if (page.len <= PAGE_BYTES_MAX)
			return text_write(&page, out);
		bytes = page.len;
	}
	return err_new(ERR_LIMIT,
		       "even the smallest page has %zu bytes, more than the limit of %d; "
		       "--no-template-args shortens names, --filter leaves some out",
		       bytes, (int)PAGE_BYTES_MAX);
}
