#include "questions/leaks.h"

#include <math.h>

#include "answer/ranking.h"
#include "questions/questions.h"

static const struct member row_members[] = {
	MEMBER(struct leak_row, site, FLAT, NULL, .shape = &shape_ranked),
	MEMBER(struct leak_row, pattern, TEXT,
	       "what its live bytes did over the time; null where all was freed", .nullable = true,
	       .words = growth_pattern_words),
	MEMBER_AS("bytes_per_s", struct leak_row, rate_bytes, AMOUNT,
		  "by linear fit; null unless it changes over time", .nullable = true),
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

static struct err *ask(const struct asked *asked, void *result)
{
	struct leaks_answer *answer = result;
	struct err *err = ranking_ask(asked, &answer->ranking);
	const struct ranked *sites = answer->ranking.sites.items;
	const size_t count = answer->ranking.sites.count;
	const uint32_t *site_of = answer->ranking.found.site_of;
	struct grown grown = { 0 };
	struct leak_row *rows;

	if (!err)
		err = grown_find(asked, &grown);
	if (err)
		return err;
	rows = arena_array(asked->arena, count + 1, sizeof(*rows));
	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct leak_row) { .site = sites[i], .rate_bytes = NAN };
		for (size_t k = 0; k < grown.count && sites[i].leaked_count > 0; k++) {
			const struct growth_row *row = &grown.rows[k];

			if (site_of[row->stack] != site_of[sites[i].stack])
				continue;
			rows[i].pattern = row->pattern;
			rows[i].kind = row->kind;
			rows[i].rate_bytes = row->rate_bytes;
			break;
		}
	}
	answer->sites = (struct shape_rows) { rows, count };
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
