/*
 * rss: the bands at the start, at the highest RSS and at the end, and RSS over time as a chart.
 */
#include "questions/address_space.h"

#include "findings/pauses.h"
#include "questions/questions.h"
#include "report/quality.h"

enum { NUMBER_COLUMNS = 13, TITLE_COLUMNS = 38, SHARE_COLUMNS = 9, CHART_COLUMNS = 64, PARTS = 3 };

static const struct rss_sample *samples_of(const struct rss_answer *rss)
{
	return rss->samples.items;
}

/* Wraps the text to the terminal's width at blanks. */
static void add_prose(struct text *text, const char *words)
{
	const size_t columns = text->width - 2;
	size_t column = 0;

	while (*words) {
		const size_t len = strcspn(words, " ");
		CLEAN(str_deinit) struct str word = { 0 };

		str_add_bytes(&word, words, len);
		if (column > 0 && column + 1 + str_width(str_text(&word)) > columns) {
			str_add_char(&text->out, '\n');
			column = 0;
		}
		str_add(&text->out, column ? " " : "  ");
		text_add(text, TEXT_PLAIN, str_text(&word));
		column += 1 + str_width(str_text(&word));
		words += len + (words[len] == ' ');
	}
	str_add_char(&text->out, '\n');
}

static void add_number(struct text *text, enum text_style style, int64_t bytes)
{
	CLEAN(str_deinit) struct str words = { 0 };

	str_add_iec_signed(&words, bytes);
	text_right(text, style, str_text(&words), NUMBER_COLUMNS);
}

static void add_title(struct text *text, enum text_style style, const char *title)
{
	const size_t width = str_width(title);

	str_add(&text->out, "  ");
	text_add(text, style, title);
	str_add_repeated(&text->out, ' ', width < TITLE_COLUMNS ? TITLE_COLUMNS - width : 1);
}

static void add_band(struct text *text, const struct rss_answer *rss, const size_t samples[PARTS],
		     enum rss_band band)
{
	const struct rss_sample *peak = &samples_of(rss)[samples[1]];
	CLEAN(str_deinit) struct str share = { 0 };
	bool is_empty = band != RSS_LIVE && band != RSS_REMAINDER;

	for (size_t i = 0; i < PARTS; i++)
		is_empty &= samples_of(rss)[samples[i]].bands[band] == 0;
	if (is_empty)
		return;
	add_title(text, TEXT_PLAIN, rss_band_title(band));
	for (size_t i = 0; i < PARTS; i++)
		add_number(text, i == 1 ? TEXT_PLAIN : TEXT_DIM,
			   samples_of(rss)[samples[i]].bands[band]);
	if (peak->bands[band] >= 0)
		str_add_percent(&share, (uint64_t)peak->bands[band], peak->rss_bytes);
	text_right(text, TEXT_DIM, str_text(&share), SHARE_COLUMNS + 1);
	str_add_char(&text->out, '\n');
}

static void add_table(struct text *text, const struct rss_answer *rss)
{
	const size_t samples[PARTS] = { 0, rss->peak_sample, rss->last_sample };
	static const char *const names[PARTS] = { "start", "peak RSS", "end" };
	char words[STR_SHORT_BYTES];

	add_title(text, TEXT_PLAIN, "");
	for (size_t i = 0; i < PARTS; i++)
		text_right(text, TEXT_DIM, names[i], NUMBER_COLUMNS);
	str_add_char(&text->out, '\n');
	add_title(text, TEXT_PLAIN, "");
	for (size_t i = 0; i < PARTS; i++)
		text_right(text, TEXT_DIM, str_duration(words, samples_of(rss)[samples[i]].ns),
			   NUMBER_COLUMNS);
	str_add_char(&text->out, '\n');
	for (unsigned band = 0; band < RSS_BANDS; band++)
		add_band(text, rss, samples, band);
	add_title(text, TEXT_BOLD, "resident (RSS)");
	for (size_t i = 0; i < PARTS; i++)
		add_number(text, TEXT_BOLD, (int64_t)samples_of(rss)[samples[i]].rss_bytes);
	str_add_char(&text->out, '\n');
}

/* Eight heights of a column; the highest sample of each step of time. */
static void add_line(struct text *text, const char *title, const struct rss_answer *rss,
		     uint64_t most, uint64_t (*value)(const struct rss_sample *sample))
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const uint64_t begin_ns = samples_of(rss)[0].ns;
	const uint64_t whole = samples_of(rss)[rss->samples.count - 1].ns - begin_ns + 1;
	const size_t columns = u64_min(CHART_COLUMNS, text->width - TITLE_COLUMNS + 10);
	size_t at = 0;
	uint64_t last = 0;

	str_add(&text->out, "  ");
	text_add(text, TEXT_DIM, title);
	str_add_repeated(&text->out, ' ', 22 - str_width(title));
	for (size_t i = 0; i < columns; i++) {
		uint64_t high = 0;
		bool has_any = false;

		while (at < rss->samples.count &&
		       (samples_of(rss)[at].ns - begin_ns) / (whole / columns + 1) <= i) {
			last = value(&samples_of(rss)[at++]);
			high = u64_max(high, last);
			has_any = true;
		}
		if (!has_any)
			high = last;
		str_add(&text->out, bars[most ? div_up(high * 8, most) : 0]);
	}
	str_add_char(&text->out, '\n');
}

static uint64_t rss_value(const struct rss_sample *sample)
{
	return sample->rss_bytes;
}

static uint64_t live_value(const struct rss_sample *sample)
{
	return (uint64_t)sample->bands[RSS_LIVE];
}

static uint64_t free_value(const struct rss_sample *sample)
{
	return sample->bands[RSS_FREE] > 0 ? (uint64_t)sample->bands[RSS_FREE] : 0;
}

static void add_charts(struct text *text, const struct rss_answer *rss)
{
	uint64_t most = 0;

	for (size_t i = 0; i < rss->samples.count; i++)
		most = u64_max(most, u64_max(rss_value(&samples_of(rss)[i]),
					     live_value(&samples_of(rss)[i])));
	str_add_char(&text->out, '\n');
	add_line(text, "RSS", rss, most, rss_value);
	add_line(text, "live blocks", rss, most, live_value);
	add_line(text, "free in the heap", rss, most, free_value);
}

static void add_notes(struct text *text, const struct report_context *context,
		      const struct rss_answer *rss)
{
	CLEAN(str_deinit) struct str words = { 0 };
	size_t measured = 0;

	for (size_t i = 0; i < rss->samples.count; i++)
		measured += samples_of(rss)[i].is_measured;
	if (rss->snapshots == 0) {
		str_add(&words, "This tape has no snapshot of the address space: all but live "
				"blocks and slack is remainder.");
	} else {
		str_add_grouped(&words, measured);
		str_add(&words, " of ");
		str_add_counted(&words, rss->samples.count, "sample");
		str_add(&words, " were measured, mapping by mapping");
		if (measured < rss->samples.count)
			str_add(&words, "; the others are estimates between them");
		str_add(&words, rss->pages_known ? "."
						 : ". Which pages of the heap were resident is not "
						   "known of all: live is taken to be.");
	}
	if (pauses_hide_blocks(context->model))
		str_add(&words,
			" Blocks from before recording began, or from a pause, are not on this "
			"tape: in the heap they count as free.");
	str_add_char(&text->out, '\n');
	add_prose(text, str_text(&words));
}

static struct err *rss_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct rss_answer *rss = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	str_add_char(&text.out, '\n');
	add_prose(&text, rss->explanation);
	if (rss->samples.count > 0) {
		str_add_char(&text.out, '\n');
		add_table(&text, rss);
		add_charts(&text, rss);
		add_notes(&text, context, rss);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

const struct report report_rss = {
	.question = &question_rss,
	.text = rss_text,
};
