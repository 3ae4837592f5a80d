#include "questions/questions.h"
#include "answer/ranking.h"

const struct question question_leaks = {
	.name = "leaks",
	.summary = "what was never freed, with stacks",
	.shape = &shape_ranking,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.sort = METRIC_LEAKED,
	.ask = ranking_ask,
};
