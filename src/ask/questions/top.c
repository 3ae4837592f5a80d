#include "answer/ranking.h"
#include "questions/questions.h"

const struct question question_top = {
	.name = "top",
	.summary = "most of what --sort says, function by function, with stacks",
	.shape = &shape_ranking,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.sort = METRIC_PEAK,
	.ask = ranking_ask,
};
