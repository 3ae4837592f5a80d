/*
 * rss: why the process is as large as it is: bands that add up to its resident bytes, at the
 * beginning, where it was largest and at the end for people, at every sample for programs; and in
 * one sentence what stands between RSS and the live blocks.
 */
#include "space/rss.h"

#include "report/quality.h"
#include "space/space_waste.h"

enum { NUMBER_COLUMNS = 13, TITLE_COLUMNS = 38, SHARE_COLUMNS = 9, CHART_COLUMNS = 64, PARTS = 3 };

struct answer {
	const struct report_context *context;
	struct rss rss;
	struct space_waste waste; /* where RSS was highest */
	bool has_waste;
};

/* --- programs ------------------------------------------------------------------------------ */

static void emit_sample(struct emit *emit, const struct rss_sample *sample)
{
	emit_row(emit);
	emit_u64(emit, "ns", sample->ns, EMIT_DURATION);
	emit_u64(emit, "rss_bytes", sample->rss_bytes, EMIT_BYTES);
	for (unsigned band = 0; band < RSS_BANDS; band++)
		emit_i64(emit, rss_band_words[band], sample->bands[band]);
	emit_u64(emit, "heap_resident", sample->heap_resident, EMIT_BYTES);
	emit_u64(emit, "live_count", sample->live_count, EMIT_COUNT);
	emit_bool(emit, "measured", sample->is_measured);
	emit_end(emit);
}

static void emit_index(struct emit *emit, const char *key, const struct rss *rss, size_t index)
{
	if (rss->samples.count == 0)
		emit_null(emit, key);
	else
		emit_u64(emit, key, index, EMIT_PLAIN);
}

static void explanation(struct str *out, const struct answer *answer);

static struct err *rss_emit(const struct answer *answer, FILE *out)
{
	struct emit_column columns[RSS_BANDS + 5] = { { .key = "ns" }, { .key = "rss_bytes" } };
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const bool is_json = settings.format == EMIT_JSON;
	CLEAN(str_deinit) struct str words = { 0 };

	if (!emit)
		return err_nomem();
	for (unsigned band = 0; band < RSS_BANDS; band++)
		columns[2 + band].key = rss_band_words[band];
	columns[RSS_BANDS + 2].key = "heap_resident";
	columns[RSS_BANDS + 3].key = "live_count";
	columns[RSS_BANDS + 4].key = "measured";
	if (is_json) {
		explanation(&words, answer);
		emit_object(emit, NULL);
		emit_text(emit, "explanation", str_text(&words));
		emit_u64(emit, "snapshots", answer->rss.snapshot_count, EMIT_COUNT);
		emit_bool(emit, "pages_known", answer->rss.pages_known);
		emit_index(emit, "peak_sample", &answer->rss, answer->rss.peak);
		emit_index(emit, "most_free_sample", &answer->rss, answer->rss.most_free);
	}
	emit_table(emit, is_json ? "samples" : NULL, columns, array_size(columns));
	for (size_t i = 0; i < answer->rss.samples.count; i++)
		emit_sample(emit, &answer->rss.samples.items[i]);
	emit_end(emit);
	if (is_json) {
		quality_emit(emit, answer->context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

/* --- the sentence -------------------------------------------------------------------------- */

struct share {
	enum rss_band band;
	int64_t bytes;
};

/* What stands between live blocks and RSS, most first. */
static size_t shares_of(const struct rss_sample *sample, struct share shares[RSS_BANDS])
{
	size_t count = 0;

	for (unsigned band = RSS_SLACK; band < RSS_BANDS; band++) {
		size_t at = count;

		if (sample->bands[band] <= 0)
			continue;
		while (at > 0 && shares[at - 1].bytes < sample->bands[band]) {
			shares[at] = shares[at - 1];
			at--;
		}
		shares[at] = (struct share) { .band = band, .bytes = sample->bands[band] };
		count++;
	}
	return count;
}

static const char *share_words(enum rss_band band)
{
	static const char *const words[RSS_BANDS] = {
		[RSS_SLACK] = "blocks being larger than requested",
		[RSS_FREE] = "free memory and overhead inside the heap",
		[RSS_PROGRAM] = "anonymous memory that the program mapped itself",
		[RSS_UNSEEN] = "anonymous memory that was mapped unseen",
		[RSS_FILE] = "mapped files",
		[RSS_SHARED] = "shared memory",
		[RSS_MODULE] = "code and data of modules",
		[RSS_STACK] = "stacks",
		[RSS_MEMTAPE] = "memtape itself",
		[RSS_KERNEL] = "kernel pages",
		[RSS_REMAINDER] = "what could not be told",
	};

	return words[band] ? words[band] : rss_band_words[band];
}

static void add_iec(struct str *out, int64_t bytes)
{
	char words[STR_SHORT_BYTES];

	if (bytes < 0)
		str_add(out, "-");
	str_add(out, str_iec(words, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes));
}

/* "; in the heap 3,112 live blocks keep 2,100 pages, and 70,000 pages are wholly free". */
static void add_pins(struct str *out, const struct space_waste *waste)
{
	if (waste->free_pages + waste->partial_pages == 0)
		return;
	str_add(out, " Of the heap's pages ");
	str_add_grouped(out, waste->free_pages);
	str_add(out, " are wholly free (");
	str_add_iec(out, waste->free_pages << SPACE_PAGE_SHIFT);
	str_add(out, "), and ");
	str_add_grouped(out, waste->partial_pages);
	str_add(out, " are kept by ");
	text_counted(out, waste->partial_blocks, "live block");
	str_add(out, " that leave ");
	str_add_iec(out, waste->wasted);
	str_add(out, " of them unused.");
}

static void explanation(struct str *out, const struct answer *answer)
{
	const struct rss *rss = &answer->rss;
	const struct rss_sample *peak;
	struct share shares[RSS_BANDS];
	int64_t above;
	size_t count;

	if (rss->samples.count == 0) {
		str_add(out, "Nobody sampled resident memory on this tape.");
		return;
	}
	peak = &rss->samples.items[rss->peak];
	count = shares_of(peak, shares);
	above = (int64_t)peak->rss_bytes - peak->bands[RSS_LIVE];
	str_add(out, "At its highest RSS is ");
	add_iec(out, above < 0 ? -above : above);
	str_add(out, above < 0 ? " below" : " above");
	str_add(out, " the live blocks");
	for (size_t i = 0; i < u64_min(count, PARTS); i++) {
		str_add(out, i == 0 ? ": " : ", ");
		add_iec(out, shares[i].bytes);
		str_add(out, " is ");
		str_add(out, share_words(shares[i].band));
	}
	str_add(out, ".");
	if (peak->bands[RSS_UNTOUCHED] < 0) {
		str_add(out, " ");
		add_iec(out, -peak->bands[RSS_UNTOUCHED]);
		str_add(out, " of live blocks is not resident: never written to, or swapped out.");
	}
	if (answer->has_waste)
		add_pins(out, &answer->waste);
}

/* --- people -------------------------------------------------------------------------------- */

/* The text in lines of the terminal's width, broken at blanks. */
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

	add_iec(&words, bytes);
	text_right(text, style, str_text(&words), NUMBER_COLUMNS);
}

static void add_title(struct text *text, enum text_style style, const char *title)
{
	const size_t width = str_width(title);

	str_add(&text->out, "  ");
	text_add(text, style, title);
	str_add_repeated(&text->out, ' ', width < TITLE_COLUMNS ? TITLE_COLUMNS - width : 1);
}

static void add_band(struct text *text, const struct rss *rss, const size_t samples[PARTS],
		     enum rss_band band)
{
	const struct rss_sample *peak = &rss->samples.items[samples[1]];
	CLEAN(str_deinit) struct str share = { 0 };
	bool is_empty = band != RSS_LIVE && band != RSS_REMAINDER;

	for (size_t i = 0; i < PARTS; i++)
		is_empty &= rss->samples.items[samples[i]].bands[band] == 0;
	if (is_empty)
		return;
	add_title(text, TEXT_PLAIN, rss_band_title(band));
	for (size_t i = 0; i < PARTS; i++)
		add_number(text, i == 1 ? TEXT_PLAIN : TEXT_DIM,
			   rss->samples.items[samples[i]].bands[band]);
	if (peak->bands[band] >= 0)
		str_add_percent(&share, (uint64_t)peak->bands[band], peak->rss_bytes);
	text_right(text, TEXT_DIM, str_text(&share), SHARE_COLUMNS + 1);
	str_add_char(&text->out, '\n');
}

static void add_table(struct text *text, const struct rss *rss)
{
	const size_t samples[PARTS] = { 0, rss->peak, rss->last };
	static const char *const names[PARTS] = { "start", "peak RSS", "end" };
	char words[STR_SHORT_BYTES];

	add_title(text, TEXT_PLAIN, "");
	for (size_t i = 0; i < PARTS; i++)
		text_right(text, TEXT_DIM, names[i], NUMBER_COLUMNS);
	str_add_char(&text->out, '\n');
	add_title(text, TEXT_PLAIN, "");
	for (size_t i = 0; i < PARTS; i++)
		text_right(text, TEXT_DIM, str_duration(words, rss->samples.items[samples[i]].ns),
			   NUMBER_COLUMNS);
	str_add_char(&text->out, '\n');
	for (unsigned band = 0; band < RSS_BANDS; band++)
		add_band(text, rss, samples, band);
	add_title(text, TEXT_BOLD, "resident (RSS)");
	for (size_t i = 0; i < PARTS; i++)
		add_number(text, TEXT_BOLD, (int64_t)rss->samples.items[samples[i]].rss_bytes);
	str_add_char(&text->out, '\n');
}

/* Eight heights of a column; the highest sample of each step of time. */
static void add_line(struct text *text, const char *title, const struct rss *rss, uint64_t most,
		     uint64_t (*value)(const struct rss_sample *sample))
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const uint64_t begin_ns = rss->samples.items[0].ns;
	const uint64_t whole = rss->samples.items[rss->samples.count - 1].ns - begin_ns + 1;
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
		       (rss->samples.items[at].ns - begin_ns) / (whole / columns + 1) <= i) {
			last = value(&rss->samples.items[at++]);
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

static void add_charts(struct text *text, const struct rss *rss)
{
	uint64_t most = 0;

	for (size_t i = 0; i < rss->samples.count; i++)
		most = u64_max(most, u64_max(rss_value(&rss->samples.items[i]),
					     live_value(&rss->samples.items[i])));
	str_add_char(&text->out, '\n');
	add_line(text, "RSS", rss, most, rss_value);
	add_line(text, "live blocks", rss, most, live_value);
	add_line(text, "free in the heap", rss, most, free_value);
}

static void add_notes(struct text *text, const struct answer *answer)
{
	const struct rss *rss = &answer->rss;
	CLEAN(str_deinit) struct str words = { 0 };
	size_t measured = 0;

	for (size_t i = 0; i < rss->samples.count; i++)
		measured += rss->samples.items[i].is_measured;
	if (rss->snapshot_count == 0) {
		str_add(&words,
			"There is no picture of the address space on this tape: all but live "
			"blocks and slack is remainder.");
	} else {
		str_add_grouped(&words, measured);
		str_add(&words, " of ");
		text_counted(&words, rss->samples.count, "sample");
		str_add(&words, " were measured, mapping by mapping");
		if (measured < rss->samples.count)
			str_add(&words, "; the others are estimates between them");
		str_add(&words, rss->pages_known ? "."
						 : ". Which pages of the heap were resident is not "
						   "known of all: live is taken to be.");
	}
	if (model_process(answer->context->model)->flags & (TAPE_FLAG_FORKED | TAPE_FLAG_ATTACHED))
		str_add(&words, " Blocks from before recording began are not on this tape: in the "
				"heap they count as free.");
	str_add_char(&text->out, '\n');
	add_prose(text, str_text(&words));
}

static struct err *rss_text(const struct answer *answer, FILE *out)
{
	const struct report_context *context = answer->context;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	CLEAN(str_deinit) struct str words = { 0 };

	text_head(&text, context->model);
	explanation(&words, answer);
	str_add_char(&text.out, '\n');
	add_prose(&text, str_text(&words));
	if (answer->rss.samples.count > 0) {
		str_add_char(&text.out, '\n');
		add_table(&text, &answer->rss);
		add_charts(&text, &answer->rss);
		add_notes(&text, answer);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	CLEAN(space_destroy) struct space *space = NULL;
	struct answer answer = { .context = context };
	struct err *err = rss_explain(context->model, &answer.rss);

	if (!err && answer.rss.samples.count > 0 &&
	    answer.rss.samples.items[answer.rss.peak].is_measured) {
		err = space_create(context->model, &space);
		if (!err)
			err = space_waste_find(context->model, space,
					       answer.rss.samples.items[answer.rss.peak].ns,
					       context->arena, &answer.waste);
		answer.has_waste = !err;
	}
	if (!err)
		err = context->settings->format == EMIT_TEXT ? rss_text(&answer, out)
							     : rss_emit(&answer, out);
	space_waste_deinit(&answer.waste);
	rss_deinit(&answer.rss);
	return err;
}

const struct report report_rss = {
	.name = "rss",
	.summary = "what resident memory consists of, over time",
	.depth = MODEL_FULL,
	.instead = "--json has every sample with its time",
	.run = run,
};
