#include "questions/leaks.h"

#include <math.h>
#include <string.h>

#include "answer/ranking.h"
#include "questions/questions.h"

static const struct member row_members[] = {
	MEMBER(struct leak_row, site, FLAT, NULL, .shape = &shape_ranked),
	MEMBER(struct leak_row, pattern, TEXT,
	       "what its live bytes did over the time; null where all was freed", .nullable = true,
	       .words = growth_pattern_words),
	MEMBER_AS("bytes_per_s", struct leak_row, rate_bytes, AMOUNT,
		  "by linear fit; null unless it changes over time, a second at least",
		  .nullable = true),
};
static const struct shape shape_row = SHAPE("LeakSite", struct leak_row, row_members);

static const struct member answer_members[] = {
	MEMBER_AS("sort", struct leaks_answer, ranking.sort, TEXT,
		  "the metric by which they are sorted"),
	MEMBER(struct leaks_answer, sites, ROWS, "functions that allocate, by the metric",
	       .shape = &shape_row),
	MEMBER_AS("about", struct leaks_answer, ranking.about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_answer = SHAPE("Leaks", struct leaks_answer, answer_members);

/* By site what its live bytes did, NULL: nothing is known; itself NULL: out of memory. */
static const struct growth_row **rows_by_site(const struct sites *sites, const struct grown *grown,
					      struct arena *arena)
{
	const struct growth_row **of = arena_array(arena, sites->count + 1, sizeof(*of));

	if (!of)
		return NULL;
	memset(of, 0, (sites->count + 1) * sizeof(*of));
	for (size_t i = 0; i < grown->count; i++)
		if (sites->site_of[grown->rows[i].stack] != UINT32_MAX)
			of[sites->site_of[grown->rows[i].stack]] = &grown->rows[i];
	return of;
}

static struct leak_row row_of(const struct ranked *site, const struct growth_row *growth)
{
	if (!growth || site->leaked_count == 0)
		return (struct leak_row) { .site = *site, .rate_bytes = NAN };
	return (struct leak_row) {
		.site = *site,
		.pattern = growth->pattern,
		.rate_bytes = growth->rate_bytes,
		.kind = growth->kind,
	};
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct leaks_answer *answer = result;
	struct err *err = ranking_ask(asked, &answer->ranking);
	const struct shape_rows *ranked = &answer->ranking.sites;
	const struct sites *found = &answer->ranking.found;
	const struct growth_row **of;
	struct grown grown = { 0 };
	struct leak_row *rows;

	if (!err)
		err = grown_find(asked, &grown);
	if (err)
		return err;
	of = rows_by_site(found, &grown, asked->arena);
	rows = arena_array(asked->arena, ranked->count + 1, sizeof(*rows));
	if (!of || !rows)
		return err_nomem();
	for (size_t i = 0; i < ranked->count; i++) {
		const struct ranked *site = (const struct ranked *)ranked->items + i;

		rows[i] = row_of(site, of[found->site_of[site->stack]]);
	}
	answer->sites = (struct shape_rows) { rows, ranked->count };
	return NULL;
}

const struct question question_leaks = {
	.name = "leaks",
	.summary = "what was never freed, with stacks, and whether it grows",
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.sort = METRIC_LEAKED,
	.ask = ask,
};
