#include "answer/ranking.h"
#include "questions/questions.h"

const struct question question_temporary = {
	.name = "temporary",
	.summary = "what was freed at once, with stacks",
	.shape = &shape_ranking,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.sort = METRIC_TEMPORARY,
	.ask = ranking_ask,
};
