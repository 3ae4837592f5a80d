#include "questions/leaks.h"

#include "base/number.h"
#include "base/sort.h"
#include "findings/pattern.h"
#include "model/import.h"
#include "questions/questions.h"

enum {
	TOP_DEFAULT = 100,
	SUSPECT_BLOCKS = 16 /* fewer that grow are some containers */
};

/* --- shapes ----------------------------------------------------------------------------------- */

static const struct member sum_members[] = {
	MEMBER(struct grown_sum, sites, COUNT, "functions"),
	MEMBER_AS("leaked_bytes", struct grown_sum, leaked.bytes, BYTES,
		  "never freed, and not suppressed"),
	MEMBER_AS("leaked_blocks", struct grown_sum, leaked.count, COUNT,
		  "never freed, and not suppressed"),
};
static const struct shape shape_sum = SHAPE("GrowthSum", struct grown_sum, sum_members);

static const struct member row_members[] = {
	MEMBER(struct growth_row, pattern, TEXT, "what its live bytes did over the time",
	       .words = growth_pattern_words),
	MEMBER(struct growth_row, leaked_bytes, BYTES, "never freed, and not suppressed",
	       .title = "never freed"),
	MEMBER(struct growth_row, leaked_blocks, COUNT, "never freed, and not suppressed",
	       .title = "blocks"),
	MEMBER(struct growth_row, live_bytes, BYTES, "alive at the end of the course"),
	MEMBER(struct growth_row, allocated_blocks, COUNT, "that it allocated"),
	MEMBER(struct growth_row, never_freed_share, RATIO, "leaked_blocks of allocated_blocks"),
	MEMBER_AS("bytes_per_s", struct growth_row, rate_bytes, AMOUNT,
		  "by linear fit; null unless it changes over time, a second at least",
		  .nullable = true),
	MEMBER(struct growth_row, r2, RATIO, "how good that fit is, 0 to 1", .nullable = true),
	MEMBER(struct growth_row, first_ns, NS, "its first allocation"),
	MEMBER(struct growth_row, last_ns, NS, "its last one"),
	MEMBER(struct growth_row, age_ns, NS, "from the first one to the end"),
	MEMBER(struct growth_row, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct growth_row, evidence, TEXT, "one sentence", .is_wide = true),
	MEMBER(struct growth_row, filter, TEXT, "selects just its allocations", .nullable = true,
	       .is_data = true),
	MEMBER(struct growth_row, course, NUMBERS, "live bytes, at equal distances in time",
	       .is_data = true),
	MEMBER(struct growth_row, stack, FRAMES, "the one with most of it"),
};
static const struct shape shape_row = SHAPE("GrowthSite", struct growth_row, row_members);

#define PATTERN(key, pattern)                                                                      \
	MEMBER_AS(key, struct growth_answer, patterns[pattern], OBJECT, NULL, .shape = &shape_sum)

static const struct member answer_members[] = {
	MEMBER(struct growth_answer, begin_ns, NS, "of the courses"),
	MEMBER(struct growth_answer, end_ns, NS, "of the courses"),
	MEMBER(struct growth_answer, goes_on, FLAG,
	       "the tape ends before its program: what was never freed is not freed yet"),
	PATTERN("growing", PATTERN_GROWING),
	PATTERN("unsteady", PATTERN_UNSTEADY),
	PATTERN("levelled_off", PATTERN_LEVELLED_OFF),
	PATTERN("burst", PATTERN_BURST),
	PATTERN("one_off", PATTERN_ONE_OFF),
	PATTERN("unknown", PATTERN_UNKNOWN),
	MEMBER(struct growth_answer, sites, ROWS,
	       "functions that leak or grow: by pattern in the order above, then the largest first",
	       .shape = &shape_row),
	MEMBER(struct growth_answer, scans, OBJECT,
	       "two leak scans compared; absent if there are no two", .optional = true,
	       .shape = &shape_scans_compared),
	MEMBER(struct growth_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer =
	SHAPE("GrowthReport", struct growth_answer, answer_members);

/* What is freed in the end is a suspect only while it grows. */
static bool is_suspect(const struct growth_row *row)
{
	return row->leaked_blocks > 0 ||
	       (row->kind == PATTERN_GROWING && row->allocated_blocks >= SUSPECT_BLOCKS);
}

static int compare_rows(const void *context, const void *a, const void *b)
{
	const struct growth_row *left = a, *right = b;

	(void)context;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	if (left->shown_bytes != right->shown_bytes)
		return left->shown_bytes > right->shown_bytes ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

/* Of all rows those that are suspect, in their order. */
static struct err *rows_choose(const struct asked *asked, const struct grown *grown,
			       struct growth_answer *answer)
{
	const uint64_t top = asked->with->top ? asked->with->top : TOP_DEFAULT;
	struct growth_row *rows = grown->rows;
	size_t count = 0;

	for (size_t i = 0; i < grown->count; i++) {
		struct grown_sum *sum = &answer->patterns[rows[i].kind];

		if (!is_suspect(&rows[i]))
			continue;
		sum->sites++;
		sum->leaked.bytes += rows[i].leaked_bytes;
		sum->leaked.count += rows[i].leaked_blocks;
		rows[count++] = rows[i];
	}
	if (!sort_stable(rows, count, sizeof(*rows), compare_rows, NULL))
		return err_nomem();
	answer->site_count = count;
	answer->sites = (struct shape_rows) { rows, u64_min(count, top) };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct growth_answer *answer = result;
	struct grown grown = { 0 };
	struct err *err = grown_find(asked, &grown);

	if (!err)
		err = rows_choose(asked, &grown, answer);
	answer->begin_ns = grown.begin_ns;
	answer->end_ns = grown.end_ns;
	answer->goes_on = model_goes_on(asked->model);
	if (!err)
		err = growth_scans_compare(asked, &answer->scans);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_growth = {
	.name = "growth",
	.summary = "which call sites go on growing, and which only grew once",
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(top) | TAKES(scan) | TAKES(since_scan),
	.selects = true,
	.ask = ask,
};
