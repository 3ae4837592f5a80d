#include "answer/ranking.h"
#include "questions/questions.h"

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
